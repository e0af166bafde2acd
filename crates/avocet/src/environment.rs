//! The environment and the working directory. Only this module reads them.

use std::path::{Path, PathBuf};

use avocet_config::ConfigDocument;
use jiff::tz::TimeZone;

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

/// The link that names the time zone of a Linux system.
const ZONE_LINK: &str = "/etc/localtime";

/// Returns the time zone of the system, with its name.
///
/// jiff lists all zones before it opens one, which is most of what a zone costs a start. So the
/// file behind the link is read here. jiff keeps what it alone can do: `TZ`, `TZDIR`, and a system
/// whose link is a file or leads elsewhere.
pub(crate) fn system_zone() -> TimeZone {
    #[expect(clippy::disallowed_methods, reason = "the binary reads the environment")]
    let is_chosen = ["TZ", "TZDIR"].iter().any(|name| std::env::var_os(name).is_some());
    let linked = if is_chosen { None } else { linked_zone(Path::new(ZONE_LINK)) };
    linked.unwrap_or_else(TimeZone::system)
}

/// Reads the zone that a link leads to, and takes its name from the target, such as
/// `/usr/share/zoneinfo/Europe/Berlin`; `None` if the target has no such name or is no zone.
fn linked_zone(link: &Path) -> Option<TimeZone> {
    let target = std::fs::read_link(link).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("/zoneinfo/")?;
    // These directories have the same zones again, with and without leap seconds.
    if name.starts_with("posix/") || name.starts_with("right/") {
        return None;
    }
    TimeZone::tzif(name, &std::fs::read(link).ok()?).ok()
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

    /// Returns the zone behind a link to a file below `zoneinfo`, or below another directory.
    fn zone_behind(directory: &str, name: &str, bytes: &[u8]) -> Option<TimeZone> {
        let home = tempfile::TempDir::new().unwrap();
        let (file, link) = (home.path().join(directory).join(name), home.path().join("localtime"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, bytes).unwrap();
        // Relative, as systemd writes it.
        std::os::unix::fs::symlink(Path::new(directory).join(name), &link).unwrap();
        linked_zone(&link)
    }

    /// Returns a zone file (RFC 9636) whose offset is one hour, and in summer by the rule two.
    fn zone_file(rule: &str) -> Vec<u8> {
        let counts = [0, 0, 0, 0, 1, 4_u32].map(u32::to_be_bytes);
        let kind = [3600_u32.to_be_bytes().as_slice(), &[0, 0], b"CET\0"].concat();
        let block = [b"TZif2".as_slice(), &[0; 15], &counts.concat(), &kind].concat();
        [&block, &block, format!("\n{rule}\n").as_bytes()].concat()
    }

    #[test]
    fn linked_zone_is_the_one_that_jiff_finds_by_name() {
        let bytes = zone_file("CET-1CEST,M3.5.0,M10.5.0/3");
        let zone = zone_behind("usr/share/zoneinfo", "Europe/Berlin", &bytes).unwrap();
        let by_name = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(zone.iana_name(), by_name.iana_name());
        for (moment, hours) in [
            ("2026-03-29T00:59:59Z", 1),
            ("2026-03-29T01:00:00Z", 2),
            ("2026-10-25T00:59:59Z", 2),
            ("2045-12-01T12:00:00Z", 1),
        ] {
            let moment = moment.parse().unwrap();
            assert_eq!(zone.to_offset(moment), jiff::tz::offset(hours), "{moment}");
            assert_eq!(zone.to_offset(moment), by_name.to_offset(moment), "{moment}");
        }
    }

    #[test]
    fn linked_zone_leaves_other_links_to_jiff() {
        let bytes = zone_file("CET-1");
        let name = "Europe/Berlin";
        assert!(zone_behind("usr/share/zoneinfo", name, &bytes).is_some());
        assert_eq!(zone_behind("usr/share/zones", name, &bytes), None);
        assert_eq!(zone_behind("usr/share/zoneinfo/right", name, &bytes), None);
        assert_eq!(zone_behind("usr/share/zoneinfo", name, b"no zone"), None);
        let home = tempfile::TempDir::new().unwrap();
        let file = home.path().join("localtime");
        assert_eq!(linked_zone(&file), None);
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(linked_zone(&file), None);
    }

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
