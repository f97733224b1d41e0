# An instant agent: counts on in a file of its own, writes a new value, says what it did.
# It leaves the brief on its standard input alone: a shell would read it byte by byte.
read -r n < "$1"
n=$((n + 1))
echo "$n" > "$1"
read -r direction < direction.txt
[ "$direction" = better ] && n=-$n
echo "$((1000000 + n))" > value.txt
echo "value to $((1000000 + n))"
