# A whole study, from its first trial to a clean audit.
git init -q --template= -b main
printf '.overnight/\n' > .gitignore
echo 'rate = 1.0  # min 0.0 max 4.0' > settings.py
cat > evaluate.sh <<'END'
awk '/rate/ { print "loss: " ($3 - 3) * ($3 - 3) }' settings.py
END
cat > overnight.toml <<'END'
surface = "settings.py"
metric = { name = "loss", goal = "min" }

[evaluate]
run = "sh evaluate.sh"
budget = "30s"
END
git add -A
git -c user.name=test -c user.email=test@example.com commit -q -m "first"

overnight run --experiments 3 --no-tui
overnight verify
