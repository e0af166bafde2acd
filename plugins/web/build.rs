//! Compresses the console's built files, and writes the table of them, because their names contain
//! hashes.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use miniz_oxide::deflate::compress_to_vec;

/// The built files, relative to this crate.
const DIST: &str = "console/dist";
/// The directories of the built files.
const DIRECTORIES: [&str; 2] = ["", "assets/"];
/// The ends of the names of files that are worth the compression. Fonts and pictures are compressed.
const TEXTS: [&str; 4] = [".css", ".js", ".json", ".svg"];
/// The highest level of the compressor that still takes little time.
const LEVEL: u8 = 9;
/// The bytes below which a file stays as it is.
const SMALL: usize = 1024;

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
    let output = std::env::var("OUT_DIR")?;
    let mut table = String::from("&[\n");
    for (number, name) in names.iter().enumerate() {
        let bytes = fs::read(format!("{DIST}/{name}"))?;
        if bytes.len() >= SMALL && TEXTS.iter().any(|end| name.ends_with(end)) {
            let place = Path::new(&output).join(format!("{number}.gz"));
            fs::write(&place, gzip(&bytes)?)?;
            writeln!(table, "    ({name:?}, include_bytes!({place:?}), true),")?;
        } else {
            let root = r#"env!("CARGO_MANIFEST_DIR")"#;
            let bytes = format!(r#"include_bytes!(concat!({root}, "/{DIST}/{name}"))"#);
            writeln!(table, "    ({name:?}, {bytes}, false),")?;
        }
    }
    table.push_str("]\n");
    fs::write(Path::new(&output).join("files.rs"), table)?;
    Ok(())
}

/// Returns a file of gzip (RFC 1952) without a name and a time, so that the same bytes give the same file.
fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    file.extend(compress_to_vec(bytes, LEVEL));
    file.extend(crc32(bytes).to_le_bytes());
    file.extend(u32::try_from(bytes.len())?.to_le_bytes());
    Ok(file)
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}
