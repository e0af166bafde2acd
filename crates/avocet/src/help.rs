//! The help of the whole program: its commands in groups. clap itself lists commands in one group only.

use std::ffi::OsString;
use std::iter::once;

use avocet_text::{append_line, append_text};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};

use crate::command_line::Cli;

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
    (
        "Work",
        &["approvals", "job", "memory", "resume", "rules", "schedule", "sessions", "stop", "tasks"],
    ),
    (
        "Look",
        &[
            "audit",
            "events",
            "prompt",
            "prove",
            "replay",
            "status",
            "subscribers",
            "top",
            "trace",
            "usage",
        ],
    ),
    ("Repair", &["backup", "db", "dead", "doctor", "recover", "restore"]),
    ("Help", &["help"]),
];

/// Commands that other programs have, and the way to the same here. The first list has the commands
/// below which the tip is given, too.
const TIPS: &[(&[&str], &[&str], &str)] = &[
    (
        &["service"],
        &["stop"],
        "press Ctrl-C in the terminal of `avocet run`; a service stops with `systemctl --user stop \
         avocet`, or of the system with `sudo systemctl stop avocet`",
    ),
    (
        &["service"],
        &["restart"],
        "press Ctrl-C in the terminal of `avocet run`, and run it again; a service restarts with \
         `systemctl --user restart avocet`, or of the system with `sudo systemctl restart avocet`",
    ),
    (
        &[],
        &["daemon", "serve", "start"],
        "`avocet run` runs the daemon in this terminal; `avocet service install` makes it a service",
    ),
    (
        &[],
        &["configure", "onboard", "setup"],
        "`avocet init` sets up a provider, a bot and its owner",
    ),
    (
        &[],
        &["log", "logs"],
        "`avocet service logs` shows the log of a service; `avocet run` writes it to its terminal",
    ),
    (
        &[],
        &["check"],
        "`avocet doctor` checks the daemon and everything that it needs; `avocet config check` \
         checks the configuration",
    ),
    (
        &["config"],
        &["remove", "unset"],
        "`avocet config edit` opens the configuration file; remove the line of the key there",
    ),
];
/// The command that is never a guess, because it replaces the database.
const NEVER_SUGGESTED: &str = "restore";

/// The columns of the list of commands.
const WIDTH: usize = 100;

/// Returns the command line, with its commands in groups.
pub(crate) fn root_command() -> Command {
    let command = Cli::command();
    let list = grouped_commands(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Parses a command line.
///
/// # Errors
/// The help, or the fault in the command line.
pub(crate) fn parse_arguments(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Cli, clap::Error> {
    let mut command = root_command();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = command
        .try_get_matches_from_mut(&arguments)
        .map_err(|error| with_tip(error, &command, &arguments))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Returns the help of a command, or the fault in its name.
pub(crate) fn help_of(words: &[String]) -> clap::Error {
    let words = words.iter().map(String::as_str);
    let arguments = once("avocet").chain(words).chain(once("--help")).map(OsString::from);
    parse_arguments(arguments).map_or_else(
        |error| error,
        |_| root_command().error(ErrorKind::DisplayHelp, root_command().render_help()),
    )
}

/// Adds the tip for an unknown command, and removes guesses that would do harm.
fn with_tip(mut error: clap::Error, command: &Command, arguments: &[OsString]) -> clap::Error {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    let before = arguments.iter().skip(1).take_while(|argument| **argument != *word);
    let mut parent = before.filter_map(|argument| argument.to_str());
    let parent = parent.find(|word| command.find_subcommand(word).is_some());
    let tip = TIPS.iter().find(|(below, words, _)| {
        words.contains(&&*word) && parent.is_none_or(|parent| below.contains(&parent))
    });
    let guesses = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(guesses)) => guesses,
        _ => Vec::new(),
    };
    let guesses: Vec<String> =
        guesses.into_iter().filter(|guess| guess != NEVER_SUGGESTED).collect();
    if let Some((_, _, tip)) = tip {
        let tip = StyledStr::from(*tip);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    } else if !guesses.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(guesses));
    }
    error
}

/// Lists the commands in groups.
fn grouped_commands(command: &Command) -> String {
    let shown = |command: &&Command| !command.is_hide_set();
    let commands: Vec<&Command> = command.get_subcommands().filter(shown).collect();
    let longest = commands.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut list = String::new();
    for (title, names) in GROUPS {
        append_text(&mut list, format_args!("\n{title}:\n"));
        for command in names.iter().filter_map(|name| find_command(&commands, name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let indent = longest + 4;
            let about = wrap_text(&about, indent, WIDTH);
            let name = command.get_name();
            append_line(&mut list, format_args!("  {name:longest$}  {about}"));
        }
    }
    list
}

fn find_command<'c>(commands: &[&'c Command], name: &str) -> Option<&'c Command> {
    commands.iter().find(|command| command.get_name() == name).copied()
}

/// Wraps a text whose lines begin at column `indent`.
fn wrap_text(text: &str, indent: usize, width: usize) -> String {
    let (mut wrapped, mut column) = (String::new(), indent);
    for word in text.split_whitespace() {
        if column > indent && column + 1 + word.len() > width {
            append_text(&mut wrapped, format_args!("\n{:indent$}", ""));
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
    fn tips_are_for_commands_that_do_not_exist() {
        let command = Cli::command();
        for (below, words, _) in TIPS {
            for word in *words {
                // `avocet stop` names the way to stop the daemon itself.
                assert!(command.find_subcommand(word).is_none() || *word == "stop", "{word}");
                for parent in *below {
                    let parent = command.find_subcommand(parent).unwrap();
                    assert!(parent.find_subcommand(word).is_none(), "{word}");
                }
            }
        }
    }

    #[test]
    fn unknown_command_has_a_tip_and_never_the_guess_restore() {
        let table = [
            (
                "service stop",
                "tip: press Ctrl-C in the terminal of `avocet run`; a service stops with",
            ),
            ("restart", "`systemctl --user restart avocet`"),
            ("setup", "tip: `avocet init`"),
            ("logs", "tip: `avocet service logs`"),
            ("check", "tip: `avocet doctor`"),
            ("config unset agents.defaults.model", "tip: `avocet config edit`"),
            ("stauts", "'status'"),
            ("restor", "unrecognized subcommand 'restor'"),
            ("mcp check", "unrecognized subcommand 'check'"),
        ];
        for (line, expected) in table {
            let words = once("avocet").chain(line.split(' ')).map(OsString::from);
            let error = parse_arguments(words).unwrap_err().render().to_string();
            assert!(error.contains(expected), "{line}: {error}");
            assert!(!error.contains("'restore'"), "{line}: {error}");
        }
    }

    #[test]
    fn man_page_exists_for_every_command() {
        let directory = tempfile::TempDir::new().unwrap();
        clap_mangen::generate_to(root_command(), directory.path()).unwrap();
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
        assert_eq!(wrap_text("one two three", 4, 12), "one two\n    three");
        assert_eq!(wrap_text("averylongword b", 4, 8), "averylongword\n    b");
        assert_eq!(wrap_text("", 4, 8), "");
    }
}
