# What a candidate must not reach, tried for real.
. /tests/study
echo canary > canary
echo canary > "/dev/shm/canary-$(id -u)"
# Somebody outside listens where a candidate in the same network would find them.
cat > listen.py <<'END'
import os, socket
listener = socket.socket(socket.AF_UNIX)
listener.bind(f"\0old-kernel-{os.getuid()}")
listener.listen()
print("listening", flush=True)
while True:
    listener.accept()
END
mkfifo said
python3 listen.py > said &
listener=$!
trap 'kill "$listener"' EXIT
read -r word < said
[ "$word" = listening ]
python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(f"\0old-kernel-{os.getuid()}")'
pattern=$(cat /proc/sys/kernel/core_pattern)

begin_study '[agent]' 'use = "command"' 'command = "sh agent.sh"' <<'END'
no() { if "$@" 2> /dev/null; then echo "could: $*"; exit 1; fi; }
puts() { echo x > "$1"; }

no cat ../canary
no ls /tests
no grep -r canary /dev/shm
no puts /proc/sys/kernel/core_pattern
no puts /proc/sysrq-trigger
no puts /usr/bin/git
no puts /etc/passwd
no mount -t tmpfs none /tmp
no unshare --user --map-root-user true
no cat /proc/1/environ
[ "$(grep -c '^Cap.*:.0000000000000000$' /proc/self/status)" -ge 4 ]
grep -q '^NoNewPrivs:.1$' /proc/self/status
grep -q '^Seccomp:.2$' /proc/self/status
[ "$(grep -c : /proc/net/dev)" -eq 1 ]
# No process of the host.
no grep -al 'listen[.]py' /proc/[0-9]*/cmdline
python3 - <<'PYTHON'
import socket
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname(), 5)
try:
    socket.socket(socket.AF_UNIX).connect("\0old-kernel-OUTSIDE")
except ConnectionRefusedError:
    pass
else:
    raise SystemExit("reached a socket of the host")
PYTHON
# Left behind, in every way there is.
setsid sh -c 'trap "" TERM; sleep 76543' &
(sleep 76543 &)
until [ "$(pgrep -c sleep)" -eq 2 ]; do :; done
END
cat > agent.sh <<'END'
cat > /dev/null
if cat ../canary; then exit 1; fi
echo "rate = 2.0" > settings.py
END
sed -i "s/OUTSIDE/$(id -u)/" evaluate.sh
commit
experiments 1
grep -q "sandbox standard" ../screen
overnight show 1 --json | grep -q '"verdict": *"kept"'
git show overnight/main:settings.py | grep -qx "rate = 2.0"
[ "$(cat settings.py)" = "rate = 1.0  # min 0.0 max 4.0" ]

[ "$(cat /proc/sys/kernel/core_pattern)" = "$pattern" ]
[ -z "$(pgrep -x sleep)" ]
