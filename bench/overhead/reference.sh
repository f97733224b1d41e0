# The reference loop: autoresearch's program.md as a shell script, with the same agent and evaluation.
#
#   look at branch and commit, edit, git commit, run > run.log 2>&1, grep the metric, a line in
#   results.tsv, then keep or git reset.
#
# Argument: how many experiments. Prints a line after each one, so that they can be timed.
count=$1
read -r best < best.txt
n=0
while [ "$n" -lt "$count" ]; do
    git log -1 --oneline --decorate > state.txt
    idea=$(sh agent.sh)
    git commit -q -a -m "$idea"
    commit=$(git rev-parse --short HEAD)
    sh eval.sh > run.log 2>&1
    loss=$(grep '^loss:' run.log)
    loss=${loss#loss: }
    if [ "$loss" -lt "$best" ]; then
        status=keep
        best=$loss
    else
        status=discard
        git reset -q --hard HEAD~1
    fi
    printf '%s\t%s\t%s\t%s\n' "$commit" "$loss" "$status" "$idea" >> results.tsv
    echo "$n $status"
    n=$((n + 1))
done
echo "$best" > best.txt
