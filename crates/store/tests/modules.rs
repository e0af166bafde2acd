//! Checks that the modules of the crate have no circular dependencies, so that each can be read after
//! the modules that it uses.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Returns the top-level modules, and the modules that each of them uses. A submodule counts as its parent.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = code(&source.join("lib.rs"));
    let modules = root.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let modules: BTreeSet<&str> = modules.filter(|name| *name != "tests").collect();
    // Types that the root exports again.
    let exported: BTreeMap<&str, &str> = root
        .lines()
        .filter_map(|line| line.strip_prefix("pub use ")?.split_once("::"))
        .flat_map(|(module, names)| words(names).map(move |name| (name, module)))
        .collect();
    let used_by = |name: &&str| {
        let mut text = code(&source.join(format!("{name}.rs")));
        if let Ok(entries) = fs::read_dir(source.join(name)) {
            let files = entries.map(|entry| entry.unwrap().path());
            let files = files.filter(|path| !path.to_string_lossy().ends_with("_tests.rs"));
            files.for_each(|path| text.push_str(&code(&path)));
        }
        let used = text.split("crate::").skip(1).flat_map(|path| match path.strip_prefix('{') {
            Some(names) => words(names.split('}').next().unwrap_or_default()).collect::<Vec<_>>(),
            None => words(path).take(1).collect(),
        });
        let used = used.map(|word| *exported.get(word).unwrap_or(&word));
        let used = used.filter(|word| modules.contains(word) && word != name);
        ((*name).to_owned(), used.map(str::to_owned).collect())
    };
    modules.iter().map(used_by).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The lines of a file without comments and unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn modules_have_no_circular_dependencies() {
    let mut open = uses();
    assert!(open["accept"].contains("rows"), "{open:?}");
    loop {
        let names: BTreeSet<String> = open.keys().cloned().collect();
        let before = open.len();
        open.retain(|_, used| !used.is_disjoint(&names));
        if open.len() == before {
            break;
        }
    }
    let circle: BTreeSet<&String> = open.keys().collect();
    assert!(
        circle.is_empty(),
        "circular dependencies, and the modules that lead to them: {circle:?}"
    );
}
