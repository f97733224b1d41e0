# Each user gets a layer that can do everything here, and no trial finds anything of the one before.
. /tests/study
begin_study <<'END'
# Everything is as it was committed, whatever the trial before did.
[ "$(cat data/deep/file)" = one ]
[ "$(cat data/other)" = two ]
[ ! -e made ]
for place in . data /tmp /var/tmp /run /dev/shm /overnight/out; do
    [ ! -e "$place/litter" ]
    echo litter > "$place/litter"
done

# What an overlay has to make opaque, and a layer in memory cannot mark on this kernel for an ordinary user.
rm -r data/deep
mkdir data/deep
[ -z "$(ls -A data/deep)" ]
echo new > data/deep/new
mv data renamed
[ "$(cat renamed/other)" = two ]
rm -r renamed
mkdir data
[ -z "$(ls -A data)" ]
mkdir -p made/in/here
mv made/in moved
rm overnight.toml
echo more >> evaluate.sh
kind=$(stat -f -c %T /tmp) user=$(id -u)
set +x
echo "layer in $kind for user $user"
END
mkdir -p data/deep
echo one > data/deep/file
echo two > data/other
commit
experiments 2
grep -q "sandbox standard" ../screen
# Overlays of root keep their marks in attributes that a tmpfs of this kernel knows; those of a user are not among them.
case $(id -u) in 0) layer=tmpfs ;; *) layer=ext2/ext3 ;; esac
# Not as a whole line: what the shell traces goes through another pipe and may stand before it.
overnight show 2 --output | grep -q "layer in $layer for user 1000"
[ "$(cat data/deep/file)" = one ]
