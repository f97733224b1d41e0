//! The files of /etc that are not the host's inside: who one is, and which hosts there are.

use std::fs;
use std::io;
use std::path::Path;

use crate::process::{INNER_USER, Network};

/// Writes the layer that lies on the host's /etc into `folder`, which is empty.
pub(super) fn write(folder: &Path, home: &Path, is_root: bool, network: Network) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let put = |name: &str, text: String| fs::write(folder.join(name), text);
    if is_root {
        let id = INNER_USER;
        put("passwd", add("/etc/passwd", id, &format!("overnight:x:{id}:{id}:overnight:{}:/bin/sh", home.display())))?;
        put("group", add("/etc/group", id, &format!("overnight:x:{id}:")))?;
    }
    put("hostname", "overnight\n".to_owned())?;
    put("hosts", "127.0.0.1 localhost overnight\n::1 localhost ip6-localhost\n".to_owned())?;
    let resolver = match network {
        Network::None => String::new(),
        // Often a link to a folder that does not exist inside.
        Network::Full => fs::read_to_string("/etc/resolv.conf").unwrap_or_default(),
    };
    put("resolv.conf", resolver)
}

/// The host's table with one entry in place of whoever has its number there.
fn add(table: &str, id: u32, entry: &str) -> String {
    let text = fs::read_to_string(table).unwrap_or_default();
    let others = text.lines().filter(|line| line.split(':').nth(2) != Some(&id.to_string()));
    others.chain([entry]).fold(String::new(), |table, line| table + line + "\n")
}
