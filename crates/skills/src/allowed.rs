//! The key `allowed-tools`: names of tools, separated by spaces or commas, or as a list.

use serde::Serialize;

use crate::SkillProblem;
use crate::front_matter::FrontValue;

/// The most names in a list. They stand in a result that the model reads.
const MAX_TOOLS: usize = 64;

/// A name in `allowed-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AllowedTool {
    /// The name of a tool, here or in another agent, in which `*` stands for any characters.
    pub name: String,
    /// The text in parentheses after the name, such as `git:*` in `Bash(git:*)`. It sets no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Reads the value of `allowed-tools`.
pub(crate) fn parse(line: usize, value: &FrontValue) -> Result<Vec<AllowedTool>, SkillProblem> {
    let mut tools = Vec::new();
    match value {
        FrontValue::Text(text) => tools.extend(words(text)),
        FrontValue::List(list) => {
            for one in list {
                let FrontValue::Text(text) = one else {
                    return Err(SkillProblem::new(line, "`allowed-tools` is a list of names"));
                };
                tools.extend(words(text));
            }
        }
        FrontValue::Map(_) => {
            let text = "`allowed-tools` is a text or a list, not a map";
            return Err(SkillProblem::new(line, text));
        }
    }
    match tools.len() {
        0 => {
            let text = "`allowed-tools` is empty; name tools, or remove the key for no limit";
            Err(SkillProblem::new(line, text))
        }
        1..=MAX_TOOLS => tools.into_iter().map(|word| tool(line, word)).collect(),
        count => {
            let text = format!("`allowed-tools` has {count} names; at most {MAX_TOOLS}");
            Err(SkillProblem::new(line, text))
        }
    }
}

/// Splits a text at spaces and commas outside of parentheses.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let words = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    });
    words.filter(|word| !word.is_empty()).collect()
}

fn tool(line: usize, word: &str) -> Result<AllowedTool, SkillProblem> {
    let (name, within) = match word.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')),
        None => (word, None),
    };
    let is_closed = within.is_some() || name == word;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.:/*".contains(c);
    if name.is_empty() || !is_closed || !name.chars().all(is_of_name) {
        let text = format!("`allowed-tools`: {word:?} is not the name of a tool");
        return Err(SkillProblem::new(line, text));
    }
    Ok(AllowedTool { name: name.to_owned(), within: within.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(value: &FrontValue) -> Vec<String> {
        let tools = parse(3, value).unwrap();
        let shown = |tool: AllowedTool| match tool.within {
            Some(within) => format!("{}|{within}", tool.name),
            None => tool.name,
        };
        tools.into_iter().map(shown).collect()
    }

    fn text(text: &str) -> FrontValue {
        FrontValue::Text(text.to_owned())
    }

    #[test]
    fn allowed_tools_are_split_at_spaces_and_commas_outside_of_parentheses() {
        for (value, expected) in [
            (text("Read"), vec!["Read"]),
            (text("Bash(git:*) Bash(jq:*) Read\n"), vec!["Bash|git:*", "Bash|jq:*", "Read"]),
            (text("Read, Grep,Glob"), vec!["Read", "Grep", "Glob"]),
            (text("Bash(git add:*, x) git_*"), vec!["Bash|git add:*, x", "git_*"]),
            (FrontValue::List(vec![text("Read"), text("mcp__a__b")]), vec!["Read", "mcp__a__b"]),
        ] {
            assert_eq!(names(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn allowed_tools_refuse_other_values() {
        let many = (0..65).map(|number| format!("t{number}")).collect::<Vec<_>>().join(" ");
        for (value, says) in [
            (text(""), "is empty"),
            (FrontValue::List(Vec::new()), "is empty"),
            (FrontValue::Map(Vec::new()), "not a map"),
            (FrontValue::List(vec![FrontValue::List(Vec::new())]), "list of names"),
            (text("Bash(git"), "not the name"),
            (text("(x)"), "not the name"),
            (text("read;file"), "not the name"),
            (text("[read_file]"), "not the name"),
            (text(&many), "65 names"),
        ] {
            let problem = parse(3, &value).unwrap_err();
            assert!(problem.line == 3 && problem.text.contains(says), "{value:?}: {problem}");
        }
    }
}
