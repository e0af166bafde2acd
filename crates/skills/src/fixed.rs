//! The skills that stay the same while the program runs: those of the system and those of the
//! program itself.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use avocet_protocol::tool::ToolError;

use crate::folders::{MAX_ENTRIES, NO_FILE, SkillFolders, is_hidden};
use crate::list::{FoundSkill, FoundSkills, SkillSource};
use crate::skill::{MAX_SKILL_BYTES, ParsedSkill};
use crate::{SKILL_FILES, SkillProblem, SkillState};

/// A skill that is a part of the program.
#[derive(Debug, Clone, Copy)]
pub struct ShippedSkill {
    /// The same as in its text.
    pub name: &'static str,
    /// Its `SKILL.md`.
    pub text: &'static str,
}

/// The skills that are a part of the program. To add one, add a folder and a line here.
pub const SHIPPED: [ShippedSkill; 3] = [
    ShippedSkill { name: "code-review", text: include_str!("../shipped/code-review/SKILL.md") },
    ShippedSkill {
        name: "daily-briefing",
        text: include_str!("../shipped/daily-briefing/SKILL.md"),
    },
    ShippedSkill { name: "note-taking", text: include_str!("../shipped/note-taking/SKILL.md") },
];

/// The skills of the system and of the program, read once.
#[derive(Debug, Default)]
pub struct FixedSkills {
    found: FoundSkills,
}

impl FixedSkills {
    /// Reads the skills in these directories; those that do not exist are skipped. `shipped` are the
    /// skills of the program to add.
    #[must_use]
    pub fn read(paths: &[PathBuf], shipped: &[ShippedSkill]) -> Self {
        let mut found = FoundSkills::default();
        paths.iter().for_each(|path| add_directory(path, &mut found));
        found.skills.extend(shipped.iter().map(|ShippedSkill { name, text }| {
            let parsed = ParsedSkill::read(name, text.as_bytes());
            FoundSkill::new((*name).to_owned(), SkillSource::Shipped, String::new(), parsed)
        }));
        Self { found }
    }

    /// All of them, usable or not.
    #[must_use]
    pub fn found_skills(&self) -> &FoundSkills {
        &self.found
    }

    /// Logs a warning for each skill that cannot be used.
    pub fn warn_unusable(&self) {
        self.found.left_out.iter().for_each(|left_out| warn_left_out(left_out));
        for skill in &self.found.skills {
            if let SkillState::Broken(problems) = &skill.state {
                warn_broken(skill, problems.first());
            }
        }
    }
}

/// Logs that folders of a directory are left out.
pub(crate) fn warn_left_out(left_out: &str) {
    tracing::warn!(left_out, "a directory of skills is too large; a part of it is not read");
}

/// Logs that a skill is broken, with its first problem.
pub(crate) fn warn_broken(skill: &FoundSkill, problem: Option<&SkillProblem>) {
    let file = skill.file_path();
    let (line, problem) = problem.map_or((1, ""), |problem| (problem.line, problem.text.as_str()));
    if line == 0 {
        let folder = skill.folder.as_str();
        return tracing::warn!(folder, problem, "this folder is not used as a skill");
    }
    tracing::warn!(
        file,
        line,
        problem,
        "this skill is left out, because its file is invalid. For all problems, run: avocet skills \
            check"
    );
}

/// Returns the name of the `SKILL.md` in a folder; `None` if there is none.
#[must_use]
pub fn find_skill_file(folder: &Path) -> Option<&'static str> {
    SKILL_FILES.into_iter().find(|file| folder.join(file).symlink_metadata().is_ok())
}

/// Reads a file of a skill in a folder of the system. Links may lead to other files of the folder.
pub(crate) fn read_file(folder: &Path, path: &str, limit: u64) -> Result<Vec<u8>, ToolError> {
    let shown = folder.join(path).display().to_string();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => ToolError::FileNotFound(format!("{shown} does not exist")),
        _ => ToolError::ExecutionFailed(format!("{shown}: {error}")),
    };
    let outside = || ToolError::InvalidPath(format!("{shown} is outside of the skill's folder"));
    if !Path::new(path)
        .components()
        .all(|one| matches!(one, Component::Normal(_) | Component::CurDir))
    {
        return Err(outside());
    }
    let root = folder.canonicalize().map_err(failed)?;
    let place = root.join(path).canonicalize().map_err(failed)?;
    if !place.starts_with(&root) {
        return Err(outside());
    }
    if !fs::metadata(&place).map_err(failed)?.is_file() {
        return Err(ToolError::InvalidPath(format!("{shown} is not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&place).map_err(failed)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Adds the skills in a directory, by name.
fn add_directory(directory: &Path, found: &mut FoundSkills) {
    let mut entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => {
            let directory = directory.display();
            tracing::warn!(
                %directory,
                %error,
                "this directory of skills cannot be read; its skills are left out"
            );
            return;
        }
    };
    let read = entries.by_ref().take(MAX_ENTRIES).filter_map(Result::ok);
    let is_folder = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
    };
    let names =
        read.filter(is_folder).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names = names.collect();
    let has_more = entries.next().is_some();
    let SkillFolders { names, unusable, left_out } =
        SkillFolders::select_folders(&directory.display().to_string(), names, has_more);
    found.left_out.extend(left_out);
    found.skills.extend(names.into_iter().filter_map(|name| read_folder(directory, name)));
    found.skills.extend(unusable.into_iter().map(|(name, why)| {
        let folder = directory.join(&name).display().to_string();
        FoundSkill::new_unusable(name, SkillSource::System, folder, &why)
    }));
}

/// Reads a skill of the system; `None` for a hidden folder without a `SKILL.md`.
fn read_folder(directory: &Path, name: String) -> Option<FoundSkill> {
    let folder = directory.join(&name);
    let shown = folder.display().to_string();
    let Some(file) = find_skill_file(&folder) else {
        let no_file =
            || FoundSkill::new_unusable(name.clone(), SkillSource::System, shown, NO_FILE);
        return (!is_hidden(&name)).then(no_file);
    };
    let parsed = match read_file(&folder, file, MAX_SKILL_BYTES as u64) {
        Ok(bytes) => ParsedSkill::read(&name, &bytes),
        Err(error) => ParsedSkill::new_unreadable(&error.to_string()),
    };
    let found = FoundSkill::new(name, SkillSource::System, shown, parsed);
    Some(FoundSkill { file, ..found })
}

#[cfg(test)]
#[path = "fixed_tests.rs"]
mod tests;
