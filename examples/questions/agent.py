"""A task agent: asks a model every question, and leaves what it was answered."""

import json
import os
import urllib.request

WORDING = "{}"  # overnight: one of "{}", "{} Answer:", "Answer in one word. {}"
MAX_TOKENS = 4  # overnight: 2..24


def ask(question):
    body = {
        "model": "smollm2",
        "temperature": 0,
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": WORDING.format(question)}],
    }
    # Where the gateway is; the key is made up, and opens nothing else.
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


with open("questions.json") as file:
    answers = {question: ask(question) for question in json.load(file)}
with open(os.path.join(os.environ["OVERNIGHT_OUT"], "answers.json"), "w") as file:
    json.dump(answers, file)
