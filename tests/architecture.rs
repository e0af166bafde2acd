//! Holds ARCHITECTURE.md equal to the workspace: every crate has its row with an invariant, every
//! dependency its place in the table, every manifest the workspace's lints. Inside of a crate, files
//! form no large circles; the folders of the program use each other as their table says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/folders.rs"]
mod folders;
#[path = "architecture/module_text.rs"]
mod module_text;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use circles::{Circle, Modules};

const ARCHITECTURE: &str = include_str!("../ARCHITECTURE.md");
/// Crates that tests of any crate may use beside its row.
const FOR_TESTS: [&str; 3] = ["store", "supervise", "testkit"];
/// The most files that a circle has: files of one crate that import each other. Lower the
/// number with each circle that is cut.
const MOST_FILES_IN_CIRCLE: usize = 6;
/// The most circles of all crates.
const MOST_CIRCLES: usize = 5;

fn workspace() -> Metadata {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap()
}

/// Returns the folder of a package in the table's form: `crates/store`, `tests`.
fn folder(metadata: &Metadata, package: &Package) -> String {
    let below = package.manifest_path.strip_prefix(&metadata.workspace_root).unwrap();
    below.parent().unwrap().to_string()
}

/// Returns the bare name of one of our packages, which is its folder's name.
fn bare(name: &str) -> Option<&str> {
    if name == "avocet" { Some(name) } else { name.strip_prefix("avocet-") }
}

/// A row of the table of crates.
struct CrateRow {
    edges: BTreeSet<String>,
    purpose: String,
}

/// The table of crates, by folder.
fn table() -> BTreeMap<String, CrateRow> {
    let rows = ARCHITECTURE.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    rows.map_while(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split('|').map(str::trim);
        let [name, edges, purpose] = [cells.next()?, cells.next()?, cells.next()?];
        let edges = edges.split(',').map(|edge| edge.trim().to_owned());
        let edges = edges.filter(|edge| !edge.is_empty()).collect();
        Some((name.to_owned(), CrateRow { edges, purpose: purpose.to_owned() }))
    })
    .collect()
}

/// Returns the crates on which a crate may depend. `plugins/*` stands for every crate there.
fn allowed_edges(table: &BTreeMap<String, CrateRow>, name: &str) -> BTreeSet<String> {
    let mut allowed = table[name].edges.clone();
    if allowed.remove("plugins/*") {
        let plugins = table.keys().filter_map(|name| name.strip_prefix("plugins/"));
        allowed.extend(plugins.map(str::to_owned));
    }
    allowed
}

#[test]
fn crate_table_lists_every_crate() {
    let metadata = workspace();
    let here: BTreeSet<String> =
        metadata.packages.iter().map(|package| folder(&metadata, package)).collect();
    assert_eq!(table().into_keys().collect::<BTreeSet<_>>(), here);
}

#[test]
fn crate_table_lists_every_dependency() {
    let (metadata, table) = (workspace(), table());
    for package in &metadata.packages {
        let name = folder(&metadata, package);
        let (mut used, allowed) = (BTreeSet::new(), allowed_edges(&table, &name));
        for dependency in &package.dependencies {
            let Some(edge) = bare(&dependency.name) else { continue };
            let for_tests = dependency.kind == DependencyKind::Development;
            used.insert(edge.to_owned());
            let for_tests =
                for_tests && (FOR_TESTS.contains(&edge) || dependency.name == *package.name);
            let fits = allowed.contains(edge) || for_tests;
            assert!(fits, "{name} must not depend on {edge}: see ARCHITECTURE.md");
        }
        let unused: Vec<_> = allowed.difference(&used).collect();
        assert!(unused.is_empty(), "{name} does not depend on {unused:?}: ARCHITECTURE.md says so");
    }
}

#[test]
fn test_features_are_off_in_every_program() {
    let metadata = workspace();
    let programs = metadata.packages.iter().filter(|one| folder(&metadata, one) != "tests");
    for package in programs {
        for dependency in &package.dependencies {
            let for_tests = dependency.kind == DependencyKind::Development;
            let fits = for_tests || !dependency.features.iter().any(|one| is_for_tests(one));
            assert!(fits, "{} has {:?} for good", package.name, dependency.features);
        }
        let default = default_features(&package.features);
        let for_tests: Vec<_> = default.iter().filter(|feature| is_for_tests(feature)).collect();
        assert!(for_tests.is_empty(), "{} has {for_tests:?} on by default", package.name);
    }
}

