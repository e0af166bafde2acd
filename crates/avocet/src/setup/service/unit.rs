//! The file of the unit: its place, its text, and the changes that a person has made to it.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use avocet_text::{append_text, in_hexadecimal};
use sha2::{Digest, Sha256};

use super::ServiceScope;
use crate::components::places::config_path;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::{CommandContext, Global};
use crate::environment::{absolute_path, home_directory, read_variable};
use crate::exit::{Exit, Failure};

/// The name of the unit in systemd.
pub(super) const UNIT: &str = "avocet.service";
const OF_SYSTEM: &str = include_str!("../../../systemd/avocet.service");
const OF_USER: &str = include_str!("../../../systemd/avocet.user.service");
const SYSTEM_DIRECTORY: &str = "/etc/systemd/system";
/// The directories of units that packages install.
const PACKAGED: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];
const SYSTEM_CONFIGURATION: &str = "/etc/avocet/config.toml";
/// The directories that the unit of the system closes to the daemon.
const CLOSED: [&str; 4] = ["/home", "/root", "/run/user", "/tmp"];

/// The first line of a written unit; a hash of the rest follows. It shows if a person has changed
/// the file.
const MARK: &str = "# Written by `avocet service install`; sha256 ";
const PROGRAM: &str = "ExecStart=";

/// A unit that is, or would be, installed.
#[derive(Debug)]
pub(super) struct UnitFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The file that was found at the place of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundUnit {
    Missing,
    /// It has the same text.
    Same,
    /// An earlier version wrote it, and nothing has changed it since.
    Outdated,
    /// A person, or another program, has changed it.
    Changed,
}

impl UnitFile {
    /// Returns the unit for this program and its configuration, which is checked.
    pub(super) fn new(context: &CommandContext, scope: ServiceScope) -> Result<Self, Failure> {
        let program = program_path()?;
        let configuration = configuration_path(&context.cli, scope)?;
        if scope == ServiceScope::System {
            for path in configuration.iter().chain([&program]) {
                check_visible_in_unit(path)?;
                check_readable_by_service(path)?;
            }
        }
        let cli = Global { config: configuration.clone(), ..context.cli.clone() };
        Configuration::load(&CommandContext { cli, ..context.clone() }, ConfigurationUse::Check)?;
        let mut command = format!("{PROGRAM}{}", quote_path(&program)?);
        if let Some(path) = &configuration {
            append_text(&mut command, format_args!(" --config {}", quote_path(path)?));
        }
        command.push_str(" run");
        // The manager may not know the directory of this user's state.
        let state = read_variable("XDG_STATE_HOME").filter(|_| scope == ServiceScope::User);
        if let Some(directory) = state {
            let directory = quote_path(Path::new(&format!("XDG_STATE_HOME={directory}")))?;
            append_text(&mut command, format_args!("\nEnvironment={directory}"));
        }
        Ok(Self {
            path: unit_path(scope)?,
            text: mark_text(&with_command(scope.shipped(), &command)),
        })
    }

    /// Compares the file at the unit's place with the unit.
    pub(super) fn found(&self) -> Result<FoundUnit, Failure> {
        inspect_unit(&self.path, &self.text)
    }

    /// Writes the file, so that a crash leaves either the old or the new one. A changed file is kept
    /// beside it; its path is returned.
    pub(super) fn write(&self, found: FoundUnit) -> Result<Option<PathBuf>, Failure> {
        let failed = |error| cannot_write(&self.path, &error);
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        let kept = self.path.with_extension("service.before");
        let is_kept = found == FoundUnit::Changed;
        if is_kept {
            fs::copy(&self.path, &kept).map_err(failed)?;
        }
        let new = self.path.with_extension("service.new");
        let mut file = fs::File::create(&new).map_err(failed)?;
        file.write_all(self.text.as_bytes()).map_err(failed)?;
        file.set_permissions(fs::Permissions::from_mode(0o644)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, &self.path).map_err(failed)?;
        Ok(is_kept.then_some(kept))
    }
}

impl ServiceScope {
    fn shipped(self) -> &'static str {
        match self {
            Self::User => OF_USER,
            Self::System => OF_SYSTEM,
        }
    }
}

/// Returns the place of the unit.
pub(super) fn unit_path(scope: ServiceScope) -> Result<PathBuf, Failure> {
    if scope == ServiceScope::System {
        return Ok(Path::new(SYSTEM_DIRECTORY).join(UNIT));
    }
    let config = read_variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| home_directory().map(|home| home.join(".config")));
    config.map(|config| config.join("systemd/user").join(UNIT)).ok_or_else(|| {
        Failure::new(Exit::Failed, "cannot find the place of the unit: HOME is not set")
    })
}

/// Removes the links by which systemd starts a removed unit at boot, as `systemctl disable` does.
pub(super) fn remove_links(unit: &Path) -> Result<(), Failure> {
    let beside = unit.parent().and_then(|directory| fs::read_dir(directory).ok());
    for entry in beside.into_iter().flatten().flatten() {
        let link = entry.path().join(UNIT);
        if entry.path().extension().is_some_and(|ending| ending == "wants") && link.is_symlink() {
            fs::remove_file(&link).map_err(|error| cannot_write(&link, &error))?;
        }
    }
    Ok(())
}

