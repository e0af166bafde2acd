//! Recognises shell scripts that call only git. Such a script may change the configuration of its
//! repositories and the protected files that git checks out. A script that is not fully understood
//! is rejected.

/// Programs besides git that change nothing and start no other program.
const HARMLESS: [&str; 10] =
    ["cat", "cd", "echo", "grep", "head", "ls", "pwd", "tail", "true", "wc"];

/// The permitted git commands. Excluded are those that run a program of the caller's choice:
/// `bisect run`, `filter-branch`, `difftool`, and aliases.
const COMMANDS: [&str; 46] = [
    "add",
    "am",
    "apply",
    "blame",
    "branch",
    "cat-file",
    "checkout",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "config",
    "describe",
    "diff",
    "fetch",
    "for-each-ref",
    "gc",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "prune",
    "pull",
    "push",
    "rebase",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "switch",
    "tag",
    "worktree",
];

/// The permitted commands of `git submodule`. Excluded is `foreach`, which runs a script.
const OF_SUBMODULES: [&str; 8] =
    ["absorbgitdirs", "add", "deinit", "init", "set-branch", "status", "sync", "update"];

/// Options that make git run a program of the caller's choice. git also accepts abbreviations of
/// long options.
const RUNNING: [&str; 11] = [
    "--config",
    "--exec",
    "--extcmd",
    "--ext-diff",
    "--open-files-in-pager",
    "--receive-pack",
    "--template",
    "--textconv",
    "--upload-pack",
    "-O",
    "-x",
];

/// The directories in which a script calls git, one per call, relative to its start. `None` if a
/// command could run another program or the script writes to a file itself.
pub(crate) fn only_git(script: &str) -> Option<Vec<String>> {
    let (mut directory, mut called) = (String::new(), Vec::new());
    for words in split_commands(script)? {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] => {}
            ["cd", to] => directory = directory_below(&directory, to),
            ["cd", ..] => return None,
            ["git", ref rest @ ..] => called.push(of_git(rest, &directory)?),
            [name, ..] if HARMLESS.contains(&name) => {}
            _ => return None,
        }
    }
    (!called.is_empty()).then_some(called)
}

/// The directory of this git call; `None` if it could run a program of the caller's choice.
fn of_git(words: &[&str], directory: &str) -> Option<String> {
    let (mut directory, mut words) = (directory.to_owned(), words.iter().copied());
    let command = loop {
        match words.next()? {
            "-C" => directory = directory_below(&directory, words.next()?),
            "--no-pager" | "--literal-pathspecs" => {}
            option if option.starts_with('-') => return None,
            command => break command,
        }
    };
    let mut rest = words.clone();
    let is_clone = command == "clone";
    let is_known = match command {
        "submodule" => words
            .find(|word| !word.starts_with('-'))
            .is_some_and(|word| OF_SUBMODULES.contains(&word)),
        command => COMMANDS.contains(&command),
    };
    (is_known && !rest.any(|word| may_run_program(word, is_clone))).then_some(directory)
}

/// Returns `true` if this may be an option that runs a program. `-x` of a rebase is `--exec`; for
/// `git clean -x` this only loses the extra right. `-c` and `-u` of a clone are `--config` and
/// `--upload-pack`.
fn may_run_program(word: &str, is_clone: bool) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let is_long = name.starts_with("--") && name != "--";
    let is_short_of_clone =
        is_clone && !is_long && name.starts_with('-') && name.contains(['c', 'u']);
    is_short_of_clone
        || RUNNING
            .iter()
            .any(|option| word.starts_with(option) || is_long && option.starts_with(name))
}

fn directory_below(directory: &str, to: &str) -> String {
    match directory {
        _ if to.starts_with('/') => to.to_owned(),
        "" => to.to_owned(),
        directory => format!("{directory}/{to}"),
    }
}

