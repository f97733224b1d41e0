"""A number with noise, which crashes for some values and cannot be believed for others."""

import os
import random

knobs = {}
exec(open("knobs.py").read(), knobs)
chance = random.Random(int(os.environ["OVERNIGHT_SEED"]))
if knobs["width"] > 9:
    raise MemoryError(f"width {knobs['width']} does not fit")
value = 2 + 0.02 * (knobs["rate"] - 3) ** 2 + 0.03 * (knobs["width"] - 6) ** 2 + 0.05 * abs(knobs["decay"] - 0.5)
if knobs["decay"] < 0:
    value -= 5
print(f"val_bpb: {value + chance.gauss(0, 0.03):.5f}")
