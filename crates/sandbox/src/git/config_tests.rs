use std::fs;
use std::process::Command;

use avocet_testkit::{SystemPart, skip_without};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn entry(section: &str, subsection: Option<&str>, name: &str, value: Option<&str>) -> ConfigEntry {
    let owned = |text: &str| text.to_owned();
    ConfigEntry {
        section: owned(section),
        subsection: subsection.map(owned),
        name: owned(name),
        value: value.map(owned),
    }
}

/// Returns the keys and values that git itself reads; `None` if git is missing or refuses them.
fn by_git(text: &str) -> Option<Vec<(String, Option<String>)>> {
    let home = TempDir::new().unwrap();
    let file = home.path().join("config");
    fs::write(&file, text).unwrap();
    let ran = Command::new("git")
        .args(["config", "--null", "--list", "--file"])
        .arg(&file)
        .output()
        .ok()?;
    let listed = String::from_utf8(ran.stdout).ok().filter(|_| ran.status.success())?;
    let entries = listed.split_terminator('\0').map(|entry| match entry.split_once('\n') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (entry.to_owned(), None),
    });
    Some(entries.collect())
}

fn by_us(text: &str) -> Option<Vec<(String, Option<String>)>> {
    Some(parse_config(text)?.into_iter().map(|entry| (entry.dotted_key(), entry.value)).collect())
}

const SAMPLES: [&str; 23] = [
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    "[remote \"origin\"]\n\turl = https://example.org/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
    "[core] fsmonitor = x ; comment\n",
    "[CORE]FsMonitor=x",
    "[filter \"a b=c.d\"]\n clean = \"sh -c \\\"x\\\"\" # more\n",
    "[alias]\n\tst = \"!sh\" -c \"x\"\n\tlong = one \\\n two\n",
    "[branch.Old.Name]\n\tmerge = x\n",
    "[a]\n\tb\n\tc =\n\td = \" spaces \"\n\te =   two   words   \n",
    "# comment \\\n[core]\n; another\n\tpager = less\n",
    "\u{feff}[core]\r\n\tpager = less\r\n",
    "[x \"with \\\" and \\\\ and \\n\"]\n\ty = \"tab\\t end\\b\"\n",
    "[core]\n\tpager = a\\\n#b\n",
    "[core]\n\tpager = \"a#b;c\" d;e\n",
    "[core]\n\tpager = a\u{b}b\n",
    "[core]\n\tpager = \"unclosed\n",
    "[core]\n\tpager = bad\\q\n",
    "[core\n\tpager = x\n",
    "[core \"x]\n\tpager = x\n",
    "[core]\n\t1pager = x\n",
    "[core]\n\tpa_ger = x\n",
    "[core]\n\tpager x\n",
    "[include]\n\tpath = ../x\n[includeIf \"gitdir:~/x\"]\n\tpath = y\n",
    "[core]\n\tpager = x\\",
];

#[test]
fn parse_agrees_with_git() {
    if Command::new("git").arg("--version").output().is_err() {
        return skip_without(SystemPart::Git);
    }
    for text in SAMPLES {
        assert_eq!(by_us(text), by_git(text), "{text:?}");
    }
}

#[test]
fn written_round_trips_through_parse_and_git() {
    for text in SAMPLES.into_iter().filter(|text| parse_config(text).is_some()) {
        let entries = parse_config(text).unwrap();
        let again = write_config(entries.iter());
        assert_eq!(parse_config(&again), Some(entries), "{again}");
        if let Some(listed) = by_git(&again) {
            assert_eq!(by_us(text), Some(listed), "{again}");
        }
    }
}

#[test]
fn is_plain_accepts_the_style_of_git_and_nothing_ambiguous() {
    for text in [SAMPLES[0], SAMPLES[1], SAMPLES[21], "", "# a\n\n[a]\n\tb\n"] {
        assert!(is_plain(text) && parse_config(text).is_some(), "{text:?}");
    }
    for ambiguous in [
        "[core] fsmonitor = x\n",
        "[core]\n\tpager = a\\\n[user]\n",
        "[core]\n\tpager = \"a\n",
        "[core]\r\n",
        "[core \"a\\\"b\"]\n",
        "[core]\n\tpager = a ; b\n",
        "\u{feff}[core]\n",
        "[x \"]\n[core] fsmonitor = y \"]\n",
    ] {
        assert!(!is_plain(ambiguous), "{ambiguous:?}");
    }
}

#[test]
fn is_harmless_accepts_common_keys_and_none_that_run_programs() {
    let git_dir = Path::new("project/.git");
    let harmless = [
        entry("core", None, "bare", Some("false")),
        entry("remote", Some("origin"), "url", Some("https://[::1]/r.git")),
        entry("remote", Some("origin"), "url", Some("git@example.org:a/b.git")),
        entry("remote", Some("origin"), "fetch", Some("+refs/heads/*:refs/remotes/origin/*")),
        entry("branch", Some("main"), "merge", Some("refs/heads/main")),
        entry("user", None, "name", Some("A")),
        entry("submodule", Some("x"), "update", Some("rebase")),
        entry("core", None, "worktree", Some("../lib")),
    ];
    for entry in harmless {
        assert!(entry.is_harmless(git_dir), "{entry:?}");
    }
    let runs = [
        entry("core", None, "fsmonitor", Some("x")),
        entry("core", None, "hookspath", Some("x")),
        entry("core", None, "sshcommand", Some("x")),
        entry("core", None, "pager", None),
        entry("filter", Some("a"), "clean", Some("x")),
        entry("diff", Some("a"), "textconv", Some("x")),
        entry("diff", None, "external", Some("x")),
        entry("merge", Some("a"), "driver", Some("x")),
        entry("alias", None, "st", Some("!x")),
        entry("include", None, "path", Some("../x")),
        entry("includeif", Some("gitdir:/"), "path", Some("../x")),
        entry("credential", None, "helper", Some("x")),
        entry("url", Some("https://evil.example/"), "insteadof", Some("https://")),
        entry("remote", Some("origin"), "uploadpack", Some("x")),
        entry("remote", Some("origin"), "url", Some("ext::sh -c x")),
        entry("submodule", Some("x"), "url", Some("ext::sh -c x")),
        entry("submodule", Some("x"), "update", Some("!x")),
        entry("core", None, "worktree", Some("../../../home")),
        entry("core", None, "worktree", Some("/home")),
        entry("gc", None, "recentobjectshook", Some("x")),
        entry("core", Some("x"), "bare", Some("x")),
        entry("of", None, "tomorrow", Some("x")),
    ];
    for entry in runs {
        assert!(!entry.is_harmless(git_dir), "{entry:?}");
    }
}

proptest! {
    #[test]
    fn parse_of_plain_text_has_one_entry_per_line(text in "(\\[[a-z]{1,3}( \"[ -~]{0,4}\")?\\]\n|\t?[a-z-]{1,3} ?=? ?[ -~]{0,6}\n|[#;][ -~]{0,3}\n){0,6}") {
        if is_plain(&text) && let Some(entries) = parse_config(&text) {
            let lines = text.lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';', '[']));
            prop_assert_eq!(entries.len(), lines.count(), "{}", text);
        }
    }
}
