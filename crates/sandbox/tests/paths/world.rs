//! A workspace, and a victim beside it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use avocet_sandbox::{RootAccess, Workspace, WorkspaceRoots};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use parking_lot::Mutex;
use tempfile::TempDir;

/// A word that must stay unseen. It is in each secret, and in a name beside the victim.
pub(crate) const CANARY: &str = "kestrel";

/// The kind of directory that must not be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootKind {
    Workspace,
    /// A directory beside a workspace.
    Beside(RootAccess),
}

pub(crate) const KINDS: [RootKind; 3] =
    [RootKind::Workspace, RootKind::Beside(RootAccess::Change), RootKind::Beside(RootAccess::Read)];

pub(crate) struct World {
    directory: TempDir,
    kind: RootKind,
    /// Secrets of the workspace.
    secrets: Mutex<Vec<PathBuf>>,
    /// Files that are open in this process, like a daemon's own.
    file: File,
    open_directory: File,
}

impl World {
    /// Makes a world in memory, which is faster than a disk, or in a place in which devices can be
    /// opened.
    pub(crate) fn new(in_memory: bool, kind: RootKind) -> Self {
        let place = if in_memory { Path::new("/dev/shm") } else { Path::new("/var/tmp") };
        let directory = TempDir::new_in(place).or_else(|_| TempDir::new()).unwrap();
        let victim = directory.path().join("victim");
        fs::create_dir_all(victim.join("directory")).unwrap();
        fs::create_dir(directory.path().join("workspace")).unwrap();
        for name in ["secret.txt", "directory/inner.txt", ".env", "kestrel.txt"] {
            fs::write(victim.join(name), CANARY).unwrap();
        }
        mkfifo(&victim.join("pipe"), Mode::S_IRWXU).unwrap();
        symlink("secret.txt", victim.join("link")).unwrap();
        let file = File::open(victim.join("secret.txt")).unwrap();
        let open_directory = File::open(&victim).unwrap();
        let world = Self { directory, kind, secrets: Mutex::default(), file, open_directory };
        fs::write(world.root().join("plain.txt"), "plain").unwrap();
        forget_times(&victim);
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    pub(crate) fn victim(&self) -> PathBuf {
        self.directory.path().join("victim")
    }

    /// The directory, alone or beside a workspace.
    pub(crate) fn open(&self) -> WorkspaceRoots {
        open_roots(self.directory.path(), self.kind)
    }

    /// The directory that holds the workspace and the victim.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a path as a user of the directory writes it: beside the workspace, with the
    /// directory in front.
    pub(crate) fn given(&self, path: &str) -> String {
        match self.kind {
            RootKind::Beside(_) if !path.starts_with('/') => {
                format!("{}/{path}", self.root().display())
            }
            RootKind::Beside(_) | RootKind::Workspace => path.to_owned(),
        }
    }

    /// Describes a read-only directory with everything below it; `None` for other kinds.
    pub(crate) fn unchanged(&self) -> Option<String> {
        fn all(path: &Path, into: &mut String) {
            let found = fs::symlink_metadata(path).unwrap();
            let (inode, changed) = (found.ino(), (found.ctime(), found.ctime_nsec()));
            writeln!(into, "{} {inode} {changed:?}", path.display()).unwrap();
            if found.is_dir() {
                let mut below: Vec<_> =
                    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
                below.sort();
                below.iter().for_each(|path| all(path, into));
            }
        }
        let is_read = self.kind == RootKind::Beside(RootAccess::Read);
        is_read.then(|| {
            let mut state = String::new();
            all(&self.root(), &mut state);
            state
        })
    }

    /// Returns a text of the corpus with the paths of this world in it.
    pub(crate) fn filled(&self, text: &str) -> String {
        let number = |file: &File| std::os::fd::AsRawFd::as_raw_fd(file).to_string();
        let mut text = text
            .replace("$VICTIM", &self.victim().display().to_string())
            .replace("$WORKSPACE", &self.root().display().to_string())
            .replace("$PID", &std::process::id().to_string())
            .replace("$DIRECTORY_FD", &number(&self.open_directory))
            .replace("$FILE_FD", &number(&self.file));
        while let Some((before, rest)) = text.split_once("{{") {
            let (repeated, after) = rest.split_once("}}").unwrap();
            let (part, times) = repeated.rsplit_once('*').unwrap();
            text = format!("{before}{}{after}", part.repeat(times.parse().unwrap()));
        }
        text
    }

    /// Does one step of the corpus.
    pub(crate) fn make(&self, step: &str) -> io::Result<()> {
        let step = self.filled(step);
        if step.starts_with("replace") {
            fs::rename(self.root(), self.directory.path().join("moved away"))?;
            return match step.split_once(" -> ") {
                Some((_, target)) => symlink(target, self.root()),
                None => fs::create_dir(self.root()),
            };
        }
        let (verb, rest) = step.split_once(' ').unwrap();
        let (name, target) = rest.split_once(" -> ").unwrap_or((rest, ""));
        let path = self.root().join(OsStr::from_bytes(&unescaped(name)));
        fs::create_dir_all(path.parent().unwrap())?;
        match verb {
            "file" => fs::write(path, "plain"),
            "secret" => {
                fs::write(&path, CANARY)?;
                forget_times(&path);
                self.secrets.lock().push(path);
                Ok(())
            }
            "directory" => fs::create_dir(path),
            "link" => symlink(target, path),
            "hard_link" => fs::hard_link(self.root().join(target), path),
            "fifo" => Ok(mkfifo(&path, Mode::S_IRWXU)?),
            "socket" => UnixListener::bind(path).map(drop),
            "device" => {
                let (major, minor) = target.split_once(':').unwrap();
                let device = makedev(major.parse().unwrap(), minor.parse().unwrap());
                Ok(mknod(&path, SFlag::S_IFCHR, Mode::S_IRWXU, device)?)
            }
            "remove" if path.is_dir() && !path.is_symlink() => fs::remove_dir_all(path),
            "remove" => fs::remove_file(path),
            other => panic!("{other}?"),
        }
    }

    /// Returns the state of the victim and the secrets, including the times at which they were last
    /// read, listed and written.
    pub(crate) fn state(&self) -> String {
        let mut state = String::new();
        describe(&self.victim(), &mut state);
        for secret in &*self.secrets.lock() {
            describe(secret, &mut state);
        }
        state
    }
}

/// Opens the workspace of a world, alone or beside another one.
pub(crate) fn open_roots(directory: &Path, kind: RootKind) -> WorkspaceRoots {
    let root = directory.join("workspace");
    match kind {
        RootKind::Workspace => Workspace::open(&root).unwrap().into(),
        RootKind::Beside(access) => {
            let own = Workspace::open(&directory.join("own")).unwrap();
            WorkspaceRoots::new(own, vec![Workspace::open_beside(&root, access).unwrap()])
        }
    }
}

/// Returns the bytes of a name, in which `\xNN` stands for any byte.
fn unescaped(name: &str) -> Vec<u8> {
    let mut parts = name.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(part[2..].bytes());
    }
    bytes
}

/// Sets access times to long ago. Then the next access is noted even by file systems that note only
/// one a day.
fn forget_times(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap();
    if found.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| forget_times(&entry.unwrap().path()));
    }
    if found.is_dir() || found.is_file() {
        let long_ago = FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH);
        File::open(path).unwrap().set_times(long_ago).unwrap();
    }
}

/// Describes a path by its metadata alone, so that repeated calls return the same. New names show
/// in the times and sizes of directories.
fn describe(path: &Path, into: &mut String) {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) => return writeln!(into, "{}: {error}", path.display()).unwrap(),
    };
    let looked_at = found.is_dir() || found.is_file();
    let read = if looked_at { found.atime() } else { 0 };
    let (mode, length) = (found.mode(), found.len());
    let written = (found.mtime(), found.mtime_nsec());
    let (inode, owner) = (found.ino(), found.uid());
    let name = path.display();
    writeln!(into, "{name} {inode} {owner} {mode:o} {length} {written:?} {read}").unwrap();
    if found.is_dir() && path.ends_with("victim") {
        for name in [
            "secret.txt",
            "directory",
            "directory/inner.txt",
            ".env",
            "kestrel.txt",
            "link",
            "pipe",
        ] {
            describe(&path.join(name), into);
        }
    }
}
