//! The names of the files and the directory of skills.

/// The directory of skills in a workspace.
pub const WORKSPACE_SKILLS: &str = "skills";
/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// The names of this file that are read, the usual one first.
pub const SKILL_FILES: [&str; 4] = [SKILL_FILE, "skill.md", "Skill.md", "SKILL.MD"];
