//! Writes the table of the console's built files, because their names contain hashes.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The built files, relative to this crate.
const DIST: &str = "console/dist";
/// The directories of the built files.
const DIRECTORIES: [&str; 2] = ["", "assets/"];

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script all by its environment")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut names = Vec::new();
    for directory in DIRECTORIES {
        let path = format!("{DIST}/{directory}");
        println!("cargo:rerun-if-changed={path}");
        let unreadable = |error| format!("cannot read {path}: {error}");
        for entry in fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(format!("{directory}{}", entry.file_name().display()));
            }
        }
    }
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let root = r#"env!("CARGO_MANIFEST_DIR")"#;
        let bytes = format!(r#"include_bytes!(concat!({root}, "/{DIST}/{name}"))"#);
        writeln!(table, "    ({name:?}, {bytes}),")?;
    }
    table.push_str("]\n");
    let output = std::env::var("OUT_DIR")?;
    fs::write(Path::new(&output).join("files.rs"), table)?;
    Ok(())
}
