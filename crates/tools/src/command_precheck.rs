//! The command precheck: refuses some commands before the sandbox would, with a reason. It is no
//! security boundary, because a script can hide its commands.

use avocet_text::fits_pattern;

use crate::shell_words::{Words, find_commands, program_name};

/// Programs that change the machine or the user, whatever their arguments.
const NEVER: [(&str, &str); 14] = [
    ("chroot", "changes the root directory"),
    ("doas", "becomes another user"),
    ("fdisk", "changes disks"),
    ("halt", "stops the machine"),
    ("insmod", "changes the kernel"),
    ("modprobe", "changes the kernel"),
    ("parted", "changes disks"),
    ("poweroff", "stops the machine"),
    ("reboot", "stops the machine"),
    ("shutdown", "stops the machine"),
    ("su", "becomes another user"),
    ("sudo", "becomes another user"),
    ("swapoff", "changes the system's memory"),
    ("wipefs", "destroys file systems"),
];

/// Directories that belong to others as a whole.
const NOT_OURS: [&str; 8] = ["/", "/*", "/.", "~", "~/", "~/*", "$HOME", "$HOME/*"];

/// Refuses a script with a command that is always harmful or that the operator has not allowed. The
/// error is the reason.
pub(crate) fn check_script(script: &str, allowed: &[String]) -> Result<(), String> {
    if is_fork_bomb(script) {
        return Err("this is a fork bomb: a function that calls itself without end".to_owned());
    }
    for words in find_commands(script) {
        let name = program_name(&words);
        if let Some(why) = why_refused(&words) {
            return Err(format!("{name} {why}, which is not allowed here; do it without that"));
        }
        check_allowed(name, allowed)?;
    }
    Ok(())
}

/// Refuses a program that is missing from the operator's list. An empty list allows all.
pub(crate) fn check_allowed(program: &str, allowed: &[String]) -> Result<(), String> {
    if allowed.is_empty() || allowed.iter().any(|pattern| fits_pattern(pattern, program)) {
        return Ok(());
    }
    let list = allowed.join(", ");
    Err(format!("{program} is not among the allowed commands: {list}"))
}

fn why_refused(words: &Words) -> Option<&'static str> {
    let (name, arguments) = (program_name(words), &words[1..]);
    if let Some((_, why)) = NEVER.iter().find(|(never, _)| *never == name) {
        return Some(why);
    }
    let has = |of: &dyn Fn(&str) -> bool| arguments.iter().any(|word| of(word));
    match name {
        "rm" => {
            let recursive =
                |word: &str| is_flag(word, 'r') || is_flag(word, 'R') || word == "--recursive";
            let of_others = |word: &str| NOT_OURS.contains(&word) || word == "--no-preserve-root";
            (has(&recursive) && has(&of_others)).then_some("deletes the whole file system")
        }
        "chmod" | "chown" | "chgrp" => {
            let recursive = |word: &str| is_flag(word, 'R') || word == "--recursive";
            let of_others = |word: &str| NOT_OURS.contains(&word);
            (has(&recursive) && has(&of_others)).then_some("changes the whole file system")
        }
        "dd" => has(&|word| {
            word.starts_with("if=") && !word.starts_with("if=/dev/zero")
                || word.starts_with("of=/dev/")
        })
        .then_some("copies raw disks"),
        "init" | "telinit" => has(&|word| matches!(word, "0" | "6")).then_some("stops the machine"),
        "systemctl" => has(&|word| matches!(word, "halt" | "kexec" | "poweroff" | "reboot"))
            .then_some("stops the machine"),
        _ if name == "mkfs" || name.starts_with("mkfs.") => Some("destroys file systems"),
        _ => None,
    }
}

/// Returns `true` if a letter is among the short flags of a word.
fn is_flag(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(letter))
}

/// Matches `f(){ f|f& };f` for any function name.
fn is_fork_bomb(script: &str) -> bool {
    let dense: String = script.chars().filter(|c| !c.is_whitespace()).collect();
    dense.match_indices("(){").any(|(at, head)| {
        let name =
            dense[..at].rsplit([';', '&', '|', '}', '{', '(', ')']).next().unwrap_or_default();
        let name = name.strip_prefix("function").unwrap_or(name);
        !name.is_empty() && dense[at + head.len()..].starts_with(&format!("{name}|{name}&"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_refuses_harmful_commands_by_program_and_not_by_text() {
        let refused = [
            "rm -rf /",
            "rm -r -f /*",
            "rm --recursive --no-preserve-root x",
            "cd /tmp && rm -fR ~",
            "echo $(sudo ls)",
            "sudo -u root ls",
            "/usr/bin/sudo ls",
            "bash -c 'shutdown -h now'",
            "mkfs.ext4 /dev/sda1",
            "mkfs /dev/sda1",
            "dd if=/dev/sda of=copy",
            "dd of=/dev/sda",
            "env A=1 reboot",
            "init 0",
            "systemctl poweroff",
            "chmod -R 777 /",
            ":(){ :|:& };:",
            "bomb() { bomb | bomb & }; bomb",
            "find . -exec su {} \\;",
        ];
        for script in refused {
            assert!(check_script(script, &[]).is_err(), "{script}");
        }
        let fine = [
            "git commit -m 'fix shutdown'",
            "grep -rn sudo .",
            "echo rm -rf /",
            "rm -rf target",
            "rm -rf ./",
            "cat reboot.md",
            "man mkfs",
            "dd if=/dev/zero of=x bs=1 count=1",
            "f() { echo f; }; f | f",
            "ls ~",
            "python3 -c 'print(\"poweroff\")'",
        ];
        for script in fine {
            assert_eq!(check_script(script, &[]), Ok(()), "{script}");
        }
    }

    #[test]
    fn check_accepts_only_allowed_commands_if_there_is_a_list() {
        let allowed = ["git".to_owned(), "cargo*".to_owned(), "cd".to_owned()];
        for script in
            ["git status", "cd a && cargo build", "cargo-deny check", "A=1 /usr/bin/git log"]
        {
            assert_eq!(check_script(script, &allowed), Ok(()), "{script}");
        }
        for script in ["ls", "git log | less", "git log $(ls)", "sh -c ls"] {
            let error = check_script(script, &allowed).unwrap_err();
            assert!(
                error.contains("is not among the allowed commands: git, cargo*, cd"),
                "{error}"
            );
        }
    }
}
