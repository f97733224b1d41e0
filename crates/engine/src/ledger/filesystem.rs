//! SQLite's write-ahead log needs a local file system.

use std::path::Path;

/// File systems whose locks and shared memory do not reach other machines, or not reliably.
const NETWORK: [&str; 16] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "lustre",
    "gpfs",
    "beegfs",
    "glusterfs",
    "ocfs2",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.rclone",
];

/// The kind of network file system that holds a folder, if it is one.
pub fn network_filesystem(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = kind_of(&mounts, &dir)?;
    NETWORK.contains(&kind.as_str()).then_some(kind)
}

/// The file system of the innermost mount that holds `dir`; a later mount on the same place hides an earlier one.
fn kind_of(mounts: &str, dir: &Path) -> Option<String> {
    let parse = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let place = unescape(before.split(' ').nth(4)?);
        let kind = after.split(' ').next()?.to_owned();
        dir.starts_with(&place).then_some((place.len(), kind))
    };
    mounts.lines().filter_map(parse).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

/// mountinfo writes spaces and the like as three octal digits.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "21 1 254:0 / / rw - ext4 /dev/vda rw
30 21 0:40 / /home rw,relatime shared:9 - nfs4 server:/home rw
31 30 254:1 / /home/ann/scratch\\040disk rw - xfs /dev/vdb rw
";

    #[test]
    fn the_innermost_mount_decides() {
        let kind = |path: &str| kind_of(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(kind("/srv/project"), "ext4");
        assert_eq!(kind("/home/ann/project"), "nfs4");
        assert_eq!(kind("/home/ann/scratch disk/project"), "xfs");
        assert_eq!(kind("/homework"), "ext4");
    }

    #[test]
    fn a_local_folder_is_not_on_a_network() {
        assert_eq!(network_filesystem(&std::env::temp_dir()), None);
    }
}
