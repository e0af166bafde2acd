//! The help of the whole program: its commands in groups. clap itself lists commands in one group only.

use std::ffi::OsString;
use std::fmt::Write;
use std::iter::once;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};

use crate::cli::Cli;

/// The commands by purpose. A name of a command that does not exist is skipped.
const GROUPS: &[(&str, &[&str])] = &[
    ("Talk", &["acp", "ask", "chat", "send", "web"]),
    (
        "Set up",
        &[
            "agents",
            "completions",
            "config",
            "init",
            "link",
            "mcp",
            "models",
            "pair",
            "people",
            "run",
            "service",
            "skills",
            "trust",
            "update",
        ],
    ),
    ("Work", &["approvals", "job", "memory", "schedule", "sessions", "tasks"]),
    (
        "Look",
        &["audit", "events", "prompt", "replay", "status", "subscribers", "top", "trace", "usage"],
    ),
    ("Repair", &["backup", "db", "dead", "doctor", "recover", "restore"]),
    ("Help", &["help"]),
];

/// The columns of the list of commands.
const WIDTH: usize = 100;

/// Returns the command line, with its commands in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let list = grouped(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Parses a command line.
///
/// # Errors
/// The help, or the fault in the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Returns the help of a command, or the fault in its name.
pub(crate) fn of(words: &[String]) -> clap::Error {
    let words = words.iter().map(String::as_str);
    let arguments = once("avocet").chain(words).chain(once("--help")).map(OsString::from);
    parse(arguments).map_or_else(
        |error| error,
        |_| command().error(ErrorKind::DisplayHelp, command().render_help()),
    )
}

/// Lists the commands in groups.
fn grouped(command: &Command) -> String {
    let shown = |command: &&Command| !command.is_hide_set();
    let commands: Vec<&Command> = command.get_subcommands().filter(shown).collect();
    let longest = commands.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut list = String::new();
    for (title, names) in GROUPS {
        // Writing to a `String` always succeeds.
        write!(list, "\n{title}:\n").unwrap_or_default();
        for command in names.iter().filter_map(|name| find(&commands, name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let indent = longest + 4;
            let about = wrapped(&about, indent, WIDTH);
            let name = command.get_name();
            writeln!(list, "  {name:longest$}  {about}").unwrap_or_default();
        }
    }
    list
}

fn find<'c>(commands: &[&'c Command], name: &str) -> Option<&'c Command> {
    commands.iter().find(|command| command.get_name() == name).copied()
}

/// Wraps a text whose lines begin at column `indent`.
fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let (mut wrapped, mut column) = (String::new(), indent);
    for word in text.split_whitespace() {
        if column > indent && column + 1 + word.len() > width {
            write!(wrapped, "\n{:indent$}", "").unwrap_or_default();
            column = indent;
        } else if column > indent {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += word.len();
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_every_command_once() {
        let command = Cli::command();
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in command.get_subcommands().map(Command::get_name) {
            let count = grouped.iter().filter(|grouped| **grouped == name).count();
            assert_eq!(count, 1, "{name}: list the command in one group of GROUPS");
        }
    }

    #[test]
    fn groups_are_in_alphabetical_order() {
        for (title, names) in GROUPS {
            assert!(names.is_sorted(), "{title}");
        }
    }

    #[test]
    fn man_page_exists_for_every_command() {
        let directory = tempfile::TempDir::new().unwrap();
        clap_mangen::generate_to(command(), directory.path()).unwrap();
        let page = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        for name in Cli::command().get_subcommands().map(Command::get_name) {
            let page = page(&format!("avocet-{name}.1"));
            assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
        }
        assert!(page("avocet-mcp-add.1").contains("MCP"));
        assert!(page("avocet.1").contains("Exit codes"), "{}", page("avocet.1"));
    }

    #[test]
    fn wrapped_text_keeps_its_indent_and_width() {
        assert_eq!(wrapped("one two three", 4, 12), "one two\n    three");
        assert_eq!(wrapped("averylongword b", 4, 8), "averylongword\n    b");
        assert_eq!(wrapped("", 4, 8), "");
    }
}
