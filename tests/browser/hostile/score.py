import sys

lines = open("plain.txt").read().splitlines()
number = int(lines[0].split("=")[1])
print("".join(lines[1:]))
if number < 3:
    sys.exit("".join(lines[1:2]))
print(f"loss: {number}")
