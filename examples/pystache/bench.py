"""How long pystache takes to render a page: the best of several turns, in milliseconds of CPU time."""
import time

import pystache

TEMPLATE = """<h1>{{title}}</h1>
{{#posts}}
<article>
  <h2>{{heading}}</h2>
  {{#tags}}<span class="tag">{{.}}</span> {{/tags}}
  <p>{{{body}}}</p>
  {{^comments}}<p>No comments yet.</p>{{/comments}}
  {{#comments}}<blockquote><b>{{author.name}}</b> {{text}}</blockquote>
  {{/comments}}
</article>
{{/posts}}
"""
COMMENTS = [{"author": {"name": f"Reader {n}"}, "text": "Is 3 < 4 & 4 > 3?"} for n in range(3)]
POSTS = [{"heading": f"Post {n}", "tags": ["a", "b"], "body": "<i>text</i>", "comments": COMMENTS[: n % 4]} for n in range(3)]
PAGE = {"title": "News", "posts": POSTS}

best = float("inf")
for _ in range(20):
    start = time.process_time()
    for _ in range(20):
        pystache.render(TEMPLATE, PAGE)
    best = min(best, time.process_time() - start)
print(f"render_ms: {best * 1000:.3f}")