/// Returns the unit of a package, which one in `/etc` would replace.
pub(super) fn packaged_unit() -> Option<PathBuf> {
    PACKAGED.iter().map(|directory| Path::new(directory).join(UNIT)).find(|path| path.exists())
}

/// Compares a file with the text of a unit; an empty text is no unit.
pub(super) fn inspect_unit(path: &Path, text: &str) -> Result<FoundUnit, Failure> {
    match fs::read_to_string(path) {
        Ok(found) if found == text => Ok(FoundUnit::Same),
        Ok(found) if is_as_written(&found) => Ok(FoundUnit::Outdated),
        Ok(_) => Ok(FoundUnit::Changed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(FoundUnit::Missing),
        Err(error) => {
            let message = format!("cannot read {}: {error}", path.display());
            Err(Failure::new(Exit::Failed, message))
        }
    }
}

pub(super) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))
}

/// Returns the path of this program, which the unit starts.
fn program_path() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    if program.exists() {
        return Ok(program);
    }
    // The kernel adds ` (deleted)` to the path of a replaced program.
    let message =
        format!("cannot find {}: the program was replaced; run it again", program.display());
    Err(Failure::new(Exit::Failed, message))
}

/// Returns the configuration that the service reads; `None` if the user has none.
fn configuration_path(cli: &Global, scope: ServiceScope) -> Result<Option<PathBuf>, Failure> {
    let path = match (scope, &cli.config) {
        (ServiceScope::User, _) => config_path(cli),
        (ServiceScope::System, Some(path)) => Some(path.clone()),
        (ServiceScope::System, None) => Some(SYSTEM_CONFIGURATION.into()),
    };
    path.map(|path| absolute_path(&path)).transpose()
}

/// Refuses a path that the service of the system cannot see.
fn check_visible_in_unit(path: &Path) -> Result<(), Failure> {
    let Some(closed) = CLOSED.iter().find(|closed| path.starts_with(closed)) else {
        return Ok(());
    };
    let message = format!(
        "the service of the system cannot see {}, because its unit closes {closed}; copy the file \
         to a directory of the system, such as /usr/local/bin or /etc/avocet",
        path.display()
    );
    Err(Failure::new(Exit::Failed, message))
}

/// Refuses a path that the account of the service cannot read. An account `avocet` that exists
/// already may have rights of its own.
fn check_readable_by_service(path: &Path) -> Result<(), Failure> {
    let has_account = fs::read_to_string("/etc/passwd")
        .is_ok_and(|users| users.lines().any(|line| line.starts_with("avocet:")));
    let is_closed = |path: &&Path| {
        let needed = if path.is_dir() { 0o001 } else { 0o004 };
        fs::metadata(path).is_ok_and(|found| found.permissions().mode() & needed == 0)
    };
    let Some(closed) = path.ancestors().find(is_closed).filter(|_| !has_account) else {
        return Ok(());
    };
    let right = if closed.is_dir() { "o+x" } else { "o+r" };
    let message = format!(
        "the account of the service cannot read {}; write its secrets as references such as \
         \"${{credential:telegram}}\" (LoadCredential= in a drop-in), because every user can read \
         what the service can read, and then run `chmod {right} {}`",
        path.display(),
        closed.display()
    );
    Err(Failure::new(Exit::Failed, message))
}

/// Returns the text of a unit with another command.
fn with_command(unit: &str, command: &str) -> String {
    let lines = unit.lines().map(|line| if line.starts_with(PROGRAM) { command } else { line });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Quotes a word as systemd.syntax(7) describes. The characters with a meaning inside of quotes are
/// refused.
fn quote_path(path: &Path) -> Result<String, Failure> {
    let special = |one: char| one.is_control() || ['"', '$', '%', '\\', '\''].contains(&one);
    match path.to_str() {
        Some(text) if !text.contains(special) && text.contains(char::is_whitespace) => {
            Ok(format!("\"{text}\""))
        }
        Some(text) if !text.contains(special) => Ok(text.to_owned()),
        _ => {
            let message = format!(
                "a unit of systemd cannot name {}: a character in it has a meaning of its own",
                path.display()
            );
            Err(Failure::new(Exit::Failed, message))
        }
    }
}

fn mark_text(text: &str) -> String {
    format!("{MARK}{}\n{text}", hash(text))
}

/// Returns `true` for a text that this program, or the one of a checkout, wrote.
fn is_as_written(text: &str) -> bool {
    let marked = text.strip_prefix(MARK).and_then(|rest| rest.split_once('\n'));
    marked.is_some_and(|(noted, text)| noted == hash(text)) || [OF_SYSTEM, OF_USER].contains(&text)
}

fn hash(text: &str) -> String {
    in_hexadecimal(&Sha256::digest(text))
}

#[cfg(test)]
#[path = "unit_tests.rs"]
mod tests;
