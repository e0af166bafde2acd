//! Holds the prose of the tree to a few rules that a program can check: comments name their
//! subject, Markdown has short sentences, the paths and links in it exist, and the page on
//! troubleshooting quotes the texts of the program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "tidy/ignored.rs"]
mod ignored;
#[path = "tidy/notices.rs"]
mod notices;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// The share of comment blocks of a crate, in percent, that may begin with a word of [`RIDDLE`].
const MOST_RIDDLES: usize = 4;
/// A comment that begins so hides its subject. `As` is left out: "As in `x`" names it.
const RIDDLE: &str = r"^(What|Who|Whoever|Whom|Whose|Whether|Where|Wherever|None|Nobody|Nothing)\b";
const WORDS_OF_A_SENTENCE: usize = 35;
const CHARACTERS_OF_A_SUBJECT: usize = 72;
/// Words that hide a subject, in texts that people or models read.
const UNCLEAR: &str = r"(?i)\b(whoever|whom|nobody)\b";
/// Type names that more than two modules may define, and the reason.
const SHARED_NAMES: [(&str, &str); 3] = [
    ("Case", "a row of a table in one test module"),
    ("Result", "the usual alias with the error of a module"),
    ("World", "the parts around the code under test, in one test module"),
];
/// The most functions with a one-word name, in percent of all outside of tests.
const MOST_SHORT_FUNCTIONS: usize = 23;
/// The most types with a one-word name, in percent of all outside of tests.
const MOST_SHORT_TYPES: usize = 13;
/// Function names that a reader knows from the standard library and from other programs.
const STANDARD_NAMES: [&str; 34] = [
    "as_ref", "clear", "clone", "close", "cmp", "default", "deref", "drop", "eq", "fmt", "from",
    "get", "hash", "id", "insert", "into", "iter", "kind", "len", "load", "main", "name", "new",
    "next", "open", "poll", "push", "read", "run", "save", "send", "start", "stop", "write",
];
/// The last commit before the rule for subjects.
const BEFORE_THE_RULE: &str = "5225808";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file with this extension that git keeps or that is new, relative to the root.
fn files(extension: &str) -> Vec<PathBuf> {
    let listed = git(&["ls-files", "--cached", "--others", "--exclude-standard"]).unwrap();
    let paths = listed.lines().map(PathBuf::from);
    paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| root().join(path).exists())
        .collect()
}

/// The output of git in the tree; `None` if git fails.
fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).current_dir(root()).output().unwrap();
    ran.status.success().then(|| String::from_utf8(ran.stdout).unwrap())
}

/// The Markdown of the project; the corpus is input of tests.
fn pages() -> Vec<(PathBuf, String)> {
    let pages = files("md").into_iter().filter(|path| {
        !path.components().any(|part| part.as_os_str() == "corpus" || part.as_os_str() == "testing")
    });
    pages.map(|path| (path.clone(), fs::read_to_string(root().join(path)).unwrap())).collect()
}

/// The crate of a file: the first two parts of its path, or the first one for `tests` and `fuzz`.
fn crate_of(path: &Path) -> String {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    let first = parts.next().unwrap_or_default();
    match first.as_ref() {
        "crates" | "plugins" => format!("{first}/{}", parts.next().unwrap_or_default()),
        _ => first.into_owned(),
    }
}