/// Returns `true` for a feature that tests need, with or without its package: `avocet-net/testing`.
fn is_for_tests(feature: &str) -> bool {
    let name = feature.rsplit('/').next().unwrap_or(feature);
    ["fail-points", "testing"].contains(&name)
}

/// Returns the features that `default` turns on, directly or by others.
fn default_features(features: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec!["default".to_owned()]);
    while let Some(feature) = next.pop() {
        let further = features.get(&feature).cloned().unwrap_or_default();
        next.extend(further.into_iter().filter(|one| found.insert(one.clone())));
    }
    found
}

#[test]
fn default_features_are_followed_to_the_features_for_tests() {
    let features = [("default", vec!["full"]), ("full", vec!["acp", "avocet-net/testing"])];
    let features = features
        .map(|(name, wanted)| (name.to_owned(), wanted.into_iter().map(str::to_owned).collect()));
    let found = default_features(&features.into());
    let for_tests: Vec<_> = found.iter().filter(|one| is_for_tests(one)).collect();
    assert_eq!(for_tests, ["avocet-net/testing"]);
}

#[test]
fn crate_table_rows_end_in_an_invariant() {
    for (name, CrateRow { purpose, .. }) in table() {
        let (what_it_does, invariant) = purpose.split_once(". *").unwrap_or_default();
        let is_whole = !what_it_does.is_empty() && invariant.ends_with(".*");
        assert!(is_whole, "{name}: {purpose:?} is not a purpose and an *invariant*");
    }
}

#[test]
fn manifests_inherit_the_workspace_lints() {
    for package in &workspace().packages {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        let says_so = manifest.contains("\n[lints]\nworkspace = true\n");
        assert!(says_so, "{}: without `[lints] workspace = true`", package.manifest_path);
    }
}

/// Returns the circles of every crate, the largest first.
fn all_circles() -> Vec<Circle> {
    let mut found = Vec::new();
    for package in &workspace().packages {
        let source = package.manifest_path.parent().unwrap().join("src");
        let roots = ["lib.rs", "main.rs"].map(|root| source.join(root));
        for root in roots.iter().filter(|root| root.exists()) {
            found.extend(Modules::read(root.as_std_path()).circles());
        }
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    found
}

/// Prints the circles: `cargo test -p avocet-tests --test architecture circles -- --nocapture`.
#[test]
fn files_of_a_crate_form_few_and_small_circles() {
    let circles = all_circles();
    for Circle { files, arrows } in &circles {
        println!("circle of {} files:\n  {}", files.len(), arrows.join("\n  "));
    }
    let largest = circles.first().map_or(0, |circle| circle.files.len());
    println!("{} circles, the largest of {largest} files", circles.len());
    assert!(largest <= MOST_FILES_IN_CIRCLE, "a circle has {largest} files");
    assert!(circles.len() <= MOST_CIRCLES, "{} circles", circles.len());
}

#[test]
fn rust_files_begin_with_a_module_comment() {
    for package in &workspace().packages {
        let root = package.manifest_path.parent().unwrap();
        for path in rust_files(root.as_std_path()) {
            // Test files beside a source file need no `//!`.
            if path.to_string_lossy().ends_with("_tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//! "), "{} begins without //!", path.display());
        }
    }
}

fn rust_files(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(std::path::Path::new(ROOT).join(path)).unwrap()
}

/// Returns the number of lines of a file that contain one of these texts.
fn lines_naming(path: &str, texts: &[&str]) -> usize {
    let names = |line: &&str| texts.iter().any(|text| line.contains(text));
    read(path).lines().filter(names).count()
}

