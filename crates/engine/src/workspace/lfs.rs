//! Git LFS pointers, and files whose contents match them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// What stands in the tree instead of a large file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    sha256: [u8; 32],
    pub size: u64,
}

/// The specification's limit; a larger blob is never a pointer.
pub(super) const LONGEST_POINTER: usize = 1024;

impl Pointer {
    pub fn parse(blob: &[u8]) -> Option<Pointer> {
        if blob.len() > LONGEST_POINTER {
            return None;
        }
        let text = std::str::from_utf8(blob).ok()?;
        let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
        let value = |key: &str| rest.lines().find_map(|line| line.strip_prefix(key));
        let hex = value("oid sha256:")?;
        let mut sha256 = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        for (byte, digits) in sha256.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Pointer { sha256, size: value("size ")?.parse().ok()? })
    }

    /// Copies a file while hashing it; false where it is not the file meant, whatever was copied.
    pub fn copy(&self, from: &Path, to: &mut dyn Write) -> io::Result<bool> {
        let fd = match rustix::fs::open(
            from,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            Ok(fd) => fd,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        let mut file = File::from(fd);
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() != self.size {
            return Ok(false);
        }
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 17];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                return Ok(hash.finalize()[..] == self.sha256);
            }
            hash.update(&buffer[..count]);
            to.write_all(&buffer[..count])?;
        }
    }

    pub fn matches(&self, file: &Path) -> io::Result<bool> {
        self.copy(file, &mut io::sink())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_told_from_text_that_only_looks_like_one() {
        let hex = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hex}\nsize 12345\n");
        assert_eq!(Pointer::parse(pointer.as_bytes()).unwrap().size, 12345);
        assert_eq!(Pointer::parse(pointer.replace("4d7a", "4d7").as_bytes()), None);
        assert_eq!(Pointer::parse(pointer.replace("4d7a", "zzzz").as_bytes()), None);
        assert_eq!(Pointer::parse(pointer.replace("size 12345\n", "").as_bytes()), None);
        assert_eq!(Pointer::parse(format!("{pointer}{}", " ".repeat(2000)).as_bytes()), None);
        assert_eq!(Pointer::parse(b"a file about version https://git-lfs.github.com/spec/v1\n"), None);
    }
}
