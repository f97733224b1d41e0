//! Building the root that a [`View`] describes, and moving into it.
//!
//! Everything a job sees is an overlay made for it: a lock on a file of the host, or a file changed in place, would be
//! a message to the trial beside it. Where an overlay is refused, a read-only bind takes its place.
//!
//! The stage holds a scaffold, a file system in memory of this job alone: in it the new root, and beside that what the
//! root is made from. Only the root is moved into; all else goes with the host's root, in a single step. To take
//! mounts away one by one would cost a wait for every processor each.

use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use super::ground::Failure;
use super::idmap;
use super::view::{File, Layer, Mount, View};

/// Parts of the scaffold: the new root, the layer where that is in memory, and nothing, since an overlay without an
/// upper needs two lowers.
const ROOT: &str = "root";
const LAYER: &str = "layer";
const EMPTY: &str = "empty";

const SHARED: MountFlags = MountFlags::RDONLY.union(MountFlags::NOSUID).union(MountFlags::NODEV);
const PRIVATE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The usual devices. Programs break without them, and none of them holds state.
const DEVICES: [(&str, u32, u32); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

/// What the init keeps of the root it has moved into.
pub(super) struct Root {
    /// In the order of [`View::hand_back`].
    pub handed_back: Vec<OwnedFd>,
    /// The layer, to see whether it is full.
    pub layer: OwnedFd,
}

/// Whose rights the mounts are made with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Power<'a> {
    /// The host's root: may make device nodes, hand files over and map owners.
    Root { user: u32, owners: Option<BorrowedFd<'a>> },
    /// An ordinary user, in a user namespace of its own.
    User,
}

/// Makes the root and moves into it. The calling process has a mount namespace of its own.
pub(super) fn move_into(view: &View, power: Power<'_>) -> Result<Root, Failure> {
    // Nothing that is mounted here may come to be on the host.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(cannot("make the mounts private"))?;
    let mut builder = Builder::on_scaffold(view, power)?;
    for mount in &view.mounts {
        builder.add(mount)?;
    }
    builder.system_folders()?;
    let root = builder.open_what_is_kept()?;
    enter(&builder.root)?;
    Ok(root)
}

/// The root's own /dev/null, for whoever was handed the host's: a lock on that one would be felt by all.
pub(super) fn own_null(handed: BorrowedFd<'_>) -> Option<OwnedFd> {
    let is_null = |fd: BorrowedFd<'_>| {
        rustix::fs::fstat(fd).is_ok_and(|stat| {
            let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
            kind == rustix::fs::FileType::CharacterDevice && stat.st_rdev == rustix::fs::makedev(1, 3)
        })
    };
    let own = is_null(handed)
        .then(|| rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()));
    own?.ok().filter(|own| is_null(own.as_fd()))
}

struct Builder<'a> {
    view: &'a View,
    power: Power<'a>,
    root: PathBuf,
    layer: PathBuf,
    /// Where each private folder is inside, and its folder in the layer.
    privates: Vec<(PathBuf, PathBuf)>,
    /// How many files have been shared.
    files: usize,
}

