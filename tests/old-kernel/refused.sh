# What this kernel cannot do is said in a sentence, and never taken for a result.
. /tests/study
begin_study < /dev/null
commit

refused() {
    if overnight run --experiments 1 --no-tui "$@" 2> ../screen; then cat ../screen; exit 1; fi
    cat ../screen
}

refused --sandbox landlock
grep -q "Landlock 6 is needed (Linux 6.12), this kernel has 2" ../screen

# What a model could have written does not run with less than was found out to work.
printf '%s\n' '' '[agent]' 'use = "command"' 'command = "cat > /dev/null; echo rate = 2.0 > settings.py"' \
    '[sandbox]' 'layer = "memory"' >> overnight.toml
git -c user.name=test -c user.email=test@example.com commit -q -a -m "in memory"
case $(id -u) in
    0) experiments 1 ;;
    *)
        refused
        grep -q "layer in memory: rm: cannot remove 'gone': Input/output error" ../screen
        refused --sandbox standard
        grep -q "layer in memory: rm: cannot remove 'gone': Input/output error" ../screen
        ;;
esac
