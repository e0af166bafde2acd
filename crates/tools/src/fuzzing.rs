//! Entry points for the fuzz targets in `fuzz/` and for ordinary tests. Each reads arbitrary bytes
//! and panics if an invariant is violated.

use avocet_net::Url;
use avocet_protocol::tool::{Leaving, Seen};
use avocet_text::{Redactor, Secret};

use crate::builtin::{read_as_git, read_as_tests};
use crate::leaks::{KnownHosts, find_leaks};
use crate::patch::{FileChange, PatchHunk, apply_hunks, parse_patch};
use crate::web::charset::decode_page;
use crate::web::html::read_page;
use crate::web::json::pretty_json;
use crate::web::plain;

/// Reads arbitrary bytes, and panics if an invariant is violated.
pub type ToolsFuzzTarget = fn(&[u8]);

/// Every entry point by the name of its fuzz target.
pub const TARGETS: [(&str, ToolsFuzzTarget); 5] = [
    ("git_output", fuzz_git_output),
    ("html", fuzz_html),
    ("leaks", fuzz_leaks),
    ("patch", fuzz_patch),
    ("test_output", fuzz_test_output),
];

/// Reads a web page in every way. The output must stay in proportion to the page's nesting.
pub fn fuzz_html(data: &[u8]) {
    let html = decode_page(data, None);
    let words = plain::plain_page(&html);
    // The longest growth: `&nGt;` has 5 bytes, and its characters have 6.
    let most = 2 * html.len();
    assert!(words.text.len() <= most && words.title.len() <= most, "{words:?}");
    let url = Url::parse("https://avocet.dev/a/b").expect("a URL");
    if let Some(page) = read_page(&html, &url, &|| false) {
        assert!(page.markdown.len() <= 1024 * (html.len() + 1), "{} bytes", page.markdown.len());
    }
    if let Ok(lines) = pretty_json(&html) {
        assert_eq!(pretty_json(&lines).ok(), Some(lines));
    }
}

/// Reads git output with the parser of each git tool.
pub fn fuzz_git_output(data: &[u8]) {
    read_as_git(&String::from_utf8_lossy(data));
}

/// Reads test output with the parser of each test framework. The report must stay within its
/// limits.
pub fn fuzz_test_output(data: &[u8]) {
    read_as_tests(&String::from_utf8_lossy(data));
}

/// Checks a text for leaks. A secret in it must be found, and must never be shown.
pub fn fuzz_leaks(data: &[u8]) {
    const SECRET: &str = "tr0ub4dor&3";
    let text = String::from_utf8_lossy(data);
    let redactor = Redactor::new([Secret::new(SECRET.to_owned())]);
    let leaving = Leaving::Text(format!("{text}{SECRET}"));
    let leaks = find_leaks(&leaving, &redactor, &KnownHosts::new(&Seen::default(), &[]));
    assert!(leaks.iter().any(|leak| leak.shown.starts_with("tr0u… (11 ")), "{leaks:?}");
    assert!(!leaks.iter().any(|leak| leak.shown.contains(SECRET)), "{leaks:?}");
    assert!(!redactor.redact(&text).contains(SECRET));
}

/// Parses a patch. Each hunk, applied to its own old lines, must give its own new lines.
pub fn fuzz_patch(data: &[u8]) {
    let Ok(files) = parse_patch(&String::from_utf8_lossy(data)) else { return };
    assert!(!files.is_empty());
    for file in files {
        let has = (file.change.old_path().is_some(), file.change.new_path().is_some());
        assert!(has.0 || has.1, "{file:?}");
        assert_eq!(
            has == (true, true),
            !matches!(file.change, FileChange::Create(_) | FileChange::Delete(_))
        );
        file.hunks.into_iter().for_each(fits_itself);
    }
}

fn fits_itself(hunk: PatchHunk) {
    // Skip lines that end in another `\r`: written as text, it would join the line end.
    if hunk.old_lines().chain(hunk.new_lines()).any(|line| plain_line(line).ends_with('\r')) {
        return;
    }
    let text = |lines: &mut dyn Iterator<Item = &str>| {
        lines.map(|line| format!("{}\n", plain_line(line))).collect::<String>()
    };
    let (old, new) = (text(&mut hunk.old_lines()), text(&mut hunk.new_lines()));
    let start = usize::from(!old.is_empty());
    let hunk = PatchHunk { start, is_open: (false, false), ..hunk };
    match apply_hunks(&old, std::slice::from_ref(&hunk)) {
        Ok(applied) => assert_eq!((applied.text, applied.moved), (new, Vec::new()), "{hunk:?}"),
        Err(error) => panic!("{error}: {hunk:?}"),
    }
}

/// A line without `\r` at its end, for comparison.
fn plain_line(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