impl<'a> Builder<'a> {
    fn on_scaffold(view: &'a View, power: Power<'a>) -> Result<Builder<'a>, Failure> {
        let scaffold = &view.stage;
        mount("tmpfs", scaffold, "tmpfs", PRIVATE, Some(c"mode=755,size=4m,nr_inodes=4096"))
            .map_err(cannot("mount a root"))?;
        make_folder(&scaffold.join(EMPTY))?;
        let root = scaffold.join(ROOT);
        make_folder(&root)?;
        // Whatever the umask is: its user is not its owner.
        rustix::fs::chmod(&root, Mode::from_raw_mode(0o755)).map_err(on("open to all", &root))?;
        mount_bind(&root, &root).map_err(cannot("make a root"))?;
        let layer = match &view.layer {
            Layer::Memory { bytes, inodes } => {
                let layer = scaffold.join(LAYER);
                make_folder(&layer)?;
                let options = c_string(format!("mode=755,size={bytes},nr_inodes={inodes}").as_bytes())?;
                mount("tmpfs", &layer, "tmpfs", PRIVATE, Some(options.as_c_str())).map_err(cannot("mount a layer"))?;
                layer
            }
            Layer::Disk { dir } => dir.clone(),
        };
        Ok(Builder { view, power, root, layer, privates: Vec::new(), files: 0 })
    }

    fn add(&mut self, mount: &Mount) -> Result<(), Failure> {
        match mount {
            Mount::Shared { lowers, at } => self.share(lowers, at),
            Mount::Private { lowers, at } => self.make_private(lowers, at),
            Mount::File { path, at } => self.share_file(path, at),
            Mount::Link { target, at } => {
                let place = self.inside(at);
                self.make_folders(at.parent().unwrap_or(at))?;
                symlink(target, &place).map_err(|error| Failure::io(&format!("link {}", place.display()), &error))
            }
        }
    }

    fn share(&self, lowers: &[PathBuf], at: &Path) -> Result<(), Failure> {
        let place = self.make_folders(at)?;
        let empty = self.beside(EMPTY);
        let mut all: Vec<&Path> = lowers.iter().map(PathBuf::as_path).collect();
        if all.len() == 1 {
            all.insert(0, &empty);
        }
        match self.overlay(&all, None, &place, SHARED) {
            Ok(()) => Ok(()),
            // Mounts below it that an ordinary user may not part from it, a file system that cannot be a lower: the
            // real thing then, whole and read-only.
            Err(_) => {
                let (last, above) = lowers.split_last().map_or((at, lowers), |(last, above)| (last.as_path(), above));
                self.bind(last, &place)?;
                above.iter().rev().try_for_each(|layer| self.bind_files(layer, &place))
            }
        }
    }

    /// Lays the files of a layer on those of the same name.
    fn bind_files(&self, layer: &Path, place: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::io(&format!("list {}", layer.display()), &error);
        for entry in fs::read_dir(layer).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let at = place.join(entry.file_name());
            if entry.path().is_file() && at.is_file() {
                self.bind(&entry.path(), &at)?;
            }
        }
        Ok(())
    }

    fn bind(&self, from: &Path, place: &Path) -> Result<(), Failure> {
        mount_bind_recursive(from, place).map_err(on("bind", from))?;
        make_read_only(place).map_err(on("make read-only", from))
    }

    fn share_file(&mut self, path: &Path, at: &Path) -> Result<(), Failure> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Failure::new(format!("share {}", path.display()), Errno::INVAL));
        };
        let place = self.inside(at);
        self.make_folders(at.parent().unwrap_or(at))?;
        if !place.exists() {
            fs::write(&place, "").map_err(|error| Failure::io(&format!("make {}", place.display()), &error))?;
        }
        // Through an overlay of its folder, so that its locks are this job's own.
        let aside = self.beside(&format!("file{}", self.files));
        self.files += 1;
        make_folder(&aside)?;
        let empty = self.beside(EMPTY);
        let from = match self.overlay(&[&empty, folder], None, &aside, SHARED) {
            // What is mounted on a file alone is not seen through its folder.
            Ok(()) if !is_mount_point(path) => aside.join(name),
            _ => path.to_owned(),
        };
        mount_bind(&from, &place).map_err(on("bind", path))?;
        make_read_only(&place).map_err(on("make read-only", path))
    }

    fn make_private(&mut self, lowers: &[PathBuf], at: &Path) -> Result<(), Failure> {
        let place = self.make_folders(at)?;
        let number = self.privates.len();
        let upper = self.layer.join(format!("upper{number}"));
        self.make_own_folder(&upper)?;
        self.write_files(at, lowers, &upper)?;
        if lowers.is_empty() {
            mount_bind(&upper, &place).map_err(on("bind", at))?;
        } else {
            let work = self.layer.join(format!("work{number}"));
            make_folder(&work)?;
            let mapped = self.map_owners(lowers, number)?;
            let lowers: Vec<&Path> = mapped.iter().map(PathBuf::as_path).collect();
            like(lowers[0], &upper)?;
            match self.overlay(&lowers, Some((&upper, &work)), &place, PRIVATE) {
                Ok(()) => {}
                // Data or a toolchain on a file system that cannot be a lower, a network share perhaps: better to be
                // read only than not at all.
                Err(_) if self.is_only_read(at) && lowers.len() == 1 => self.bind(lowers[0], &place)?,
                Err(errno) => return Err(Failure::new(format!("lay an overlay on {}", at.display()), errno)),
            }
        }
        self.privates.push((at.to_owned(), upper));
        Ok(())
    }

    /// Whether nothing is put here before the job starts, and nothing is wanted from here afterwards.
    fn is_only_read(&self, at: &Path) -> bool {
        let View { files, hand_back, .. } = self.view;
        !files.iter().any(|file| file.at.starts_with(at)) && !hand_back.iter().any(|wanted| wanted == at)
    }

    /// Run by root, what is root's on the host belongs to the job's user inside, or it could not be written even
    /// privately. Where the file system cannot map owners, what is not readable for all stays unreadable.
    fn map_owners(&self, lowers: &[PathBuf], number: usize) -> Result<Vec<PathBuf>, Failure> {
        let Power::Root { owners: Some(owners), .. } = self.power else { return Ok(lowers.to_vec()) };
        let mut mapped = Vec::new();
        for (index, lower) in lowers.iter().enumerate() {
            let place = self.beside(&format!("lower{number}-{index}"));
            make_folder(&place)?;
            mapped.push(match idmap::mount_mapped(lower, &place, owners) {
                Ok(()) => place,
                Err(_) => lower.clone(),
            });
        }
        Ok(mapped)
    }

    fn overlay(
        &self,
        lowers: &[&Path],
        upper: Option<(&Path, &Path)>,
        place: &Path,
        flags: MountFlags,
    ) -> Result<(), Errno> {
        let mut options = b"lowerdir=".to_vec();
        for (index, lower) in lowers.iter().enumerate() {
            if index > 0 {
                options.push(b':');
            }
            escape(lower, &mut options);
        }
        if let Some((upper, work)) = upper {
            options.extend_from_slice(b",upperdir=");
            escape(upper, &mut options);
            options.extend_from_slice(b",workdir=");
            escape(work, &mut options);
        }
        if let Power::User = self.power {
            options.extend_from_slice(b",userxattr");
        }
        let options = CString::new(options).map_err(|_| Errno::INVAL)?;
        mount("overlay", place, "overlay", flags, Some(options.as_c_str()))
    }

    /// Writes the files that belong here, before anything is laid over the upper.
    fn write_files(&self, at: &Path, lowers: &[PathBuf], upper: &Path) -> Result<(), Failure> {
        for file in self.view.files.iter().filter(|file| self.home_of(file) == Some(at)) {
            let inner = file.at.strip_prefix(at).unwrap_or(Path::new(""));
            let mut above: Vec<&Path> = inner.ancestors().skip(1).filter(|path| *path != Path::new("")).collect();
            above.reverse();
            for folder in above.iter().filter(|folder| !upper.join(folder).exists()) {
                self.make_own_folder(&upper.join(folder))?;
            }
            self.write(file, &upper.join(inner))?;
            above.reverse();
            for folder in above {
                if let Some(lower) = lowers.iter().map(|lower| lower.join(folder)).find(|lower| lower.is_dir()) {
                    like(&lower, &upper.join(folder))?;
                }
            }
        }
        Ok(())
    }

    fn home_of(&self, file: &File) -> Option<&Path> {
        let privates = self.view.mounts.iter().filter_map(|mount| match mount {
            Mount::Private { at, .. } if file.at.starts_with(at) => Some(at.as_path()),
            _ => None,
        });
        privates.max_by_key(|at| at.as_os_str().len())
    }

    fn write(&self, file: &File, place: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::io(&format!("write {}", file.at.display()), &error);
        let mode = if file.executable { 0o755 } else { 0o644 };
        let mut written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_NOFOLLOW)
            .mode(mode)
            .open(place)
            .map_err(failed)?;
        written.write_all(&file.bytes).map_err(failed)?;
        self.own(place)?;
        let at = Timespec { tv_sec: file.mtime.div_euclid(1000), tv_nsec: file.mtime.rem_euclid(1000) * 1_000_000 };
        let times = Timestamps { last_access: at, last_modification: at };
        rustix::fs::futimens(&written, &times).map_err(|errno| failed(errno.into()))
    }

    fn system_folders(&self) -> Result<(), Failure> {
        let proc = self.make_folders(Path::new("/proc"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        // The old /proc shows the processes of the host, and CUDA does not start with it.
        mount("proc", &proc, "proc", flags, None).map_err(cannot("mount a new /proc"))?;
        for name in ["sys", "sysrq-trigger", "irq", "bus"] {
            let path = proc.join(name);
            match mount_bind(&path, &path) {
                Ok(()) => make_read_only(&path).map_err(on("make read-only", &path))?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(on("bind", &path)(errno)),
            }
        }
        let dev = self.make_folders(Path::new("/dev"))?;
        mount(
            "tmpfs",
            &dev,
            "tmpfs",
            MountFlags::NOSUID | MountFlags::NOEXEC,
            Some(c"mode=755,size=64k,nr_inodes=256"),
        )
        .map_err(cannot("mount /dev"))?;
        for (name, major, minor) in DEVICES {
            self.device(Path::new("/dev").join(name).as_path(), Some((major, minor)))?;
        }
        for path in &self.view.devices {
            self.device(path, None)?;
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, dev.join(name)).map_err(|error| Failure::io(&format!("link /dev/{name}"), &error))?;
        }
        let pts = dev.join("pts");
        make_folder(&pts)?;
        mount(
            "devpts",
            &pts,
            "devpts",
            MountFlags::NOSUID | MountFlags::NOEXEC,
            Some(c"newinstance,ptmxmode=0666,mode=620"),
        )
        .map_err(cannot("mount /dev/pts"))?;
        let shm = dev.join("shm");
        make_folder(&shm)?;
        let size = self.view.limits.memory.map_or(String::new(), |bytes| format!(",size={bytes}"));
        let options = c_string(format!("mode=1777{size}").as_bytes())?;
        mount("tmpfs", &shm, "tmpfs", PRIVATE, Some(options.as_c_str())).map_err(cannot("mount /dev/shm"))
    }

    /// A node of its own where root can make one; else the host's, on which two jobs could see each other's locks.
    fn device(&self, path: &Path, number: Option<(u32, u32)>) -> Result<(), Failure> {
        let place = self.inside(path);
        if let (Power::Root { .. }, Some((major, minor))) = (self.power, number) {
            let device = rustix::fs::makedev(major, minor);
            let made = rustix::fs::mknodat(
                rustix::fs::CWD,
                &place,
                rustix::fs::FileType::CharacterDevice,
                Mode::empty(),
                device,
            );
            if made.is_ok() && rustix::fs::chmod(&place, Mode::from_raw_mode(0o666)).is_ok() {
                return Ok(());
            }
        }
        if !path.exists() {
            return Ok(());
        }
        self.make_folders(path.parent().unwrap_or(path))?;
        let _ = fs::remove_file(&place);
        fs::write(&place, "").map_err(|error| Failure::io(&format!("make {}", place.display()), &error))?;
        mount_bind(path, &place).map_err(on("bind", path))?;
        // Its times and modes are the host's; a device is written to all the same.
        set_read_only(&place, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID).map_err(on("make read-only", path))
    }

    /// Opens what is wanted when the scaffold is gone.
    fn open_what_is_kept(&self) -> Result<Root, Failure> {
        let open = |path: &Path| {
            rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .map_err(on("open", path))
        };
        let handed_back =
            self.view.hand_back.iter().map(|wanted| match self.privates.iter().find(|(at, _)| at == wanted) {
                Some((_, upper)) => open(upper),
                None => Err(Failure::new(format!("hand {} back", wanted.display()), Errno::NOENT)),
            });
        Ok(Root { handed_back: handed_back.collect::<Result<_, _>>()?, layer: open(&self.layer)? })
    }

    /// Something of the scaffold that is not in the root.
    fn beside(&self, name: &str) -> PathBuf {
        self.view.stage.join(name)
    }

    fn inside(&self, at: &Path) -> PathBuf {
        self.root.join(at.strip_prefix("/").unwrap_or(at))
    }

    fn make_folders(&self, at: &Path) -> Result<PathBuf, Failure> {
        let mut place = self.root.clone();
        for part in at.components() {
            if let Component::Normal(name) = part {
                place.push(name);
                match fs::create_dir(&place) {
                    Ok(()) => self.own(&place)?,
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(Failure::io(&format!("make {}", place.display()), &error)),
                }
            }
        }
        Ok(place)
    }

    fn make_own_folder(&self, path: &Path) -> Result<(), Failure> {
        make_folder(path)?;
        self.own(path)
    }

    fn own(&self, path: &Path) -> Result<(), Failure> {
        let Power::Root { user, .. } = self.power else { return Ok(()) };
        rustix::fs::chown(path, Some(Uid::from_raw(user)), Some(Gid::from_raw(user))).map_err(on("hand over", path))
    }
}

