use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all quoted strings in the corpus of escapes: paths, and the steps that make them.
fn corpus() -> Vec<String> {
    let file = root().join("tests/corpus/escapes/paths.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let quoted = text.lines().flat_map(|line| line.split(['"', '\'']).skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

#[test]
fn fuzzing_has_a_target_for_every_entry_point() {
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let target = root().join(format!("fuzz/fuzz_targets/{name}.rs"));
        let target = std::fs::read_to_string(target).unwrap();
        assert!(target.contains(&format!("avocet_sandbox::fuzzing::fuzz_{name}(")), "{target}");
        assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name} is in no [[bin]]");
    }
}

#[test]
fn path_accepts_the_corpus() {
    corpus().iter().for_each(|text| fuzz_path(text.as_bytes()));
}

proptest! {
    #[test]
    fn path_accepts_any_bytes(data in prop::collection::vec(any::<u8>(), 0..100)) {
        fuzz_path(&data);
    }

    #[test]
    fn path_accepts_odd_names(text in r"(/work/space|/link/to|[./a \u{0}\u{301}.ENVenv~\\-]){0,20}") {
        fuzz_path(text.as_bytes());
    }

    #[test]
    fn path_accepts_mutated_paths_of_the_corpus(
        text in select(corpus()),
        more in select(corpus()),
        (at, from) in any::<(Index, Index)>(),
    ) {
        let (text, more) = (text.into_bytes(), more.into_bytes());
        let (at, from) = (at.index(text.len() + 1), from.index(more.len() + 1));
        fuzz_path(&[&text[..at], &more[from..]].concat());
        fuzz_path(&[&text[..at], &more[from..], &text[at..]].concat());
    }
}
