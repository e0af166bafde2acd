//! Finds the files that were probably meant when a path does not exist.

use std::path::Path;

use cap_std::fs::Dir;

/// Entries that are searched; of a larger workspace, a part is searched.
const LOOK_AT: usize = 20_000;
/// Candidates that are named.
const NAMED: usize = 5;
/// Large directories that no caller means.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];
/// Minimum similarity of names, from 0 to 1.
const ALIKE: f64 = 0.75;

/// Returns the nearest matches by full relative path: first the same name elsewhere, then similar
/// ones.
pub(crate) fn find_nearest_paths(root: &Dir, wanted: &Path) -> Vec<String> {
    let wanted = wanted.to_string_lossy().to_lowercase();
    let wanted_name = name_of(&wanted);
    let mut found: Vec<(f64, String)> = Vec::new();
    for path in list_all_paths(root) {
        let lower = path.to_lowercase();
        let score = if name_of(&lower) == wanted_name {
            1.0 + strsim::jaro_winkler(&lower, &wanted)
        } else {
            strsim::jaro_winkler(name_of(&lower), wanted_name)
        };
        if score >= ALIKE {
            found.push((score, path));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    found.truncate(NAMED);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns the paths that end in the same name, nearest to the root first.
pub(crate) fn same_name(root: &Dir, path: &str) -> Vec<String> {
    let wanted = name_of(path);
    let same =
        list_all_paths(root).into_iter().filter(|path| name_of(path).eq_ignore_ascii_case(wanted));
    same.take(NAMED).collect()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Lists files and directories, nearest to the root first. Links are listed but not followed.
fn list_all_paths(root: &Dir) -> Vec<String> {
    let mut paths = Vec::new();
    let mut open = vec![String::new()];
    while let Some(directory) = open.pop() {
        let below = if directory.is_empty() { "." } else { &directory };
        let Ok(entries) = root.read_dir(below) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if paths.len() == LOOK_AT {
                return paths;
            }
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && !SKIPPED.contains(&name_of(&path)) {
                open.insert(0, path.clone());
            }
            paths.push(path);
        }
    }
    paths
}
