# An instant agent: writes a value that no agent wrote before, says what it did.
# It leaves the brief on its standard input alone: a shell would read it byte by byte. In a sandbox it can keep nothing
# from one experiment to the next, so the values follow the clock, whose ticks are 10 ms long.
read -r now rest < /proc/uptime
read -r id < /proc/sys/kernel/random/uuid
n=$((${now%.*}${now#*.} * 1000 + 0x${id%%-*} % 1000))
read -r direction < direction.txt
[ "$direction" = better ] && n=-$n
echo "$((1000000 + n))" > value.txt
echo "value to $((1000000 + n))"
