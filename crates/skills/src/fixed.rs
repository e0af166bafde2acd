//! The skills that stay the same while the program runs: those of the system and those of the
//! program itself.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use avocet_protocol::ToolError;

use crate::folders::{MAX_ENTRIES, SkillFolders};
use crate::list::{FoundSkill, FoundSkills, SkillSource};
use crate::skill::{MAX_SKILL_BYTES, ParsedSkill};
use crate::{SKILL_FILE, SkillProblem, SkillState};

/// A skill that is a part of the program.
#[derive(Debug, Clone, Copy)]
pub struct ShippedSkill {
    /// Its name.
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
    pub fn found(&self) -> &FoundSkills {
        &self.found
    }

    /// Logs a warning for each skill that cannot be used.
    pub fn warn(&self) {
        self.found.left_out.iter().for_each(|left_out| warn_left_out(left_out));
        for skill in &self.found.skills {
            if let SkillState::Broken(problems) = &skill.state {
                warn_broken(&skill.folder, problems.first());
            }
        }
    }
}

/// Logs that folders of a directory are left out.
pub(crate) fn warn_left_out(left_out: &str) {
    tracing::warn!(left_out, "a directory of skills is too large; a part of it is not read");
}

/// Logs that a skill is broken, with its first problem.
pub(crate) fn warn_broken(folder: &str, problem: Option<&SkillProblem>) {
    let file = format!("{folder}/{SKILL_FILE}");
    let (line, problem) = problem.map_or((1, ""), |problem| (problem.line, problem.text.as_str()));
    tracing::warn!(
        file,
        line,
        problem,
        "this skill is left out, because its file is invalid. For all problems, run: avocet skills \
            check"
    );
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

/// Adds the skills in a directory, by name. A folder without a `SKILL.md` is left out.
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
    let names = read.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let has_more = entries.next().is_some();
    let SkillFolders { names, left_out } =
        SkillFolders::of(&directory.display().to_string(), names, has_more);
    found.left_out.extend(left_out);
    for name in names {
        let folder = directory.join(&name);
        if !folder.join(SKILL_FILE).exists() {
            continue;
        }
        let parsed = match read_file(&folder, SKILL_FILE, MAX_SKILL_BYTES as u64) {
            Ok(bytes) => ParsedSkill::read(&name, &bytes),
            Err(error) => ParsedSkill::unreadable(&error.to_string()),
        };
        let folder = folder.display().to_string();
        found.skills.push(FoundSkill::new(name, SkillSource::System, folder, parsed));
    }
}

#[cfg(test)]
#[path = "fixed_tests.rs"]
mod tests;
