//! The surroundings of the sandboxes: files, processes and listeners that programs must not affect.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tempfile::TempDir;

/// The beginning of every secret word.
pub(crate) const SECRET: &str = "kestrel-";

pub(crate) struct Host {
    /// A word in everything that belongs to a sandbox of this host.
    pub(crate) mark: String,
    outside: TempDir,
    /// Visible in sandboxes, except for the hidden paths in it.
    pub(crate) readable: TempDir,
    scratch: TempDir,
    process: Child,
    tcp: [TcpListener; 2],
    udp: [UdpSocket; 2],
    streams: [UnixListener; 4],
    datagrams: [UnixDatagram; 2],
    segment: Option<(String, String)>,
    /// A file that a daemon may have been started with; every process that it starts inherits it.
    _inherited: fs::File,
    before: Vec<u32>,
    untouched: String,
}

impl Host {
    pub(crate) fn new() -> Self {
        let outside = TempDir::new_in("/var/tmp").unwrap();
        let scratch = TempDir::new_in("/tmp").unwrap();
        let readable = TempDir::new_in("/var/tmp").unwrap();
        let mark = outside.path().file_name().unwrap().to_str().unwrap().replace('.', "m");
        let secret = format!("{SECRET}{}", mark.to_lowercase());
        fill(&outside.path().join("victim"), &secret);
        fs::create_dir_all(readable.path().join("hidden")).unwrap();
        fs::create_dir_all(readable.path().join("deep")).unwrap();
        fs::write(readable.path().join("plain.txt"), "plain").unwrap();
        for path in ["hidden/secret.txt", "deep/hidden.txt"] {
            fs::write(readable.path().join(path), &secret).unwrap();
        }
        keep_secrets(readable.path(), &secret);
        fs::write(Path::new("/dev/shm").join(&mark), &secret).unwrap();
        let abstract_name =
            |kind: &str| SocketAddr::from_abstract_name(format!("{mark}{kind}")).unwrap();
        let streams = [
            UnixListener::bind(outside.path().join("stream")).unwrap(),
            UnixListener::bind(scratch.path().join("stream")).unwrap(),
            UnixListener::bind_addr(&abstract_name("stream")).unwrap(),
            UnixListener::bind(readable.path().join("deep/stream")).unwrap(),
        ];
        let datagrams = [
            UnixDatagram::bind(outside.path().join("datagram")).unwrap(),
            UnixDatagram::bind_addr(&abstract_name("datagram")).unwrap(),
        ];
        let tcp = ["127.0.0.1:0", "[::1]:0"].map(|to| TcpListener::bind(to).unwrap());
        let udp = ["127.0.0.1:0", "[::1]:0"].map(|to| UdpSocket::bind(to).unwrap());
        streams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        datagrams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        tcp.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        udp.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        let segment = shared_segment();
        let inherited = fs::File::open(outside.path().join("victim/secret.txt")).unwrap();
        fcntl(&inherited, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        let mut host = Self {
            process: victim(&secret),
            before: processes(),
            untouched: String::new(),
            mark,
            outside,
            readable,
            scratch,
            tcp,
            udp,
            streams,
            datagrams,
            segment,
            _inherited: inherited,
        };
        host.untouched = host.state();
        host
    }

    /// Returns the environment of the scripts.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let path =
            |directory: &TempDir, name: &str| directory.path().join(name).display().to_string();
        let port =
            |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
        let key = self.segment.as_ref().map_or_else(|| "1".to_owned(), |(_, key)| key.clone());
        let variables = [
            ("MARK", self.mark.clone()),
            ("VICTIM", path(&self.outside, "victim")),
            ("VICTIM_PID", self.process.id().to_string()),
            ("DAEMON_PID", std::process::id().to_string()),
            ("READABLE", self.readable.path().display().to_string()),
            ("SOCKET", path(&self.outside, "stream")),
            ("SCRATCH_SOCKET", path(&self.scratch, "stream")),
            ("DATAGRAM", path(&self.outside, "datagram")),
            ("ABSTRACT", format!("{}stream", self.mark)),
            ("ABSTRACT_DATAGRAM", format!("{}datagram", self.mark)),
            ("TCP4", port(self.tcp[0].local_addr())),
            ("TCP6", port(self.tcp[1].local_addr())),
            ("UDP4", port(self.udp[0].local_addr())),
            ("UDP6", port(self.udp[1].local_addr())),
            ("SHARED_KEY", key),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Returns the paths that are hidden below visible ones.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        ["hidden", "deep/hidden.txt"].map(|name| self.readable.path().join(name)).to_vec()
    }

    /// Returns texts about all harm to the host.
    pub(crate) fn harm(&self) -> Vec<String> {
        let mut harm = Vec::new();
        let state = self.state();
        for (was, is) in self.untouched.lines().zip(state.lines()).filter(|(was, is)| was != is) {
            harm.push(format!("{was} became {is}"));
        }
        if harm.is_empty() && state != self.untouched {
            harm.push(format!("outside is now {state}"));
        }
        harm.extend(self.reached());
        harm.extend(self.left().into_iter().map(|left| format!("{left} is left")));
        harm
    }

    /// Returns every listener that was reached.
    fn reached(&self) -> Vec<String> {
        let mut bytes = [0; 16];
        let of = |kind: &str, number: usize| format!("{kind} {number} was reached");
        let tcp = self.tcp.iter().map(|one| ("TCP", one.accept().is_ok()));
        let udp = self.udp.iter().map(|one| ("UDP", one.peek(&mut [0; 16]).is_ok()));
        let streams = self.streams.iter().map(|one| ("stream", one.accept().is_ok()));
        let datagrams = self.datagrams.iter().map(|one| ("datagram", one.recv(&mut bytes).is_ok()));
        let all = tcp.chain(udp).chain(streams).chain(datagrams).enumerate();
        all.filter(|(_, (_, reached))| *reached)
            .map(|(number, (kind, _))| of(kind, number))
            .collect()
    }

    /// Returns the processes with the mark in their arguments or environment. Dead ones have
    /// neither.
    pub(crate) fn left(&self) -> Vec<String> {
        let mine = [std::process::id(), self.process.id()];
        let new = processes().into_iter().filter(|pid| !self.before.contains(pid));
        let marked = |pid: &u32| {
            ["cmdline", "environ"].iter().any(|name| {
                let mut text = Vec::new();
                let file = fs::File::open(format!("/proc/{pid}/{name}"));
                file.and_then(|mut file| file.read_to_end(&mut text)).is_ok()
                    && String::from_utf8_lossy(&text).contains(&self.mark)
            })
        };
        let left = new.filter(|pid| !mine.contains(pid)).filter(marked);
        left.map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default())
            .filter(|stat| !stat.is_empty())
            .collect()
    }

