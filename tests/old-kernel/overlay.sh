# An overlay whose upper layer is a tmpfs cannot remove a folder of the lower layer on this kernel; one on a disk can.
# Should this script fail, the probe for it in the engine is no longer put to the test here.

# Arguments: where the layers are. Prints what went wrong; the status is that of `rm -r`.
remove_a_lower_folder() {
    unshare --user --map-root-user --mount sh -eu -s "$1" <<'END'
case $1 in tmpfs) mount -t tmpfs none layers ;; esac
mkdir layers/upper layers/work
mount -t overlay none -o lowerdir=lower,upperdir=layers/upper,workdir=layers/work,userxattr merged || exit 99
echo more >> merged/folder/file
[ "$(cat merged/folder/file)" = "$(printf 'one\nmore')" ] || exit 98
rm -r merged/folder
mkdir merged/folder
[ -z "$(ls merged/folder)" ]
END
}

mkdir -p lower/folder layers merged
echo one > lower/folder/file

status=0
said=$(remove_a_lower_folder tmpfs 2>&1) || status=$?
echo "tmpfs: status $status, $said"
[ "$status" -eq 1 ]
case $said in *"Input/output error"*) ;; *) exit 1 ;; esac

remove_a_lower_folder disk
echo "disk: removed, and made again empty"
[ "$(cat lower/folder/file)" = one ]
