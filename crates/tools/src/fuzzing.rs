//! What is run on any bytes, by the fuzz targets in `fuzz/` and by ordinary tests: each entry point reads
//! them in its way, and panics where what always has to hold does not.

use avocet_net::Url;
use avocet_protocol::{Leaving, Redactor, Secret, Seen};

use crate::builtin::{read_as_git, read_as_tests};
use crate::leaks::{Known, find};
use crate::patch::{Change, Hunk, apply, parse};
use crate::web::charset::decode;
use crate::web::html::readable;
use crate::web::json::pretty;
use crate::web::plain;

/// Reads bytes, and panics if that is wrong.
pub type EntryPoint = fn(&[u8]);

/// Every entry point by the name of its fuzz target.
pub const TARGETS: [(&str, EntryPoint); 5] = [
    ("git_output", git_output),
    ("html", html),
    ("leaks", leaks),
    ("patch", patch),
    ("test_output", test_output),
];

/// A page: it is read, by each way there is, and does not become more than its nesting explains.
pub fn html(data: &[u8]) {
    let html = decode(data, None);
    let words = plain::plain(&html);
    assert!(words.text.len() <= html.len() && words.title.len() <= html.len(), "{words:?}");
    let url = Url::parse("https://avocet.dev/a/b").expect("a URL");
    if let Some(page) = readable(&html, &url, &|| false) {
        assert!(page.markdown.len() <= 1024 * (html.len() + 1), "{} bytes", page.markdown.len());
    }
    if let Ok(lines) = pretty(&html) {
        assert_eq!(pretty(&lines).ok(), Some(lines));
    }
}

/// What git prints, as each of its tools reads it.
pub fn git_output(data: &[u8]) {
    read_as_git(&String::from_utf8_lossy(data));
}

/// What tests print, as every runner's: no more is told of it than can be read.
pub fn test_output(data: &[u8]) {
    read_as_tests(&String::from_utf8_lossy(data));
}

/// A text that is about to leave: a secret in it is found, and never shown.
pub fn leaks(data: &[u8]) {
    const SECRET: &str = "tr0ub4dor&3";
    let text = String::from_utf8_lossy(data);
    let redactor = Redactor::new([Secret::new(SECRET.to_owned())]);
    let leaving = Leaving::Text(format!("{text}{SECRET}"));
    let leaks = find(&leaving, &redactor, &Known::new(&Seen::default(), &[]));
    assert!(leaks.iter().any(|leak| leak.shown.starts_with("tr0u… (11 ")), "{leaks:?}");
    assert!(!leaks.iter().any(|leak| leak.shown.contains(SECRET)), "{leaks:?}");
    assert!(!redactor.redact(&text).contains(SECRET));
}

/// A patch: each hunk of it makes of its own old lines its own new ones.
pub fn patch(data: &[u8]) {
    let Ok(files) = parse(&String::from_utf8_lossy(data)) else { return };
    assert!(!files.is_empty());
    for file in files {
        let has = (file.change.old().is_some(), file.change.new_path().is_some());
        assert!(has.0 || has.1, "{file:?}");
        assert_eq!(
            has == (true, true),
            !matches!(file.change, Change::Create(_) | Change::Delete(_))
        );
        file.hunks.into_iter().for_each(fits_itself);
    }
}

fn fits_itself(hunk: Hunk) {
    // Written as lines, what ends in one more would be read as a line end.
    if hunk.old().chain(hunk.new_lines()).any(|line| plain(line).ends_with('\r')) {
        return;
    }
    let text = |lines: &mut dyn Iterator<Item = &str>| {
        lines.map(|line| format!("{}\n", plain(line))).collect::<String>()
    };
    let (old, new) = (text(&mut hunk.old()), text(&mut hunk.new_lines()));
    let start = usize::from(!old.is_empty());
    let hunk = Hunk { start, is_open: (false, false), ..hunk };
    match apply(&old, std::slice::from_ref(&hunk)) {
        Ok(applied) => assert_eq!((applied.text, applied.moved), (new, Vec::new()), "{hunk:?}"),
        Err(error) => panic!("{error}: {hunk:?}"),
    }
}

/// A line as it is compared.
fn plain(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
#[path = "fuzzing_tests.rs"]
mod tests;
