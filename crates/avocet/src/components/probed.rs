//! Remembers that the last probe of the sandbox found namespaces, so that the next start does not
//! wait for one. Only that result is remembered: a sandbox with namespaces never runs a program with
//! fewer layers, so an outdated memory cannot weaken it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use avocet_sandbox::{ProgramSandbox, SandboxLayers};
use serde::{Deserialize, Serialize};

/// The file in the data directory.
const FILE: &str = "sandbox-probed";
/// Settings of the kernel that decide about namespaces.
const SYSTEM_FILES: [&str; 6] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/self/attr/current",
    "/proc/self/uid_map",
];
/// Lines of `/proc/self/status` that say which rights this process has.
const RIGHTS: [&str; 7] =
    ["Uid:", "Gid:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:"];

/// The file of the last probe, and the system that it has to match.
#[derive(Debug, Clone)]
pub(crate) struct ProbeMemory {
    file: PathBuf,
    /// `None` if the system cannot be described; then nothing is remembered.
    system: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Probed {
    system: String,
    /// The reason why Landlock fails; `None` if it works.
    no_landlock: Option<String>,
}

impl ProbeMemory {
    pub(crate) fn new(data_dir: &Path, sandbox: &ProgramSandbox) -> Self {
        Self { file: data_dir.join(FILE), system: describe_system(sandbox).ok() }
    }

    /// Returns the layers that the last probe on this system found; `None` if a probe is needed.
    pub(crate) fn read(&self) -> Option<SandboxLayers> {
        let known: Probed = serde_json::from_slice(&fs::read(&self.file).ok()?).ok()?;
        let landlock = known.no_landlock.map_or(Ok(()), Err);
        let fits = self.system.as_ref() == Some(&known.system);
        fits.then_some(SandboxLayers { namespaces: Ok(()), landlock })
    }

    /// Remembers these layers if they include namespaces; otherwise forgets the last ones.
    pub(crate) fn write(&self, layers: &SandboxLayers) {
        let SandboxLayers { namespaces, landlock } = layers;
        let written = match (&self.system, namespaces) {
            (Some(system), Ok(())) => self
                .replace(&Probed { system: system.clone(), no_landlock: landlock.clone().err() }),
            _ => fs::remove_file(&self.file),
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::debug!(%error, "the next start has to probe the sandbox again");
            }
            _ => {}
        }
    }

    fn replace(&self, probed: &Probed) -> io::Result<()> {
        let new = self.file.with_extension("new");
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(probed)?)?;
        fs::rename(&new, &self.file)
    }
}

/// Describes everything that a probe depends on: this boot, our program, the rights of this process,
/// and the paths that programs see.
fn describe_system(sandbox: &ProgramSandbox) -> io::Result<String> {
    let program = fs::metadata(&sandbox.program)?;
    let user_namespace = fs::read_link("/proc/self/ns/user")?;
    let status = fs::read_to_string("/proc/self/status")?;
    let rights = status.lines().filter(|line| RIGHTS.iter().any(|name| line.starts_with(name)));
    // A kernel lacks the settings that it does not know.
    let settings = SYSTEM_FILES.map(|file| fs::read_to_string(file).unwrap_or_default());
    if settings[0].is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(format!(
        "{:?} {user_namespace:?} {settings:?} {:?} {:?} {:?} {:?}",
        (program.dev(), program.ino(), program.mtime(), program.mtime_nsec(), program.len()),
        rights.collect::<Vec<_>>(),
        sandbox.writable,
        sandbox.readable,
        sandbox.limits,
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use avocet_sandbox::Isolation;
    use avocet_testkit::ManualClock;
    use tempfile::TempDir;

    use super::*;

    fn sandbox(program: &Path, readable: &str) -> ProgramSandbox {
        let clock = Arc::new(ManualClock::default());
        ProgramSandbox {
            readable: vec![readable.into()],
            ..ProgramSandbox::new(program, Isolation::Namespaces, clock)
        }
    }

    #[test]
    fn probe_memory_returns_layers_only_to_the_system_that_was_probed() {
        let home = TempDir::new().unwrap();
        let program = home.path().join("program");
        fs::write(&program, "1").unwrap();
        let of = |readable| ProbeMemory::new(home.path(), &sandbox(&program, readable));
        assert_eq!(of("/a").read(), None, "before the first probe");

        for landlock in [Ok(()), Err("old".to_owned())] {
            let layers = SandboxLayers { namespaces: Ok(()), landlock };
            of("/a").write(&layers);
            assert_eq!(of("/a").read(), Some(layers));
            assert_eq!(of("/b").read(), None, "with another configuration");
        }
        fs::write(&program, "12").unwrap();
        assert_eq!(of("/a").read(), None, "with another program");
    }

    #[test]
    fn probe_memory_forgets_a_system_without_namespaces_and_ignores_a_damaged_file() {
        let home = TempDir::new().unwrap();
        let program = home.path().join("program");
        fs::write(&program, "1").unwrap();
        let memory = ProbeMemory::new(home.path(), &sandbox(&program, "/a"));
        memory.write(&SandboxLayers { namespaces: Ok(()), landlock: Ok(()) });
        memory.write(&SandboxLayers { namespaces: Err("denied".to_owned()), landlock: Ok(()) });
        assert_eq!(memory.read(), None);
        fs::write(home.path().join(FILE), "{").unwrap();
        assert_eq!(memory.read(), None);
    }
}
