//! Skills in the open format: a folder with a `SKILL.md`, which has front matter (name, description,
//! allowed tools) and instructions. A skill of the workspace is used only while its file is fully
//! trusted.

mod allowed;
mod catalogue;
mod fixed;
mod folders;
mod front_matter;
mod front_yaml;
mod list;
mod problem;
mod skill;
mod skill_files;

pub use allowed::AllowedTool;
pub use catalogue::SkillCatalogue;
pub use fixed::{FixedSkills, SHIPPED, ShippedSkill, find_skill_file};
pub use list::{FoundSkill, FoundSkills, SkillSource, SkillState};
pub use problem::SkillProblem;
pub use skill::{MAX_SKILL_BYTES, ParsedSkill, SkillDocument, check_name};
pub use skill_files::{SKILL_FILE, SKILL_FILES, WORKSPACE_SKILLS};
