//! The skills of one workspace, with those of the system and of the program. The workspace is read
//! anew each time, so that a new or a distrusted skill counts from the next turn on.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{
    DirectoryNames, Files, Skill, SkillFile, SkillLimit, Skills, ToolError,
};
use avocet_supervise::run_blocking;
use avocet_text::sanitise;
use parking_lot::Mutex;

use crate::fixed::{self, FixedSkills, read_file, warn_broken};
use crate::folders::{MAX_ENTRIES, NO_FILE, SkillFolders, is_hidden};
use crate::list::{self, FoundSkill, FoundSkills, SkillSource, SkillState};
use crate::skill::{MAX_SKILL_BYTES, ParsedSkill, check_name};
use crate::{AllowedTool, SKILL_FILES, SkillDocument, WORKSPACE_SKILLS};

/// The most reasons that are remembered.
const MAX_LOGGED: usize = 200;
/// The largest file of a skill that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A skill that can be used.
struct UsableSkill {
    source: SkillSource,
    folder: String,
    document: SkillDocument,
}

impl UsableSkill {
    /// The first skill that can be used.
    fn from_first_usable(found: &[FoundSkill]) -> Option<Self> {
        let usable = list::usable_skills(found);
        let (FoundSkill { source, folder, .. }, document) = *usable.first()?;
        Some(Self { source: *source, folder: folder.clone(), document: document.clone() })
    }
}

/// The skills of a workspace, of the system and of the program.
#[derive(Debug)]
pub struct SkillCatalogue {
    files: Arc<dyn Files>,
    fixed: Arc<FixedSkills>,
    /// The reasons that were logged, so that each is logged once.
    logged: Mutex<BTreeSet<String>>,
}

impl SkillCatalogue {
    /// The skills of this workspace, before those that stay the same.
    #[must_use]
    pub fn new(files: Arc<dyn Files>, fixed: Arc<FixedSkills>) -> Self {
        Self { files, fixed, logged: Mutex::default() }
    }

    /// Those of the workspace come first.
    pub async fn find_skills(&self) -> FoundSkills {
        let mut found = self.find_workspace_skills().await;
        let FoundSkills { skills, left_out } = self.fixed.found_skills();
        found.skills.extend(skills.iter().cloned());
        found.left_out.extend(left_out.iter().cloned());
        found
    }

    async fn find_workspace_skills(&self) -> FoundSkills {
        let listed = self.files.directories(WORKSPACE_SKILLS, MAX_ENTRIES).await;
        let DirectoryNames { names, has_more } = listed.unwrap_or_else(|error| {
            if self.is_new(&error.to_string()) {
                tracing::warn!(
                    %error,
                    "the skills of the workspace cannot be read; they are left out"
                );
            }
            DirectoryNames::default()
        });
        let SkillFolders { names, unusable, left_out } =
            SkillFolders::select_folders(WORKSPACE_SKILLS, names, has_more);
        let mut skills = Vec::new();
        for name in names {
            let found = self.read_skill(name.clone()).await;
            let no_file = || (!is_hidden(&name)).then(|| unusable_folder(name.clone(), NO_FILE));
            skills.extend(found.or_else(no_file));
        }
        skills.extend(unusable.into_iter().map(|(name, why)| unusable_folder(name, &why)));
        FoundSkills { skills, left_out: left_out.into_iter().collect() }
    }

    /// Reads a skill of the workspace; `None` if the folder has no `SKILL.md`.
    async fn read_skill(&self, name: String) -> Option<FoundSkill> {
        let folder = format!("{WORKSPACE_SKILLS}/{name}");
        let limit = MAX_SKILL_BYTES as u64 + 1;
        for file in SKILL_FILES {
            let parsed = match self.files.start_of(&format!("{folder}/{file}"), limit).await {
                Ok(None) => continue,
                Ok(Some(start)) if start.trust < Trust::Full => {
                    let state = SkillState::Untrusted(start.trust);
                    let (source, notes) = (SkillSource::Workspace, Vec::new());
                    return Some(FoundSkill { name, source, folder, file, state, notes });
                }
                Ok(Some(start)) => ParsedSkill::read(&name, &start.bytes),
                Err(error) => ParsedSkill::new_unreadable(&error.to_string()),
            };
            let found = FoundSkill::new(name, SkillSource::Workspace, folder, parsed);
            return Some(FoundSkill { file, ..found });
        }
        None
    }

    /// Logs the skills of the workspace that are left out, each reason once.
    fn warn_left_out(&self, found: &FoundSkills) {
        for left_out in found.left_out.iter().filter(|text| self.is_new(text)) {
            fixed::warn_left_out(left_out);
        }
        let of_workspace = found.skills.iter().filter(|one| one.source == SkillSource::Workspace);
        for one in of_workspace {
            let FoundSkill { folder, state, .. } = one;
            match state {
                SkillState::Usable(_) => {}
                SkillState::Untrusted(trust) if self.is_new(&format!("{folder} {trust:?}")) => {
                    let (file, trust) = (one.file_path(), trust.as_str());
                    tracing::warn!(
                        file,
                        trust,
                        "this skill is left out, because its file is untrusted: its content may come \
                            from somebody who is not an owner. Read it; if it is good, run: avocet \
                            trust --believe FILE"
                    );
                }
                SkillState::Broken(problems) if self.is_new(&format!("{folder} {problems:?}")) => {
                    warn_broken(one, problems.first());
                }
                SkillState::Untrusted(_) | SkillState::Broken(_) => {}
            }
        }
    }

