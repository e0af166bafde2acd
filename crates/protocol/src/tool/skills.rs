//! Skills: instructions for one kind of task, which a model loads when it needs them.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use crate::access::Trust;
use crate::tool::ToolError;

/// The name of the tool that loads a skill. A model gets it only together with a list of skills.
pub const USE_SKILL: &str = "use_skill";

/// The skills of a workspace, of the system and of the program.
#[async_trait]
pub trait Skills: fmt::Debug + Send + Sync {
    /// Returns the part of the instructions that lists the usable skills; `None` without skills.
    /// The text changes only with the skills.
    async fn listed(&self) -> Option<String>;

    /// Returns the instructions of a skill.
    ///
    /// # Errors
    /// [`ToolError`] if there is no such skill, or if it is broken or untrusted.
    async fn load(&self, name: &str) -> Result<Skill, ToolError>;

    /// Returns another text file of a skill, by its path in the folder of the skill.
    ///
    /// # Errors
    /// As for [`Self::load`], or if the file is missing, too large or not text.
    async fn file(&self, name: &str, path: &str) -> Result<SkillFile, ToolError>;
}

/// A skill as a model uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name, and the limit on tools.
    pub limit: SkillLimit,
    /// The folder of its other files, as programs and file tools name it; `None` for a skill that
    /// is a part of the program.
    pub folder: Option<String>,
    /// The instructions, in Markdown.
    pub body: String,
}

/// A text file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// The content.
    pub text: String,
    /// The trust level of the content.
    pub trust: Trust,
}

/// A loaded skill, as far as it limits the later calls of the turn. Its text is the first line of
/// the result, so that the limit is in the log and survives a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillLimit {
    /// The name of the skill.
    pub skill: String,
    /// The names of tools, in which `*` stands for any characters; `None` if the skill sets no limit.
    /// The names may be those of other agents.
    pub tools: Option<Vec<String>>,
}

const START: &str = "[skill ";
const TOOLS: &str = "; until the end of this turn or the next skill, only these tools run: ";
const END: &str = "]";

impl fmt::Display for SkillLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{}", self.skill)?;
        if let Some(tools) = &self.tools {
            write!(f, "{TOOLS}{}", tools.join(" "))?;
        }
        f.write_str(END)
    }
}

impl SkillLimit {
    /// Reads the limit from a result of [`USE_SKILL`]; `None` if the result is another text, such as
    /// a file of a skill.
    #[must_use]
    pub fn of_result(result: &Value) -> Option<Self> {
        let line = result.as_str()?.lines().next()?;
        let inner = line.strip_prefix(START)?.strip_suffix(END)?;
        Some(match inner.split_once(TOOLS) {
            None => Self { skill: inner.to_owned(), tools: None },
            Some((skill, tools)) => {
                let tools = tools.split(' ').map(str::to_owned).collect();
                Self { skill: skill.to_owned(), tools: Some(tools) }
            }
        })
    }
}

/// A finished call that may have loaded a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCall {
    /// The name of the called tool, as the model wrote it.
    pub tool: String,
    /// The limit that the result states.
    pub limit: SkillLimit,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn skill_limit_of_result_reads_what_display_writes() {
        for tools in [None, Some(vec!["read_file"]), Some(vec!["git_*", "Bash"])] {
            let tools = tools.map(|tools| tools.into_iter().map(str::to_owned).collect());
            let limit = SkillLimit { skill: "code-review".to_owned(), tools };
            let result = json!(format!("{limit}\n\n# Review\n[skill other]"));
            assert_eq!(SkillLimit::of_result(&result), Some(limit));
        }
    }

    #[test]
    fn skill_limit_of_result_is_none_for_other_results() {
        for other in [
            json!("[file a.md of the skill x]\n[skill y]"),
            json!("text\n[skill y]"),
            json!("[skill y"),
            json!(""),
            json!({"skill": "y"}),
        ] {
            assert_eq!(SkillLimit::of_result(&other), None, "{other}");
        }
    }
}