#[test]
fn comments_name_their_subject() {
    let (comment, riddle) =
        (Regex::new(r"^\s*//[/!]? ?(.*)$").unwrap(), Regex::new(RIDDLE).unwrap());
    // For each crate: blocks of comments, and those that begin with a riddle.
    let mut crates: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for path in files("rs") {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let (blocks, riddles) = crates.entry(crate_of(&path)).or_default();
        let mut in_block = false;
        for (number, line) in text.lines().enumerate() {
            let comment = comment.captures(line).map(|found| found.get(1).unwrap().as_str());
            if let (Some(begin), false) = (comment, in_block) {
                *blocks += 1;
                if riddle.is_match(begin) {
                    riddles.push(format!("{}:{}: {begin}", path.display(), number + 1));
                }
            }
            in_block = comment.is_some();
        }
    }
    let mut report = Vec::new();
    for (name, (blocks, riddles)) in crates {
        if riddles.len() * 100 > blocks * MOST_RIDDLES {
            let list = riddles.join("\n  ");
            report.push(format!(
                "{name}: {} of {blocks} hide their subject:\n  {list}",
                riddles.len()
            ));
        }
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
}

#[test]
fn documentation_contains_no_code_to_run() {
    let fence = Regex::new(r"^\s*//[/!] ```(.*)").unwrap();
    for path in files("rs") {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        // A drawing stands between "```text" and "```".
        let mut is_open = false;
        for line in text.lines() {
            let Some(found) = fence.captures(line) else { continue };
            is_open = !is_open;
            assert!(
                !is_open || &found[1] == "text",
                "{}: `doctest = false`, so the code would not be tested: {line}",
                path.display()
            );
        }
    }
}

/// The text of a page without code, tables and headings: one string per paragraph or list item.
fn paragraphs(page: &str) -> Vec<String> {
    let item = Regex::new(r"^([-*]|\d+\.) ").unwrap();
    let (mut found, mut is_code) = (vec![String::new()], false);
    for line in page.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_code = !is_code;
        }
        let begins = trimmed.is_empty() || item.is_match(trimmed);
        let is_text = !is_code
            && !trimmed.starts_with(['#', '|', '<'])
            && !trimmed.starts_with("```")
            && !line.starts_with("    ");
        if begins || !is_text {
            found.push(String::new());
        }
        if is_text {
            let last = found.last_mut().unwrap();
            last.push(' ');
            last.push_str(trimmed);
        }
    }
    found
}

#[test]
fn markdown_sentences_are_short() {
    let (code, end) = (Regex::new(r"`[^`]*`").unwrap(), Regex::new(r"[.!?](\*\*|\))?\s").unwrap());
    let mut long = Vec::new();
    for (path, page) in pages() {
        for paragraph in paragraphs(&page) {
            let text = code.replace_all(&paragraph, "code");
            for sentence in end.split(&text) {
                let words = sentence.split_whitespace().count();
                if words > WORDS_OF_A_SENTENCE {
                    long.push(format!("{} ({words} words): {}", path.display(), sentence.trim()));
                }
            }
        }
    }
    assert!(long.is_empty(), "over {WORDS_OF_A_SENTENCE} words:\n{}", long.join("\n"));
}

#[test]
fn markdown_paths_of_rust_files_exist() {
    let name = Regex::new(r"`([\w/.-]+\.rs)`").unwrap();
    let known: Vec<String> =
        files("rs").iter().map(|path| format!("/{}", path.display())).collect();
    for (path, page) in pages() {
        for found in name.captures_iter(&page) {
            let named = found.get(1).unwrap().as_str();
            // A path may leave out `crates/` or `src/`, as in `store/src/schema.rs`.
            let is_there = known.iter().any(|file| file.ends_with(&format!("/{named}")));
            assert!(is_there, "{}: there is no {named}", path.display());
        }
    }
}

#[test]
fn links_between_markdown_pages_exist() {
    let link = Regex::new(r"\]\(([^)#\s]*)(#[^)]*)?\)").unwrap();
    for (path, page) in pages() {
        let rows = page.lines().filter(|line| line.starts_with('|')).map(str::to_owned);
        let prose = paragraphs(&page).into_iter().chain(rows).collect::<Vec<_>>().join("\n");
        for found in link.captures_iter(&prose) {
            let to = found.get(1).unwrap().as_str();
            if to.is_empty() || to.contains("://") || to.starts_with("mailto:") {
                continue;
            }
            let there = root().join(&path).parent().unwrap().join(to);
            assert!(there.exists(), "{}: the link to {to} leads nowhere", path.display());
        }
    }
}

