//! The page `notices.md` of the book lists all texts that the program sends into chats.

use std::fs;
use std::path::Path;

use avocet_protocol::chat::notices;
use regex::Regex;

use super::{files, root};

/// Crates whose texts go to chats.
const SENDERS: [&str; 7] = [
    "crates/bus/src",
    "crates/channel-kit/src",
    "crates/outbox/src",
    "crates/session/src",
    "crates/store/src",
    "crates/tools/src",
    "plugins/",
];

/// The production code of a file: tests in the same file come last.
fn production_code(path: &Path) -> String {
    let text = fs::read_to_string(root().join(path)).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

fn is_test(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.contains("test") || name.contains("harness") || name.contains("/benches/")
}

#[test]
fn notices_page_lists_every_notice_with_its_readers() {
    let page = fs::read_to_string(root().join("docs/src/use/notices.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        (cells.len() == 3 && cells[0] != "Text").then(|| (cells[0], cells[1]))
    });
    let listed: Vec<(String, String)> =
        rows.map(|(name, readers)| (name.to_owned(), readers.to_owned())).collect();
    let words = |notice: &notices::ListedNotice| {
        (notice.name.to_owned(), notice.readers.join(", ").to_lowercase())
    };
    assert_eq!(listed, notices::ALL.iter().map(words).collect::<Vec<_>>());
}

#[test]
fn notices_are_the_only_texts_of_the_program_in_chats() {
    let own_text =
        Regex::new(r#"Content::text\(\s*(format!|"[^"/]|[A-Z][A-Z_]+\b|describe_)"#).unwrap();
    let used = Regex::new(r"notices::([A-Z][A-Za-z]+)").unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for path in files("rs").into_iter().filter(|path| !is_test(path)) {
        if !SENDERS.iter().any(|sender| path.starts_with(sender)) {
            continue;
        }
        let code = production_code(&path);
        let own = own_text.find(&code).map(|found| found.as_str());
        assert_eq!(own, None, "{}: take a notice for a text of the program", path.display());
        seen.extend(used.captures_iter(&code).map(|found| found[1].to_owned()));
    }
    let names = notices::ALL.iter().map(|notice| notice.code_name);
    let unused: Vec<&str> = names.filter(|name| !seen.contains(*name)).collect();
    assert_eq!(unused, Vec::<&str>::new(), "no code sends these");
}
