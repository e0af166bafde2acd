//! `use_skill`: loads the instructions of a skill, or one of its other files.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{
    Description, Skill, SkillFile, Skills, Tool, ToolClass, ToolContext, ToolError, ToolOutcome,
    ToolOutput, USE_SKILL,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;

#[derive(Debug)]
pub(super) struct UseSkill {
    skills: Arc<dyn Skills>,
}

impl UseSkill {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { skills: parts.skills.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UseSkillArguments {
    #[schemars(extend("x-aliases" = ["skill", "skill_name"]))]
    name: String,
    file: Option<String>,
}

#[async_trait]
impl Tool for UseSkill {
    type Arguments = UseSkillArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Load a skill.";
        Description::new(USE_SKILL, ToolClass::Pure, TEXT).in_group("skills")
    }

    async fn execute(
        &self,
        UseSkillArguments { name, file }: UseSkillArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let file = file.filter(|file| !file.trim().is_empty());
        let (text, trust) = match &file {
            None => (loaded_text(&self.skills.load(&name).await?), Trust::Full),
            Some(file) => {
                let SkillFile { text, trust } = self.skills.file(&name, file).await?;
                // The first line is ours, so that the file cannot pretend to be a loaded skill.
                (format!("[file {file:?} of the skill {name:?}]\n{text}"), trust)
            }
        };
        let output = ToolOutput::with_writes(json!(text), Vec::new());
        Ok(ToolOutcome::Finished(ToolOutput { trust: Some(trust), ..output }))
    }
}

/// The result for a loaded skill. The registry reads the limit on tools from its first line.
fn loaded_text(skill: &Skill) -> String {
    let Skill { limit, folder, body } = skill;
    let folder = match folder {
        Some(folder) => format!("[its files are in {folder}]\n"),
        None => String::new(),
    };
    format!("{limit}\n{folder}\n{body}")
}