/// A folder that is on both sides takes its rights and time from the upper.
fn like(lower: &Path, upper: &Path) -> Result<(), Failure> {
    let failed = |errno| Failure::new(format!("copy the rights of {}", lower.display()), errno);
    let stat = rustix::fs::stat(lower).map_err(failed)?;
    let at = Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ };
    let times = Timestamps { last_access: at, last_modification: at };
    rustix::fs::chmod(upper, Mode::from_raw_mode(stat.st_mode & 0o777 | 0o700)).map_err(failed)?;
    rustix::fs::utimensat(rustix::fs::CWD, upper, &times, rustix::fs::AtFlags::empty()).map_err(failed)
}

/// Makes this the root, and lets go of the old one with all that is mounted there.
fn enter(root: &Path) -> Result<(), Failure> {
    rustix::process::chdir(root).map_err(cannot("enter the new root"))?;
    rustix::process::pivot_root(".", ".").map_err(cannot("change the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(cannot("let go of the old root"))?;
    rustix::process::chdir("/").map_err(cannot("enter the new root"))?;
    mount_remount("/", MountFlags::BIND | SHARED, c"").map_err(cannot("make the root read-only"))
}

/// With everything mounted below it.
fn make_read_only(place: &Path) -> Result<(), Errno> {
    set_read_only(place, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)
}

fn set_read_only(place: &Path, attr_set: u64) -> Result<(), Errno> {
    let fd = rustix::fs::open(place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let attributes = libc::mount_attr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    idmap::set_attributes(fd.as_fd(), &attributes, libc::AT_RECURSIVE)
}

fn is_mount_point(path: &Path) -> bool {
    let stat = rustix::fs::statx(
        rustix::fs::CWD,
        path,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        rustix::fs::StatxFlags::BASIC_STATS,
    );
    stat.is_ok_and(|stat| stat.stx_attributes.contains(rustix::fs::StatxAttributes::MOUNT_ROOT))
}

fn escape(path: &Path, into: &mut Vec<u8>) {
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'\\' | b':' | b',') {
            into.push(b'\\');
        }
        into.push(*byte);
    }
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir(path).map_err(|error| Failure::io(&format!("make {}", path.display()), &error))
}

fn c_string(bytes: &[u8]) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|_| Failure::new("write mount options", Errno::INVAL))
}

fn cannot(what: &'static str) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::new(what, errno)
}

fn on<'a>(what: &'static str, path: &'a Path) -> impl Fn(Errno) -> Failure + 'a {
    move |errno| Failure::new(format!("{what} {}", path.display()), errno)
}
