//! The chapter "Add a channel" of the book shows the files of this crate.

use std::fs;
use std::path::Path;

const CHAPTER: &str = include_str!("../../../../docs/src/build/channel.md");
const REGISTRY: &str = include_str!("../../../../crates/avocet/src/registry.rs");
/// The files that the chapter describes and does not show.
const DESCRIBED: [&str; 2] = ["folders.rs", "lib.rs"];

#[test]
fn chapter_shows_the_files_of_the_channel() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(CHAPTER.contains(&format!("| `{name}` |")), "the chapter lacks {name}");
        let shown = format!("### `{name}`\n");
        let file = fs::read_to_string(&path).unwrap();
        let is_equal = CHAPTER.contains(&format!("```rust\n{file}```\n"));
        assert_eq!(CHAPTER.contains(&shown), is_equal, "{name} differs in the chapter");
        assert_ne!(is_equal, DESCRIBED.contains(&name), "{name}");
    }
}

#[test]
fn chapter_shows_the_line_in_the_registry() {
    let begin = "    ChannelKind::for_config::<avocet_directory::DirectoryConfig>";
    let line = |text: &'static str| text.lines().find(|line| line.starts_with(begin));
    assert!(line(CHAPTER).is_some() && line(CHAPTER) == line(REGISTRY), "the lines differ");
}
