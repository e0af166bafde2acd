//! What is run on any bytes, by the fuzz targets in `fuzz/` and by ordinary tests: each entry point reads
//! them in its way, and panics where what always has to hold does not.

use avocet_protocol::{Redactor, Secret};

use crate::leaks::find;
use crate::patch::{Change, Hunk, apply, parse};

/// Reads bytes, and panics if that is wrong.
pub type EntryPoint = fn(&[u8]);

/// Every entry point by the name of its fuzz target.
pub const TARGETS: [(&str, EntryPoint); 2] = [("leaks", leaks), ("patch", patch)];

/// A text that is about to leave: a secret in it is found, and never shown.
pub fn leaks(data: &[u8]) {
    const SECRET: &str = "tr0ub4dor&3";
    let text = String::from_utf8_lossy(data);
    let redactor = Redactor::new([Secret::new(SECRET.to_owned())]);
    let leaks = find(&format!("{text}{SECRET}"), &redactor, &|_| false);
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
