//! The pictures in the book. Tests draw them from real runs, so they cannot become outdated.

use std::fs;
use std::path::Path;

/// With `UPDATE_SCREENS=1`, the tests draw the pictures again.
const UPDATE: &str = "UPDATE_SCREENS";

/// Checks a picture of the book against one from a run.
///
/// # Panics
/// If they differ.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a person asks for new pictures")]
pub fn assert_picture(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/images").join(name);
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, picture).unwrap();
    }
    let drawn = fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == picture, "{name} differs from the run; draw it anew with {UPDATE}=1");
}

/// Replaces the signs of XML, and spaces, which XML collapses.
#[must_use]
pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}
