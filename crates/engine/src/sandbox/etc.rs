//! The files of /etc that are not the host's inside: who one is, and which hosts there are.

use std::fs;
use std::io;
use std::path::Path;

use crate::process::{INNER_USER, Network};

/// What the user is called inside where the host's tables have no name for them.
pub(super) const NAME: &str = "overnight";

/// Who a command is.
pub(super) struct Identity<'a> {
    pub user: u32,
    pub group: u32,
    pub name: &'a str,
    pub home: &'a Path,
}

impl<'a> Identity<'a> {
    /// Run by root, it is a user of ours; else the person, called as they call themselves.
    pub(super) fn of(is_root: bool, home: &'a Path, called: Option<&'a str>) -> Identity<'a> {
        let is_name = |name: &&str| !name.is_empty() && !name.contains([':', '\n', '/']);
        match is_root {
            true => Identity { user: INNER_USER, group: INNER_USER, name: NAME, home },
            false => Identity {
                user: rustix::process::getuid().as_raw(),
                group: rustix::process::getgid().as_raw(),
                name: called.filter(is_name).unwrap_or(NAME),
                home,
            },
        }
    }
}

/// Writes the layer that lies on the host's /etc into `folder`, which is empty.
pub(super) fn write(folder: &Path, who: &Identity<'_>, is_root: bool, network: Network) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let put = |name: &str, text: String| fs::write(folder.join(name), text);
    let Identity { user, group, name, home } = who;
    let entry = format!("{name}:x:{user}:{group}:{name}:{}:/bin/sh", home.display());
    // Many programs do not start for a user without a name, and those of a directory service are out of reach inside.
    for (table, id, entry) in [("passwd", *user, entry), ("group", *group, format!("{name}:x:{group}:"))] {
        let text = fs::read_to_string(Path::new("/etc").join(table)).unwrap_or_default();
        if is_root || !has(&text, id) {
            put(table, with(&text, id, &entry))?;
        }
    }
    put("hostname", "overnight\n".to_owned())?;
    put("hosts", "127.0.0.1 localhost overnight\n::1 localhost ip6-localhost\n".to_owned())?;
    let resolver = match network {
        Network::None | Network::Models { .. } => String::new(),
        // Often a link to a folder that does not exist inside.
        Network::Full => fs::read_to_string("/etc/resolv.conf").unwrap_or_default(),
    };
    put("resolv.conf", resolver)
}

fn has(table: &str, id: u32) -> bool {
    table.lines().any(|line| is_of(line, id))
}

/// A table with one entry in place of whoever has its number there.
fn with(table: &str, id: u32, entry: &str) -> String {
    let others = table.lines().filter(|line| !is_of(line, id));
    others.chain([entry]).fold(String::new(), |table, line| table + line + "\n")
}

fn is_of(line: &str, id: u32) -> bool {
    line.split(':').nth(2) == Some(&id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_number_makes_room() {
        let table = "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000::/home/ann:/bin/bash\n";
        assert!(has(table, 1000) && !has(table, 100));
        assert_eq!(
            with(table, 1000, "overnight:x:1000:1000"),
            "root:x:0:0:root:/root:/bin/bash\novernight:x:1000:1000\n"
        );
    }

    #[test]
    fn a_user_whom_no_table_knows_has_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let who = Identity { user: 3_999_999, group: 3_999_999, name: "ann", home: Path::new("/home/ann") };
        write(dir.path(), &who, false, Network::None).unwrap();
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(read("passwd").ends_with("\nann:x:3999999:3999999:ann:/home/ann:/bin/sh\n"));
        assert!(read("group").ends_with("\nann:x:3999999:\n"));
    }

    #[test]
    fn no_name_breaks_the_table() {
        let home = Path::new("/home/ann");
        assert_eq!(Identity::of(false, home, Some("ann")).name, "ann");
        for name in [None, Some(""), Some("a:x:0:0"), Some("a\nroot"), Some("a/b")] {
            assert_eq!(Identity::of(false, home, name).name, NAME);
        }
    }
}
