//! Fake skills in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{Skill, SkillFile, SkillLimit, Skills, ToolError};
use parking_lot::Mutex;

/// Skills by their names. Each has the file `low.md`, which is untrusted.
#[derive(Debug, Default)]
pub struct FakeSkills {
    skills: Mutex<BTreeMap<String, Skill>>,
}

impl FakeSkills {
    /// Adds or replaces a skill that allows these tools; `None` for all.
    pub fn put(&self, name: &str, tools: Option<&[&str]>, body: &str) {
        let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        let limit = SkillLimit { skill: name.to_owned(), tools };
        let skill = Skill { limit, folder: Some(format!("skills/{name}")), body: body.to_owned() };
        self.skills.lock().insert(name.to_owned(), skill);
    }
}

#[async_trait]
impl Skills for FakeSkills {
    async fn listed(&self) -> Option<String> {
        let skills = self.skills.lock();
        let names: Vec<&str> = skills.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("# Skills\n\n{}", names.join("\n")))
    }

    async fn load(&self, name: &str) -> Result<Skill, ToolError> {
        let skill = self.skills.lock().get(name).cloned();
        skill.ok_or_else(|| ToolError::InvalidArgs(format!("there is no skill {name}")))
    }

    async fn file(&self, name: &str, path: &str) -> Result<SkillFile, ToolError> {
        let skill = self.load(name).await?;
        match path {
            "low.md" => Ok(SkillFile { text: skill.body, trust: Trust::Low }),
            _ => Err(ToolError::FileNotFound(format!("{path} does not exist"))),
        }
    }
}
