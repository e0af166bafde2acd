//! The shape of a shell command: its program, its subcommand and its flags. A person can allow a shape for
//! the session, and so the same command with other arguments.
//!
//! ```text
//! cargo test parser --release      cargo test --release …
//! rg -n 'fn main' src              rg -n …
//! cargo test; rm -r target         none: more than one command
//! python -c 'print(1)'             none: the program runs what its arguments say
//! ```
//!
//! **Only known programs.** A program that is not in [`PROGRAMS`] may run others by an argument, like `sh`,
//! `env`, `xargs`, `awk`, `ssh` or `make VAR=`. Such a command can be allowed as it is only.
//!
//! **Flags are part of the shape**, with a value behind `=`, because a flag can change what a program does.
//! Words that are no flags are free, also the value behind a flag.
//!
//! **What the shell would change has no shape**: operators, redirections, substitutions, variables, globs
//! and assignments.

use crate::shell_words::find_commands;

/// The longest shape, in characters: a person has to see it as a whole.
const LONGEST: usize = 50;

/// Programs that run no other program by an argument without a dash, with their subcommands of this kind.
/// Without subcommands, all words that are no flags are free.
const PROGRAMS: [(&str, &[&str]); 46] = [
    ("basename", &[]),
    ("black", &[]),
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree"]),
    ("cat", &[]),
    ("cmp", &[]),
    ("cut", &[]),
    ("diff", &[]),
    ("dirname", &[]),
    ("dotnet", &["build", "format", "test"]),
    ("du", &[]),
    ("eslint", &[]),
    ("file", &[]),
    ("flake8", &[]),
    ("git", &["add", "blame", "commit", "diff", "grep", "log", "ls-files", "show", "status"]),
    ("go", &["build", "fmt", "list", "test", "vet"]),
    ("gofmt", &[]),
    ("grep", &[]),
    ("head", &[]),
    ("isort", &[]),
    ("jest", &[]),
    ("jq", &[]),
    ("ls", &[]),
    ("md5sum", &[]),
    ("mkdir", &[]),
    ("mypy", &[]),
    ("nl", &[]),
    ("npm", &["test"]),
    ("phpunit", &[]),
    ("pnpm", &["test"]),
    ("prettier", &[]),
    ("pwd", &[]),
    ("pytest", &[]),
    ("readlink", &[]),
    ("realpath", &[]),
    ("rg", &[]),
    ("rspec", &[]),
    ("ruff", &["check", "format"]),
    ("rustfmt", &[]),
    ("sha256sum", &[]),
    ("shellcheck", &[]),
    ("stat", &[]),
    ("tail", &[]),
    ("touch", &[]),
    ("tsc", &[]),
    ("wc", &[]),
    ("yarn", &["test"]),
];

/// Parts of the names of long flags that name a program, a script or a file of settings.
const RUNNING: [&str; 12] = [
    "bin", "cmd", "command", "config", "editor", "exec", "pager", "plugin", "pre", "program",
    "shell", "tool",
];
/// Short flags of this kind: of which program, and the flag.
const RUNNING_SHORT: [(&str, &str); 5] =
    [("git", "-O"), ("jest", "-c"), ("eslint", "-c"), ("pytest", "-c"), ("pytest", "-p")];

/// Returns the shape of a command, as a person reads it; `None` if only the exact command can be allowed.
pub(crate) fn shape_of_command(script: &str) -> Option<String> {
    if !is_plain(script) {
        return None;
    }
    let [words] = &find_commands(script)[..] else { return None };
    let (program, arguments) = words.split_first()?;
    // Not behind a word of the shell like `if`, which the reader of commands leaves out.
    script.split_whitespace().next().filter(|first| first == program)?;
    let (_, subcommands) = PROGRAMS.iter().find(|(name, _)| name == program)?;
    let (mut shape, arguments) = match subcommands {
        [] => (vec![program.as_str()], arguments),
        known => {
            let (subcommand, arguments) = arguments.split_first()?;
            known.contains(&subcommand.as_str()).then_some(())?;
            (vec![program.as_str(), subcommand.as_str()], arguments)
        }
    };
    for word in arguments {
        if is_assignment(word) {
            return None;
        }
        if word.starts_with('-') && word != "-" {
            if word.contains(char::is_whitespace) || runs_something(program, word) {
                return None;
            }
            shape.push(word);
        }
    }
    let shape = format!("{} …", shape.join(" "));
    (shape.chars().count() <= LONGEST).then_some(shape)
}

/// Returns `true` if the shell passes the words of a script on as they stand, without quotes.
fn is_plain(script: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    for c in script.chars() {
        match (quote, c) {
            (_, c) if c.is_control() => return false,
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`' | '\\') => return false,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (
                None,
                '$' | '`' | '\\' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '[' | ']'
                | '*' | '?' | '!' | '#',
            ) => return false,
            // The shell puts a home directory there.
            (None, '~') if matches!(before, ' ' | '=' | ':') => return false,
            (None, _) => {}
        }
        before = c;
    }
    quote.is_none()
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Returns `true` for a flag that makes a program run another one, or read other settings.
fn runs_something(program: &str, flag: &str) -> bool {
    let Some(long) = flag.strip_prefix("--").filter(|long| !long.is_empty()) else {
        // Go has long flags with one dash.
        let is_running =
            RUNNING_SHORT.iter().any(|(of, short)| *of == program && flag.starts_with(short));
        return is_running || (program == "go" && is_running_name(&flag[1..]));
    };
    is_running_name(long)
}

fn is_running_name(name: &str) -> bool {
    let name = name.split('=').next().unwrap_or_default();
    RUNNING.iter().any(|part| name.contains(part))
}

#[cfg(test)]
#[path = "command_shape_tests.rs"]
mod tests;
