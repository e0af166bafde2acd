//! The skills of the system and of the program.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// Skills beside those in the directory `skills` of a workspace: folders with a `SKILL.md`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SkillsConfig {
    /// Directories of skills, read when the daemon starts. A directory that does not exist is
    /// skipped. All their files are trusted, and programs may read them. If several have a skill of
    /// one name, the first wins; a skill of the workspace comes before all. Default:
    /// `["/usr/local/share/avocet/skills", "/usr/share/avocet/skills"]`.
    pub paths: Vec<PathBuf>,
    /// `false` to leave out the skills that are a part of the program. Default: `true`.
    pub shipped: bool,
}

impl Default for SkillsConfig {
    fn default() -> Self {
        let paths = ["/usr/local/share/avocet/skills", "/usr/share/avocet/skills"];
        Self { paths: paths.map(PathBuf::from).to_vec(), shipped: true }
    }
}
