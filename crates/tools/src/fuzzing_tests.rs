use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(root().join("tests/corpus").join(folder)).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn fuzzing_has_a_target_for_every_entry_point() {
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let target = root().join(format!("fuzz/fuzz_targets/{name}.rs"));
        let target = std::fs::read_to_string(target).unwrap();
        assert!(target.contains(&format!("avocet_tools::fuzzing::fuzz_{name}(")), "{target}");
        assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name} is in no [[bin]]");
    }
}

#[test]
fn patch_parses_every_patch_of_the_corpus() {
    for text in corpus("patches") {
        assert!(parse_patch(&String::from_utf8(text.clone()).unwrap()).is_ok());
        fuzz_patch(&text);
    }
}

#[test]
fn html_accepts_every_page_of_the_corpus() {
    corpus("pages").iter().for_each(|page| fuzz_html(page));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn patch_accepts_mutated_patches_of_the_corpus(
        input in select(corpus("patches")),
        (from, to, at) in any::<(Index, Index, Index)>(),
        more in select(vec!["@@ -1 +1 @@\n", "+", "-", "\\", "\r", "\n", "--- a\n", "0", "é", "\0"]),
    ) {
        let mut data = input;
        let (from, to) = (from.index(data.len() + 1), to.index(data.len() + 1));
        if to.saturating_sub(from) < 20 {
            data.drain(from.min(to)..from.max(to));
        }
        let at = at.index(data.len() + 1);
        drop(data.splice(at..at, more.bytes()));
        fuzz_patch(&data);
    }

    #[test]
    fn html_accepts_mutated_pages_of_the_corpus(
        input in select(corpus("pages")),
        (from, to, at) in any::<(Index, Index, Index)>(),
        more in select(vec![
            "<", ">", "</", "<!--", "-->", "\"", "'", "&#", "<table>", "<p>", "</p>", "<b>", "<a href=",
            "<script>", "<svg>", "<template>", "<li>", "<pre>", "\0", "\u{fffd}", "é",
        ]),
        times in 1..50_usize,
    ) {
        let mut data = input;
        let (from, to) = (from.index(data.len() + 1), to.index(data.len() + 1));
        data.drain(from.min(to)..from.max(to).min(from.min(to) + 200));
        let at = at.index(data.len() + 1);
        drop(data.splice(at..at, more.repeat(times).bytes()));
        fuzz_html(&data);
    }

    #[test]
    fn html_accepts_any_bytes(data in proptest::collection::vec(any::<u8>(), 0..2000)) {
        fuzz_html(&data);
    }
}
