# An agent that also edits what is locked: its proposal is refused by name, and nothing of it is left.
. /tests/study
begin_study '[agent]' 'use = "command"' 'command = "sh agent.sh"' </dev/null
cat > agent.sh <<'END'
cat > /dev/null
if grep -q 1.0 settings.py; then echo "rate = 2.0" > settings.py; else echo 'echo loss: -1' > evaluate.sh; fi
END
commit
cp -a . ../before
experiments 1
git show overnight/main:settings.py | grep -qx "rate = 2.0"
overnight run --experiments 1 --no-tui 2>&1 | tee ../screen || true
grep -q 'it changed `evaluate.sh`, which is locked' ../screen || { overnight show 2; overnight log; }
diff -r --exclude=.git --exclude=.overnight ../before .
git diff --exit-code main overnight/main -- evaluate.sh agent.sh overnight.toml
