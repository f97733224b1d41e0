"""Reads trajectories, one on a line, with the models of those who keep the format. Ends with an error at the first that is
not one, and at the first that they understand otherwise than it is written."""

import json
import sys

from harbor.models.trajectories import Trajectory

count = 0
for line in sys.stdin:
    written = json.loads(line)
    read = Trajectory.model_validate(written)
    # A field that they drop, or take for something else, is one that nobody will find.
    kept = read.to_json_dict()
    assert kept == written, f"written: {written}\nread: {kept}"
    count += 1
print(f"{count} trajectories are valid")
