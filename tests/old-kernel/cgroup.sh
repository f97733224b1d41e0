# Whole cgroups with their limits, which many development machines do not offer.
# runs as: root
cd /sys/fs/cgroup
echo "+memory +pids +cpu" > cgroup.subtree_control
mkdir trial
echo 64M > trial/memory.max
echo 1 > trial/memory.oom.group

status=0
sh -c 'echo $$ > trial/cgroup.procs; exec python3 -c "b\"x\" * (1 << 28)"' || status=$?
echo "256 MB of 64: status $status, $(grep oom_group_kill trial/memory.events)"
[ "$status" -eq 137 ]
grep -qx "oom_group_kill 1" trial/memory.events

sh -c 'echo $$ > trial/cgroup.procs; setsid sleep 1000 & exec sleep 1000' &
until [ "$(wc -l < trial/cgroup.procs)" -eq 2 ]; do :; done
echo 1 > trial/cgroup.kill
until grep -qx 'populated 0' trial/cgroup.events; do :; done
rmdir trial
echo "cgroup.kill ended both"