    /// Returns the files with all their metadata, and the process.
    fn state(&self) -> String {
        let mut files = BTreeMap::new();
        describe(&self.outside.path().join("victim"), &mut files);
        describe(self.readable.path(), &mut files);
        let mut text = String::new();
        for (path, file) in files {
            writeln!(text, "{} {file}", path.display()).unwrap();
        }
        let of = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", self.process.id())).unwrap_or_default()
        };
        let stat = of("stat");
        let stat: Vec<_> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        // The state, the priority and the nice value of the process.
        writeln!(text, "process {:?} {:?}", stat.first(), stat.get(15..17)).unwrap();
        text + &of("limits")
            + of("status").lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or("")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
        fs::remove_file(Path::new("/dev/shm").join(&self.mark)).unwrap_or_default();
        if let Some((id, _)) = &self.segment {
            Command::new("ipcrm").args(["-m", id]).status().map(drop).unwrap_or_default();
        }
    }
}

/// Makes the secrets of a person in a directory that programs may read, one of them with a second
/// name, and similar files without secrets.
fn keep_secrets(readable: &Path, secret: &str) {
    let secrets = [
        ".cargo/credentials.toml",
        ".env",
        "keys/id_ed25519",
        "keys/server.key",
        ".kube/config",
        ".gnupg/secring",
        ".config/gh/hosts.yml",
        ".docker/config.json",
    ];
    let private = format!("-----BEGIN PRIVATE KEY-----\n{secret}\n");
    let content = secrets.map(|path| (path, secret)).into_iter().chain([
        ("keys/private.pem", private.as_str()),
        ("keys/bundle.pem", "-----BEGIN CERTIFICATE-----\nof everybody\n"),
        (".cargo/config.toml", "[build]\n"),
        (".cargo/registry/src/a-1.0.0/test.key", "of a package\n"),
        (".config/gh/config.yml", "editor: vi\n"),
    ]);
    for (path, content) in content {
        let path = readable.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::hard_link(readable.join(".env"), readable.join("deep/second-name")).unwrap();
}

fn fill(victim: &Path, secret: &str) {
    fs::create_dir_all(victim.join("directory")).unwrap();
    fs::write(victim.join("secret.txt"), format!("{secret}\n")).unwrap();
    fs::write(victim.join("run.sh"), format!("#!/bin/sh\necho {secret}\n")).unwrap();
    fs::write(victim.join(".bashrc"), format!("echo {secret}\n")).unwrap();
    fs::write(victim.join("secret.py"), format!("print('{secret}')\n")).unwrap();
    symlink("secret.txt", victim.join("link")).unwrap();
    nix::unistd::mkfifo(&victim.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(victim.join("run.sh"), executable).unwrap();
}

/// Starts a process with a secret in its environment, in its own group.
fn victim(secret: &str) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", "echo; exec sleep 100000"])
        .env("SECRET", secret)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The process is in its final state once `sleep` has replaced the shell.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    while !fs::read_to_string(&stat).unwrap().contains("(sleep) S") {
        std::thread::yield_now();
    }
    child
}

/// Makes a segment of shared memory, and returns its id and key; `None` without `ipcmk`.
fn shared_segment() -> Option<(String, String)> {
    let made = Command::new("ipcmk").args(["-M", "4096"]).output().ok()?;
    let made = String::from_utf8(made.stdout).ok()?;
    let id = made.rsplit(' ').next()?.trim().to_owned();
    let all = fs::read_to_string("/proc/sysvipc/shm").ok()?;
    let rows = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row.get(1) == Some(&id.as_str()))?;
    Some((id, row.first()?.to_string()))
}

fn describe(path: &Path, into: &mut BTreeMap<PathBuf, String>) {
    let found = fs::symlink_metadata(path).unwrap();
    let content = if found.is_file() { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    let numbers = [found.mode(), found.uid(), found.gid()];
    let content = String::from_utf8_lossy(&content);
    into.insert(path.to_owned(), format!("{numbers:?} {} {times:?} {content:?}", found.nlink()));
    if found.is_dir() {
        // A directory that became unreadable is noticed by its mode.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            describe(&entry.path(), into);
        }
    }
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