/// Returns `true` for a file that contains tests or their helpers only.
fn is_for_tests(path: &Path) -> bool {
    let folders = ["tests", "testkit", "testing", "contract", "benches", "fuzz", "bench"];
    let files = ["testing.rs", "benching.rs", "fuzzing.rs", "world.rs", "tests.rs"];
    let name = path.file_name().unwrap().to_string_lossy();
    name.ends_with("_tests.rs")
        || files.contains(&name.as_ref())
        || path.iter().any(|part| folders.iter().any(|folder| part == *folder))
}

/// The code of the program, without comments and tests, for each file.
fn program() -> Vec<(PathBuf, String)> {
    let comment = Regex::new(r"(?m)^\s*//.*$").unwrap();
    let paths = files("rs").into_iter().filter(|path| !is_for_tests(path));
    let code = paths.map(|path| {
        let file = fs::read_to_string(root().join(&path)).unwrap();
        let code = file.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        (path, comment.replace_all(code, "").into_owned())
    });
    code.collect()
}

/// The string literals of some code, each in one line and without escapes.
fn literals(code: &str) -> Vec<String> {
    let literal = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)""#).unwrap();
    let next_line = Regex::new(r"\\\n\s*").unwrap();
    let found = literal.captures_iter(code).map(|found| {
        let text = next_line.replace_all(found.get(1).unwrap().as_str(), "");
        text.replace("\\\"", "\"").replace("\\n", " ")
    });
    found.collect()
}

#[test]
fn shown_texts_name_their_subject() {
    let unclear = Regex::new(UNCLEAR).unwrap();
    let mut found = Vec::new();
    for (path, code) in program() {
        for shown in literals(&code).into_iter().filter(|shown| unclear.is_match(shown)) {
            found.push(format!("{}: {shown:?}", path.display()));
        }
    }
    assert!(found.is_empty(), "unclear words:\n{}", found.join("\n"));
}

/// The page that explains errors, warnings and the lines of `doctor`.
fn troubleshooting() -> String {
    fs::read_to_string(root().join("docs/src/operate/troubleshooting.md")).unwrap()
}

/// The texts that a row of the page quotes. `…` and `...` stand for values.
fn quoted(row: &str) -> Vec<String> {
    let quote = Regex::new("`([^`]+)`").unwrap();
    let first = row.split('|').nth(1).unwrap_or_default();
    let quotes = quote.captures_iter(first).map(|found| found[1].to_owned());
    // One word is a name. A command, a table and a path are not texts of the program.
    let quotes = quotes.filter(|quote| quote.contains(' ') && !quote.starts_with(['[', '/']));
    quotes.filter(|quote| !quote.starts_with("avocet ")).collect()
}

#[test]
fn troubleshooting_quotes_texts_of_the_program() {
    let code: Vec<String> = program().into_iter().map(|(_, code)| code).collect();
    let texts = code.iter().flat_map(|code| literals(code)).collect::<Vec<_>>().join("\n");
    let mut unknown = Vec::new();
    for quote in troubleshooting().lines().flat_map(quoted) {
        if !quote.split('…').all(|part| texts.contains(part.trim())) {
            unknown.push(quote);
        }
    }
    assert!(unknown.is_empty(), "the program has no such text:\n{}", unknown.join("\n"));
}

#[test]
fn troubleshooting_explains_warnings_and_errors_of_the_log() {
    let event = Regex::new(r"(?s)tracing::(?:warn|error)!\((.*?)\n?\s*\)[;,]?\n").unwrap();
    let value = Regex::new(r"\{[^}]*\}").unwrap();
    let page = troubleshooting();
    let quotes: Vec<String> = page.lines().flat_map(quoted).collect();
    let mut missing = Vec::new();
    for (path, code) in program() {
        for fields in event.captures_iter(&code) {
            let Some(text) = literals(&fields[1]).pop() else { continue };
            // A text that is only a value is quoted where it is made.
            let is_value = value.replace_all(&text, "").trim().is_empty();
            let is_explained = quotes.iter().any(|quote| {
                quote.split('…').all(|part| text.contains(part.trim())) || quote.contains(&text)
            });
            if !is_value && !is_explained {
                missing.push(format!("{}: {text}", path.display()));
            }
        }
    }
    let missing = missing.join("\n");
    assert!(missing.is_empty(), "docs/src/operate/troubleshooting.md lacks:\n{missing}");
}

