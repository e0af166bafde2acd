//! The limit that a loaded skill sets on the calls of its turn and of the sub-agents that the turn
//! starts. It only takes tools away: roles, policy and approvals stay as they are.

use avocet_protocol::tool::{SkillCall, SkillLimit, ToolContext, UPDATE_PLAN, USE_SKILL};
use avocet_text::fits_pattern;

use super::ToolRegistry;
use crate::aliases;
use crate::registered::RegisteredTool;

/// The tools that run under every skill: they load another skill, ask the user, show the plan, and
/// show the rest of an earlier result.
const ALWAYS: [&str; 4] = ["ask_user", "read_result", UPDATE_PLAN, USE_SKILL];

/// Tools of other agents that stand for several of ours, or for one that has no such alias.
const STANDS_FOR: [(&str, &[&str]); 3] = [
    ("Bash", &["exec_shell", "process_kill", "process_poll"]),
    ("Glob", &["list_directory", "search_files"]),
    ("MultiEdit", &["edit_file"]),
];

impl ToolRegistry {
    /// Returns the reason why a skill in use forbids a tool; `None` if all of them allow the tool.
    /// The skills of the turns above limit a sub-agent as well.
    pub(super) fn skill_refusal(
        &self,
        registered: &RegisteredTool,
        context: &ToolContext,
    ) -> Option<String> {
        if let Some((skill, tools)) = self.skill_that_forbids(registered, &context.skills) {
            return Some(format!(
                "is not one of the tools of the skill {skill}: {tools}. Go on with these, or end \
                    your turn; the limit then ends, too"
            ));
        }
        let mut above = context.skills_above.iter();
        let (skill, tools) = above.find_map(|calls| self.skill_that_forbids(registered, calls))?;
        Some(format!(
            "is not one of the tools of the skill {skill}, which the agent above uses: {tools}. Go \
                on with these, or answer what is missing"
        ))
    }

    /// Returns the skill that a turn uses and the list of its tools, if it forbids a tool.
    fn skill_that_forbids<'c>(
        &self,
        registered: &RegisteredTool,
        calls: &'c [SkillCall],
    ) -> Option<(&'c str, String)> {
        let SkillLimit { skill, tools } = self.skill_in_use(calls)?;
        let (tools, name) = (tools.as_ref()?, registered.name());
        let is_allowed =
            ALWAYS.contains(&name) || tools.iter().any(|pattern| allows_tool(pattern, name));
        (!is_allowed).then(|| (skill.as_str(), tools.join(", ")))
    }

    /// The skill that was loaded last. A result of another tool that looks like a loaded skill does
    /// not count.
    fn skill_in_use<'c>(&self, calls: &'c [SkillCall]) -> Option<&'c SkillLimit> {
        let is_loaded = |call: &&SkillCall| {
            self.find_named(&call.tool).is_some_and(|registered| registered.name() == USE_SKILL)
        };
        calls.iter().rev().find(is_loaded).map(|call| &call.limit)
    }
}

/// Returns `true` if a name in the `allowed-tools` of a skill allows our tool `name`.
#[must_use]
pub fn allows_tool(pattern: &str, name: &str) -> bool {
    let others = STANDS_FOR.iter().find(|(other, _)| other.eq_ignore_ascii_case(pattern));
    fits_pattern(pattern, name)
        || others.is_some_and(|(_, ours)| ours.contains(&name))
        || aliases::tool_of_alias(pattern) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_knows_patterns_and_the_tool_names_of_other_agents() {
        for (pattern, names) in [
            ("read_file", &["read_file"][..]),
            ("git_*", &["git_diff", "git_log"]),
            ("*", &["exec_shell"]),
            ("Read", &["read_file"]),
            ("Write", &["write_file"]),
            ("Edit", &["edit_file"]),
            ("MultiEdit", &["edit_file"]),
            ("Grep", &["search_files"]),
            ("Glob", &["search_files", "list_directory"]),
            ("LS", &["list_directory"]),
            ("Bash", &["exec_shell", "process_poll", "process_kill"]),
            ("WebFetch", &["web_fetch"]),
            ("WebSearch", &["web_search"]),
        ] {
            names.iter().for_each(|name| assert!(allows_tool(pattern, name), "{pattern} {name}"));
        }
        for (pattern, name) in [
            ("Read", "write_file"),
            ("Grep", "exec_shell"),
            ("Glob", "read_file"),
            ("git_*", "exec_shell"),
            ("READ_FILES", "read_file"),
            ("", "read_file"),
        ] {
            assert!(!allows_tool(pattern, name), "{pattern} {name}");
        }
    }
}
