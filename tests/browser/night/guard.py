knobs = {}
exec(open("knobs.py").read(), knobs)
assert knobs["rate"] > 1.5, "the rate is too small to be of use"