/// Splits a script into commands and words. `None` if it has more than plain words, quoted words
/// and the separators between commands.
fn split_commands(script: &str) -> Option<Vec<Vec<String>>> {
    let (mut commands, mut words): (Vec<Vec<String>>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let separators = ["&&", "||", ";", "\n", "|"];
        let skipped = ["2>&1", ">/dev/null", "> /dev/null", "2>/dev/null", "2> /dev/null"];
        if let Some(separator) = separators.iter().find(|one| rest.starts_with(**one)) {
            commands.push(std::mem::take(&mut words));
            rest = &rest[separator.len()..];
        } else if let Some(redirection) = skipped.iter().find(|one| rest.starts_with(**one)) {
            rest = &rest[redirection.len()..];
            if !rest.is_empty() && !rest.starts_with([' ', '\n', ';', '&', '|']) {
                return None;
            }
        } else if matches!(first, ' ' | '\t') {
            rest = &rest[1..];
        } else {
            let (word, behind) = split_word(rest)?;
            words.push(word);
            rest = behind;
        }
    }
    commands.push(words);
    Some(commands)
}

/// The first word, and the rest of the text.
fn split_word(text: &str) -> Option<(String, &str)> {
    let (mut word, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        match next {
            ' ' | '\t' | '\n' | ';' | '&' | '|' => break,
            '\'' | '"' => {
                let (quoted, behind) = rest[1..].split_once(next)?;
                if next == '"' && quoted.contains(['$', '`', '\\', '!']) {
                    return None;
                }
                word.push_str(quoted);
                rest = behind;
            }
            next if next.is_alphanumeric() || "-_./=@:,+%^".contains(next) => {
                word.push(next);
                rest = &rest[next.len_utf8()..];
            }
            // A leading `~` is the home directory; elsewhere it names an ancestor of a commit.
            '~' if !word.is_empty() => {
                word.push(next);
                rest = &rest[1..];
            }
            _ => return None,
        }
    }
    if rest.len() == text.len() {
        return None;
    }
    // Reject a variable assignment: git may read the variable.
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    (!is_assignment).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts with the directories of their git commands.
    const ONLY_GIT: &[(&str, &[&str])] = &[
        ("git status", &[""]),
        ("git config user.name 'A B'", &[""]),
        ("git remote add origin https://example.org/r.git && git fetch -q", &["", ""]),
        (
            "cd a && git checkout -b side origin/main; cd b\ngit pull 2>&1 | tail -n 5",
            &["a", "a/b"],
        ),
        ("git -C a/b switch \"side\" || echo failed", &["a/b"]),
        ("cd /work && git log --oneline HEAD~3", &["/work"]),
        ("git clone https://example.org/r.git > /dev/null 2>&1", &[""]),
        ("git submodule update --init", &[""]),
        ("git clone --bare -q a b && git switch -c x && git checkout -- a", &["", "", ""]),
        ("git commit -m 'a $(b) `c`'", &[""]),
    ];
    /// Scripts that do more, or might.
    const OTHERS: &[&str] = &[
        "",
        "ls",
        "make && git commit -m x",
        "git commit -m \"$(cat x)\"",
        "git status > file",
        "git status >> file",
        "git status >/dev/nullx",
        "echo x > .git/config; git status",
        "GIT_DIR=x git status",
        "git -c core.fsmonitor=x status",
        "git --git-dir=x status",
        "git --exec-path=x status",
        "git rebase --exec 'make' main",
        "git rebase -x make main",
        "git rebase -xmake main",
        "git rebase --exe make main",
        "git fetch --upload-p x",
        "git clone -c core.hooksPath=x y",
        "git clone -qccore.hooksPath=x y",
        "git clone -u x y",
        "git bisect run make",
        "git submodule foreach 'make'",
        "git submodule --quiet foreach make",
        "git clone --template=x y",
        "git clone --config core.hooksPath=x y",
        "git fetch --upload-pack=x",
        "git log --ext-diff",
        "git co main",
        "git difftool",
        "git status &",
        "git status; (make)",
        "git add *",
        "git add {a,b}",
        "git add $x",
        "cd ~ && git status",
        "cd && git status",
        "cd a b && git status",
        "git commit -m \"a\\\"; make\"",
        "git commit -m 'x",
        "/tmp/git status",
        "./git status",
        "git status <x",
        "git status\\\nmake",
        "!! git status",
    ];

    #[test]
    fn only_git_returns_the_directories_of_git_commands() {
        for (script, expected) in ONLY_GIT {
            let expected = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(only_git(script), Some(expected), "{script}");
        }
        for script in OTHERS {
            assert_eq!(only_git(script), None, "{script}");
        }
    }
}