    fn is_new(&self, reason: &str) -> bool {
        let mut logged = self.logged.lock();
        // A workspace that changes all the time must not fill the memory.
        if logged.len() > MAX_LOGGED {
            logged.clear();
        }
        logged.insert(reason.to_owned())
    }

    /// Finds the usable skill of this name: the folder's, else the file's or another spelling.
    async fn find_usable(&self, name: &str) -> Result<UsableSkill, ToolError> {
        let name = name.trim();
        let of_workspace = match check_name(name) {
            Ok(()) => self.read_skill(name.to_owned()).await,
            Err(_) => None,
        };
        let fixed = self.fixed.found_skills().skills.iter().filter(|one| one.name == name);
        let all: Vec<FoundSkill> = of_workspace.into_iter().chain(fixed.cloned()).collect();
        if let Some(skill) = UsableSkill::from_first_usable(&all) {
            return Ok(skill);
        }
        let found = self.find_skills().await.skills;
        let similar: Vec<FoundSkill> =
            found.iter().filter(|one| one.has_name(name)).cloned().collect();
        if let Some(skill) = UsableSkill::from_first_usable(&similar) {
            return Ok(skill);
        }
        Err(match all.first().or_else(|| similar.first()).map(|one| (one, &one.state)) {
            Some((one, SkillState::Untrusted(_))) => ToolError::PermissionDenied(format!(
                "the skill {name} is untrusted: its file may come from somebody who is not an \
                    owner. An owner can read it and run: avocet trust --believe {}",
                one.file_path()
            )),
            Some((one, SkillState::Broken(problems))) => {
                let problem = problems.first().map(ToString::to_string).unwrap_or_default();
                let file = one.file;
                ToolError::ExecutionFailed(format!(
                    "the file {file} of the skill {name} is invalid: {problem}"
                ))
            }
            _ => {
                let usable = list::usable_skills(&found);
                let names: Vec<&str> = usable.iter().map(|(one, _)| one.name.as_str()).collect();
                let names = names.join(", ");
                ToolError::InvalidArgs(format!(
                    "there is no skill {name:?}; the skills are: {names}"
                ))
            }
        })
    }
}

#[async_trait]
impl Skills for SkillCatalogue {
    async fn listed(&self) -> Option<String> {
        // Without copies: the fixed skills are long, and each turn lists them.
        let (found, fixed) = (self.find_workspace_skills().await, self.fixed.found_skills());
        self.warn_left_out(&found);
        self.warn_left_out(fixed);
        list::list_text(found.skills.iter().chain(&fixed.skills))
    }

    async fn load(&self, name: &str) -> Result<Skill, ToolError> {
        let UsableSkill { folder, document, .. } = self.find_usable(name).await?;
        let names = |tools: Vec<AllowedTool>| tools.into_iter().map(|tool| tool.name).collect();
        Ok(Skill {
            limit: SkillLimit { skill: document.name, tools: document.allowed_tools.map(names) },
            folder: Some(folder).filter(|folder| !folder.is_empty()),
            body: document.body,
        })
    }

    async fn file(&self, name: &str, path: &str) -> Result<SkillFile, ToolError> {
        let found = self.find_usable(name).await?;
        let path = path.trim();
        if !is_inside(path) {
            let text = format!("{path:?} is not a path in the folder of the skill {name}");
            return Err(ToolError::InvalidPath(text));
        }
        let (bytes, trust) = match found.source {
            SkillSource::Shipped => {
                let text = format!("the skill {name} has no files beside its instructions");
                return Err(ToolError::FileNotFound(text));
            }
            SkillSource::System => {
                let (folder, path) = (PathBuf::from(found.folder), path.to_owned());
                let read = run_blocking(move || read_file(&folder, &path, MAX_FILE_BYTES)).await;
                let failed = |panicked| ToolError::ExecutionFailed(format!("{panicked}"));
                (read.map_err(failed)??, Trust::Full)
            }
            SkillSource::Workspace => self.of_folder(&format!("{}/{path}", found.folder)).await?,
        };
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ToolError::ExecutionFailed(format!(
                "{path} has more than {MAX_FILE_BYTES} bytes; read a part of it with another tool"
            )));
        }
        let not_text = |_| ToolError::ExecutionFailed(format!("{path} is not text (UTF-8)"));
        let text = String::from_utf8(bytes).map_err(not_text)?;
        Ok(SkillFile { text: sanitise(&text).text, trust })
    }
}

impl SkillCatalogue {
    /// Reads a file of the workspace, with its trust.
    async fn of_folder(&self, path: &str) -> Result<(Vec<u8>, Trust), ToolError> {
        match self.files.start_of(path, MAX_FILE_BYTES + 1).await {
            Ok(Some(start)) => Ok((start.bytes, start.trust)),
            Ok(None) => Err(ToolError::FileNotFound(format!("{path} does not exist"))),
            Err(error) => Err(ToolError::ExecutionFailed(error.to_string())),
        }
    }
}

fn unusable_folder(name: String, why: &str) -> FoundSkill {
    let folder = format!("{WORKSPACE_SKILLS}/{name}");
    FoundSkill::new_unusable(name, SkillSource::Workspace, folder, why)
}

/// Returns `true` if a path leads to something in its folder.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let goes_in = parts.clone().any(|part| matches!(part, Component::Normal(_)));
    goes_in && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
