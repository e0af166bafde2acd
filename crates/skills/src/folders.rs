//! Bounds the folders that are read in one directory of skills, so that a directory with very many
//! entries costs little.

use crate::skill::check_name;

/// The most folders of a directory that are read.
const MAX_FOLDERS: usize = 200;
/// The most entries of a directory among which folders are looked for.
pub(crate) const MAX_ENTRIES: usize = 2000;

/// Returns `true` for a folder that holds no skills by its name, such as `.git`.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// The reason for a folder without a `SKILL.md`.
pub(crate) const NO_FILE: &str = "the folder has no SKILL.md, so it is no skill; if its skills are in \
                                  folders below, move these up";

/// The folders of a directory that may be skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SkillFolders {
    /// The names of those that are read, sorted.
    pub(crate) names: Vec<String>,
    /// The names that no skill can have, with the reasons.
    pub(crate) unusable: Vec<(String, String)>,
    /// A notice about folders that are left out; `None` if all are read.
    pub(crate) left_out: Option<String>,
}

impl SkillFolders {
    /// Selects the folders of `directory` that are read. `has_more` tells that the directory has
    /// more entries than [`MAX_ENTRIES`].
    pub(crate) fn select_folders(directory: &str, mut names: Vec<String>, has_more: bool) -> Self {
        let mut unusable = Vec::new();
        names.retain(|name| {
            let checked = check_name(name);
            unusable.extend(checked.as_ref().err().map(|why| (name.clone(), why.clone())));
            checked.is_ok()
        });
        names.sort();
        let left_out = if has_more {
            Some(format!(
                "{directory} has more than {MAX_ENTRIES} entries; skills among the others are left \
                    out. Move files that are no skills elsewhere"
            ))
        } else {
            names.get(MAX_FOLDERS).map(|first| {
                format!(
                    "{directory} has {} folders, and {MAX_FOLDERS} are read; those from {first} on \
                        are left out",
                    names.len()
                )
            })
        };
        names.truncate(MAX_FOLDERS);
        unusable.truncate(MAX_FOLDERS);
        Self { names, unusable, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_folders_of_reads_two_hundred_names_and_tells_the_rest() {
        let of = |count: usize, has_more| {
            let names =
                (0..count).map(|number| format!("s{number:05}")).chain(["no\u{200B}name".into()]);
            let SkillFolders { names, unusable, left_out } =
                SkillFolders::select_folders("skills", names.collect(), has_more);
            assert!(unusable.len() == 1 && unusable[0].1.contains("invisible"), "{unusable:?}");
            (names.len(), left_out.unwrap_or_default())
        };
        assert_eq!(of(0, false), (0, String::new()));
        assert_eq!(of(200, false), (200, String::new()));
        let told = "skills has 201 folders, and 200 are read; those from s00200 on are left out";
        assert_eq!(of(201, false), (200, told.to_owned()));
        let (read, told) = of(2000, true);
        assert_eq!(read, 200);
        assert!(told.starts_with("skills has more than 2000 entries; skills among"), "{told}");
    }
}
