//! The key `allowed-tools`: names of tools, separated by spaces or commas, or as a list.

use serde::Serialize;

use crate::front_yaml::FrontValue;

/// The most names in a list. They stand in a result that the model reads.
const MAX_TOOLS: usize = 128;

/// The values in a map that switch a tool off.
const NOT_ALLOWED: [&str; 5] = ["false", "False", "no", "off", "deny"];
/// The words for every tool, in lower case.
const EVERY: [&str; 3] = ["*", "all", "any"];

/// A name in `allowed-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AllowedTool {
    /// The name of a tool, here or in another agent, in which `*` stands for any characters.
    pub name: String,
    /// The text in parentheses after the name, such as `git:*` in `Bash(git:*)`. It sets no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Reads the value of `allowed-tools`; `None` for no limit. A part that is no name of a tool is left
/// out, and gives a remark.
pub(crate) fn parse_allowed_tools(value: &FrontValue) -> (Option<Vec<AllowedTool>>, Vec<String>) {
    let words: Vec<&str> = match value {
        FrontValue::Text(text) => split_words(text),
        FrontValue::List(list) => list.iter().flat_map(|text| split_words(text)).collect(),
        // `Read: true`, as opencode writes it.
        FrontValue::Map(pairs) => {
            let allowed = pairs.iter().filter(|(_, value)| !NOT_ALLOWED.contains(&value.as_str()));
            allowed.flat_map(|(name, _)| split_words(name)).collect()
        }
    };
    // A word that means every tool is the name of none.
    if let [word] = &*words
        && EVERY.contains(&word.to_lowercase().as_str())
    {
        return (None, Vec::new());
    }
    let mut notes = Vec::new();
    let mut tools = Vec::new();
    for word in &words {
        match read_tool(word) {
            _ if tools.len() == MAX_TOOLS => {
                notes.push(format!(
                    "`allowed-tools` has more than {MAX_TOOLS} names; the first count"
                ));
                break;
            }
            Some(tool) => tools.push(tool),
            None => notes.push(format!(
                "`allowed-tools`: {word:?} is not the name of a tool, and is left out"
            )),
        }
    }
    if tools.is_empty() {
        notes.push("`allowed-tools` names no tool, so it sets no limit".to_owned());
    }
    ((!tools.is_empty()).then_some(tools), notes)
}

/// Splits a text at spaces and commas outside of parentheses.
fn split_words(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let words = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || c == ',')
    });
    // Marks of a list in JSON, if the whole list is a text.
    let words = words.map(|word| word.trim_matches(['[', ']', '"', '\'', '`']));
    words.filter(|word| !word.is_empty()).collect()
}

fn read_tool(word: &str) -> Option<AllowedTool> {
    let (name, within) = match word.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')').unwrap_or(rest).to_owned())),
        None => (word, None),
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.:/*".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_of_name);
    is_name.then(|| AllowedTool { name: name.to_owned(), within })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(value: &FrontValue) -> Vec<String> {
        let shown = |tool: AllowedTool| match tool.within {
            Some(within) => format!("{}|{within}", tool.name),
            None => tool.name,
        };
        parse_allowed_tools(value).0.into_iter().flatten().map(shown).collect()
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
            (
                FrontValue::List(vec!["Read".to_owned(), "mcp__a__b".to_owned()]),
                vec!["Read", "mcp__a__b"],
            ),
            (
                FrontValue::Map(
                    [("Read", "true"), ("Bash", "false"), ("Grep", ""), ("Edit", "deny")]
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .to_vec(),
                ),
                vec!["Read", "Grep"],
            ),
            (text("All"), vec![]),
            (text("*"), vec![]),
            (FrontValue::List(vec!["Read".to_owned(), "`Grep`".to_owned()]), vec!["Read", "Grep"]),
        ] {
            assert_eq!(names(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn allowed_tools_leave_out_other_values_with_a_remark() {
        let many = (0..129).map(|number| format!("t{number}")).collect::<Vec<_>>().join(" ");
        for (value, count, says) in [
            (text(""), 0, "no limit"),
            (FrontValue::List(Vec::new()), 0, "no limit"),
            (FrontValue::Map(Vec::new()), 0, "no limit"),
            (text("(x)"), 0, "\"(x)\" is not the name"),
            (text("read;file Read"), 1, "\"read;file\" is not the name"),
            (text(&many), 128, "more than 128 names"),
        ] {
            let (tools, notes) = parse_allowed_tools(&value);
            assert_eq!(tools.unwrap_or_default().len(), count, "{value:?}");
            assert!(notes.iter().any(|note| note.contains(says)), "{value:?}: {notes:?}");
        }
        assert_eq!(names(&text("Bash(git")), ["Bash|git"]);
        assert_eq!(names(&text("[\"Read\", 'Write']")), ["Read", "Write"]);
    }
}
