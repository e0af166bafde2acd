//! The environment and the working directory. Only this module reads them.

use std::path::{Path, PathBuf};

use avocet_config::ConfigDocument;

use crate::exit::{Exit, Failure};

#[expect(clippy::disallowed_methods, reason = "the binary reads the environment and hands it in")]
pub(crate) fn read_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the environment of the agent's programs. Of the daemon's own, it holds only the path to
/// programs, the language and the time zone.
pub(crate) fn program_environment() -> Vec<(String, String)> {
    let ours = ["LANG", "LC_ALL", "LC_CTYPE", "PATH", "TZ"];
    let of_ours = ours.iter().filter_map(|name| Some(((*name).to_owned(), read_variable(name)?)));
    let own = [("HOME", "/tmp"), ("TERM", "dumb"), ("TMPDIR", "/tmp")];
    // With rustup, cargo looks for its toolchains in the home directory, which is hidden from
    // programs.
    let home = read_variable("HOME").map(|home| format!("{home}/.rustup"));
    let toolchains = read_variable("RUSTUP_HOME").or(home);
    let toolchains = toolchains.map(|path| ("RUSTUP_HOME".to_owned(), path));
    of_ours
        .chain(toolchains)
        .chain(own.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect()
}

/// Returns the environment of commands that the operator has configured: enough to find programs, and
/// the settings and agents with which they log in. The secrets of the daemon are not among it.
pub(crate) fn operator_environment() -> Vec<(String, String)> {
    let names = [
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "SSH_AUTH_SOCK",
        "TZ",
        "USER",
        "XDG_CONFIG_HOME",
        "https_proxy",
        "http_proxy",
        "no_proxy",
    ];
    let known = names.into_iter().filter_map(|name| Some((name.to_owned(), read_variable(name)?)));
    known.chain([("TERM".to_owned(), "dumb".to_owned())]).collect()
}

/// Returns the home directory of the user.
pub(crate) fn home_directory() -> Option<PathBuf> {
    read_variable("HOME").map(PathBuf::from)
}

/// Resolves a path from a file relative to that file; `~/` is the home directory.
#[expect(clippy::disallowed_methods, reason = "the binary reads the working directory")]
fn resolve_path(base: Option<&Path>, path: &Path) -> Result<PathBuf, Failure> {
    if let Ok(below) = path.strip_prefix("~") {
        let home = home_directory().ok_or_else(|| {
            let message = format!("{}: there is no home directory", path.display());
            Failure::new(Exit::Configuration, message)
        })?;
        return Ok(home.join(below));
    }
    let base = base.unwrap_or(Path::new(""));
    Ok(std::env::current_dir()?.join(base).join(path))
}

/// Resolves a path of the configuration from the directory of its file.
pub(crate) fn from_configuration(
    document: &ConfigDocument,
    path: &Path,
) -> Result<PathBuf, Failure> {
    resolve_path(document.path().and_then(Path::parent), path)
}

/// Resolves a path of the command line from the working directory.
pub(crate) fn absolute_path(path: &Path) -> Result<PathBuf, Failure> {
    resolve_path(None, path)
}

/// Returns `true` if colours are wanted (no-color.org).
pub(crate) fn wants_colour() -> bool {
    read_variable("NO_COLOR").is_none() && read_variable("TERM").is_none_or(|term| term != "dumb")
}

/// Returns `true` if the terminal can move its cursor.
pub(crate) fn moves_cursor() -> bool {
    read_variable("TERM").is_none_or(|term| term != "dumb")
}

/// The place where a browser would open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Desktop {
    /// On this machine, by this program.
    Here {
        /// A program that takes an address.
        browser: String,
    },
    /// The person is on another machine.
    Remote,
    /// This machine has no display.
    None,
}

/// Finds out where a browser would open.
pub(crate) fn find_desktop() -> Desktop {
    desktop_of(read_variable)
}

fn desktop_of(environment: impl Fn(&str) -> Option<String>) -> Desktop {
    let has = |names: &[&str]| names.iter().any(|name| environment(name).is_some());
    if has(&["SSH_CONNECTION", "SSH_TTY"]) {
        return Desktop::Remote;
    }
    if !has(&["DISPLAY", "WAYLAND_DISPLAY"]) {
        return Desktop::None;
    }
    // `BROWSER` may be a list of programs, separated by colons.
    let browser = environment("BROWSER").and_then(|list| list.split(':').next().map(str::to_owned));
    let browser = browser.filter(|one| !one.is_empty());
    Desktop::Here { browser: browser.unwrap_or_else(|| "xdg-open".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn desktop_of_an_environment() {
        let here = |browser: &str| Desktop::Here { browser: browser.to_owned() };
        let table: [(&[(&str, &str)], Desktop); 6] = [
            (&[], Desktop::None),
            (&[("BROWSER", "firefox")], Desktop::None),
            (&[("DISPLAY", ":0")], here("xdg-open")),
            (&[("WAYLAND_DISPLAY", "wayland-0"), ("BROWSER", "a:b")], here("a")),
            (&[("DISPLAY", ":0"), ("SSH_TTY", "/dev/pts/1")], Desktop::Remote),
            (&[("SSH_CONNECTION", "::1 1 ::1 22")], Desktop::Remote),
        ];
        for (variables, expected) in table {
            let find = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(desktop_of(find), expected, "{variables:?}");
        }
    }
}
