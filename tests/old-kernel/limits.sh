# Limits of jobs by groups of version 2, in which an init is born; without the right to make groups, by looking.
mkdir stage tree
probe() { engine-probe limited pid-namespace "$PWD" "$1" 2> said | tee report; }
ends() { grep -q "\"ending\":$1" report; }

probe 'exit 3'
ends '{"Exited":{"code":3}}'
case $(id -u) in
    0) grep -q '"memory":"Group","processes":"Group","cpu":"Group"' report ;;
    *) grep -q '"memory":{"Polling":{"reason":"could not ' report ;;
esac

probe 'python3 -c "b\"x\" * (1 << 28)"'
ends '"OutOfMemory"'

probe 'i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done'
ends '"TooManyProcesses"'

probe 'exit 3'
ends '{"Exited":{"code":3}}'
if find /sys/fs/cgroup -name 'overnight-*-[0-9]*' | grep .; then
    echo "groups are left"
    exit 1
fi
