"""How many answers are right. Sees what the agent left, and the solutions, which the agent does not see."""

import json
import os

with open(os.path.join(os.environ["OVERNIGHT_ARTIFACTS"], "answers.json")) as file:
    answers = json.load(file)
with open("solutions.json") as file:
    solutions = json.load(file)

# One word has to be there, and none of the other solutions: naming all of them is no answer.
right = 0
for question, solution in solutions.items():
    said = str(answers.get(question, "")).lower()
    right += [word for word in solutions.values() if word in said] == [solution]
print("right:", right)