#[test]
fn type_names_stand_for_one_thing() {
    // Indented definitions are local to a function, or associated types.
    let defined =
        Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)").unwrap();
    let mut names: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in files("rs") {
        let file = fs::read_to_string(root().join(&path)).unwrap();
        for name in defined.captures_iter(&file) {
            names.entry(name[1].to_owned()).or_default().push(path.clone());
        }
    }
    let is_shared = |name: &str| SHARED_NAMES.iter().any(|(shared, _)| name == *shared);
    let mut report = Vec::new();
    for (name, mut paths) in names.into_iter().filter(|(name, _)| !is_shared(name)) {
        paths.dedup();
        if paths.len() > 2 {
            report.push(format!("{name}: {paths:?}"));
        }
    }
    assert!(report.is_empty(), "in more than two modules:\n{}", report.join("\n"));
}

/// Returns the names that `pattern` finds in `code`, and those of them that are `short`.
fn count_names(
    code: &[String],
    pattern: &str,
    is_short: impl Fn(&str) -> bool,
) -> (usize, Vec<String>) {
    let pattern = Regex::new(pattern).unwrap();
    let names = code.iter().flat_map(|code| pattern.captures_iter(code));
    let names = names.map(|found| found[1].to_owned());
    let names: Vec<_> = names.filter(|name| !STANDARD_NAMES.contains(&name.as_str())).collect();
    (names.len(), names.into_iter().filter(|name| is_short(name)).collect())
}

#[test]
fn names_outside_of_tests_have_two_words() {
    let comment = Regex::new("//.*").unwrap();
    let tests = Regex::new(r"(?m)^#\[cfg\(test\)\]\s*\n(?:#\[.*\]\s*\n)*mod \w+ \{").unwrap();
    let is_for_tests = |path: &PathBuf| {
        let folders = ["tests", "testkit", "testing", "benches", "fuzz"];
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with("tests.rs")
            || name.contains("harness")
            || path.iter().any(|part| folders.iter().any(|folder| part == *folder))
    };
    let paths = files("rs").into_iter().filter(|path| !is_for_tests(path));
    let code = paths.map(|path| {
        let file = fs::read_to_string(root().join(path)).unwrap();
        let end = tests.find(&file).map_or(file.len(), |tests| tests.start());
        comment.replace_all(&file[..end], "").into_owned()
    });
    let code: Vec<String> = code.collect();
    let capitals = |name: &str| name.chars().filter(char::is_ascii_uppercase).count();
    let (functions, short_functions) =
        count_names(&code, r"\bfn (\w+)", |name| !name.contains('_'));
    let (types, short_types) =
        count_names(&code, r"\b(?:struct|enum|trait) (\w+)", |name| capitals(name) == 1);
    let advice = "name a verb and its object, or the type outside of its module; `tests/prose` prints the shares";
    assert!(
        short_functions.len() * 100 <= functions * MOST_SHORT_FUNCTIONS,
        "{} of {functions} functions have a one-word name: {advice}",
        short_functions.len()
    );
    assert!(
        short_types.len() * 100 <= types * MOST_SHORT_TYPES,
        "{} of {types} types have a one-word name: {advice}",
        short_types.len()
    );
}

#[test]
fn commit_subjects_are_short() {
    // A clone without history has nothing to check.
    let range = format!("{BEFORE_THE_RULE}..HEAD");
    for subject in git(&["log", "--format=%s", &range]).unwrap_or_default().lines() {
        let length = subject.chars().count();
        assert!(length <= CHARACTERS_OF_A_SUBJECT, "{length} characters: {subject}");
    }
}
