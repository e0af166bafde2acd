//! Holds the table of the folders of `crates/avocet` in ARCHITECTURE.md equal to the imports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::circles::Modules;
use crate::{ARCHITECTURE, ROOT};

/// The files beside the folders that may use them: they lead from the command line to a command.
const ABOVE: [&str; 2] = ["command_line.rs", "lib.rs"];

/// Folders, each with the folders that it uses.
type FolderArrows = BTreeMap<String, BTreeSet<String>>;

/// Returns the table of folders.
fn folder_table() -> FolderArrows {
    let rows = ARCHITECTURE.lines().skip_while(|line| !line.starts_with("| folder |")).skip(2);
    rows.map_while(|line| {
        let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
        let (name, used) = (cells.next()?.to_owned(), cells.next()?);
        let used = used.split(',').map(|one| one.trim().to_owned());
        Some((name, used.filter(|one| !one.is_empty()).collect()))
    })
    .collect()
}

/// Reads the modules below the folder of the program's source.
fn read_program(source: &Path) -> Modules {
    Modules::read(&source.join("lib.rs"))
}

/// Returns the folder of a file, or the name of a file beside the folders.
fn folder_of(file: &Path, source: &Path) -> String {
    let below = file.strip_prefix(source).unwrap();
    below.components().next().unwrap().as_os_str().to_string_lossy().into_owned()
}

#[test]
fn folders_of_the_program_use_each_other_as_the_table_says() {
    let table = folder_table();
    assert!(table.len() > 1, "ARCHITECTURE.md has no table of folders");
    let source = Path::new(ROOT).join("crates/avocet/src");
    let mut found: FolderArrows =
        table.keys().map(|folder| (folder.clone(), BTreeSet::new())).collect();
    for (from, targets) in read_program(&source).arrows() {
        for (to, paths) in targets {
            let (user, used) = (folder_of(&from, &source), folder_of(&to, &source));
            if user == used || !table.contains_key(&used) || ABOVE.contains(&user.as_str()) {
                continue;
            }
            let from = from.display();
            let allowed = table.get(&user).is_some_and(|row| row.contains(&used));
            assert!(allowed, "{from} must not use {used}: {paths:?}; see ARCHITECTURE.md");
            found.entry(user).or_default().insert(used);
        }
    }
    assert_eq!(found, table, "ARCHITECTURE.md lists an arrow that no import needs");
}

#[test]
fn folder_table_has_no_circle() {
    let mut open = folder_table();
    while let Some(leaf) =
        open.iter().find(|(_, used)| used.is_empty()).map(|(folder, _)| folder.clone())
    {
        open.remove(&leaf);
        open.values_mut().for_each(|used| {
            used.remove(&leaf);
        });
    }
    assert!(open.is_empty(), "these folders form a circle: {open:?}");
}

#[test]
fn files_of_the_program_form_no_circle() {
    let circles = read_program(&Path::new(ROOT).join("crates/avocet/src")).circles();
    let arrows: Vec<_> = circles.iter().flat_map(|circle| &circle.arrows).collect();
    assert!(arrows.is_empty(), "circles in crates/avocet: {arrows:#?}");
}