/// The files that name the smallest channel outside its folder are those that the page of the book
/// lists, so that its list of changes is complete.
#[test]
fn channel_recipe_lists_every_file_that_names_a_channel() {
    let names = ["avocet-directory", "avocet_directory", "DirectorySide"];
    let root = std::path::Path::new(ROOT);
    let roots = ["crates", "plugins", "tests"].map(|folder| rust_files(&root.join(folder)));
    let mut files: Vec<String> = roots.iter().flatten().map(|path| below_root(path)).collect();
    let manifests = workspace().packages.into_iter();
    files.extend(manifests.map(|package| below_root(package.manifest_path.as_ref())));
    files.push("Cargo.toml".to_owned());
    let is_own = |path: &str| path.starts_with("plugins/directory/");
    let mut found: BTreeSet<String> =
        files.into_iter().filter(|path| !is_own(path) && lines_naming(path, &names) > 0).collect();
    // This test names the channel, too.
    found.remove("tests/architecture.rs");
    let others = [
        ("config.example.toml", "[channels.directory]"),
        ("ARCHITECTURE.md", "| plugins/directory |"),
        ("tests/service/contract.rs", "mod directory;"),
    ];
    for (path, line) in others {
        found.extend((lines_naming(path, &[line]) > 0).then(|| path.to_owned()));
    }
    let page = read("docs/src/build/channel.md");
    let rows = page.lines().skip_while(|line| *line != "| file | change |").skip(2);
    let mut listed: BTreeSet<String> = rows
        .map_while(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    assert!(
        listed.remove("plugins/NAME/") && listed.remove("tests/service/contract/"),
        "{listed:?}"
    );
    listed.insert("tests/service/contract/directory.rs".to_owned());
    assert_eq!(found, listed);
    for path in ["crates/avocet/Cargo.toml", "crates/avocet/src/registry.rs"] {
        assert_eq!(lines_naming(path, &names), 1, "{path}: the recipe says one line");
    }
}

fn below_root(path: &std::path::Path) -> String {
    let (path, root) = (path.canonicalize().unwrap(), std::path::Path::new(ROOT).canonicalize());
    path.strip_prefix(root.unwrap()).unwrap().to_string_lossy().into_owned()
}

#[test]
fn tool_recipe_tells_the_lines_that_name_a_tool() {
    let page = read("docs/src/build/tool.md");
    let list = "crates/tools/src/builtin/mod.rs";
    let names = "crates/tools/src/builtin/names.rs";
    assert!(page.contains(&format!("Add two lines to `{list}`")));
    assert!(page.contains("to `BUILT_IN` in `names.rs`"));
    for tool in ["outline", "read_result", "use_skill", "write_file"] {
        for (file, line) in [(list, format!("mod {tool};")), (names, format!("\"{tool}\","))] {
            assert_eq!(lines_naming(file, &[&line]), 1, "{line}");
        }
        // A file tool stands in its frame.
        let added =
            ["", "FileTool::new("].map(|frame| format!("registry.add_tool({frame}{tool}::"));
        assert_eq!(lines_naming(list, &added.each_ref().map(String::as_str)), 1, "{added:?}");
    }
}

#[test]
fn provider_recipe_tells_the_lines_that_name_a_provider() {
    let page = read("docs/src/build/provider.md");
    let table = [
        (
            "crates/avocet/src/registry.rs",
            "ProviderKind::for_config::<avocet_llm::GeminiConfig>(),",
        ),
        ("crates/llm/src/lib.rs", "mod gemini;"),
        ("crates/llm/src/lib.rs", "pub use gemini::"),
        ("crates/testkit/src/", "pub mod gemini;"),
        ("contract/wires.rs", "mod gemini;"),
        ("crates/llm/src/fuzzing/answers.rs", "google::answer::"),
        ("crates/llm/src/fuzzing_tests.rs", "is_read::<gemini::"),
    ];
    for (named, line) in table {
        assert!(page.contains(&format!("`{named}`")), "the page lacks {named}");
        let file = match named {
            "crates/testkit/src/" => "crates/testkit/src/lib.rs",
            "contract/wires.rs" => "crates/llm/src/contract/wires.rs",
            file => file,
        };
        assert_eq!(lines_naming(file, &[line]), 1, "{file}: {line}");
    }
    assert_eq!(lines_naming("crates/avocet/src/registry.rs", &["GeminiConfig"]), 1);
}

/// A crate that names the fake of a platform in its dependencies builds it. Only the channel of the
/// platform and the whole-program tests do.
#[test]
fn testkit_builds_a_platform_only_for_its_channel() {
    let metadata = workspace();
    for package in &metadata.packages {
        let name = folder(&metadata, package);
        for dependency in package.dependencies.iter().filter(|one| one.name == "avocet-testkit") {
            for platform in ["discord", "telegram"] {
                let is_built = dependency.features.iter().any(|feature| feature == platform);
                let may = ["crates/testkit", "tests", &format!("plugins/{platform}")];
                assert!(!is_built || may.contains(&name.as_str()), "{name} builds {platform}");
            }
        }
    }
}
