"""Proposes what one would in a night: many small changes, some that crash, some that cheat, some that give nothing."""

import json
import os
import random
import sys

brief = json.load(sys.stdin)
# The same proposals in every run; how the noise falls differs.
chance = random.Random(f"night {brief['experiment']}")
knobs = {}
exec(open("knobs.py").read(), knobs)
draw = chance.random()
if draw < 0.05:
    sys.exit("the model is overloaded, try again later")
if draw < 0.12:
    open("knobs.py", "a").write("import a_module_that_is_not_there\n")
    hypothesis = "a faster module from the paper of last week"
elif draw < 0.17:
    knobs["decay"] = -1.0
    hypothesis = "decay below zero"
else:
    name = chance.choice(["rate", "width", "decay"])
    step = chance.choice([-2, -1, 1, 2, 5]) if name == "width" else chance.choice([0.4, 0.7, 0.9, 1.05, 1.3])
    knobs[name] = max(1, knobs[name] + step) if name == "width" else round(knobs[name] * step, 4)
    hypothesis = f"{name} to {knobs[name]}, because the curve of the loss is still falling there at the end of its budget"
if draw >= 0.12:
    open("knobs.py", "w").write("".join(f"{name} = {knobs[name]}\n" for name in ("rate", "width", "decay")))
open(os.environ["OVERNIGHT_NOTE"], "w").write(hypothesis)
