//! The argument that says most about a call, for people: the command, the file, the address.

use serde_json::{Map, Value};

use crate::{Redactor, sanitise};

/// Arguments that say most about a call, the best first.
const MAIN: &[&str] = &[
    "command", "path", "url", "query", "pattern", "question", "task", "prompt", "text", "name",
    "id",
];

/// Returns the main argument of a call in one line of at most `most` characters, without backticks
/// and secrets. `None` if no argument is a text.
#[must_use]
pub fn main_argument(
    arguments: &Map<String, Value>,
    most: usize,
    redactor: &Redactor,
) -> Option<String> {
    let text = find_main(arguments)?;
    // The redactor does not find the half of a secret, so it comes before the cut.
    let start: String = text.chars().take(SEARCHED).collect();
    Some(in_one_line(&redactor.redact(&start), most)).filter(|line| !line.is_empty())
}

/// Returns the whole main argument of a call, with its line breaks and backticks but without secrets.
/// `None` if no argument is a text.
#[must_use]
pub fn whole_main_argument(arguments: &Map<String, Value>, redactor: &Redactor) -> Option<String> {
    Some(sanitise(&redactor.redact(find_main(arguments)?)).text)
}

fn find_main(arguments: &Map<String, Value>) -> Option<&str> {
    let named = MAIN.iter().filter_map(|name| arguments.get(*name)?.as_str());
    let any = arguments.values().filter_map(Value::as_str);
    named.chain(any).find(|text| !text.trim().is_empty())
}

/// Characters of an argument that are searched for secrets.
const SEARCHED: usize = 10_000;

/// Returns a text in one line of at most `most` characters, without backticks.
#[must_use]
pub fn in_one_line(text: &str, most: usize) -> String {
    // A longer text is cut anyway, and a word has few characters.
    let start: String = text.chars().take(most.saturating_mul(4)).collect();
    let mut line = sanitise(&start).text.split_whitespace().collect::<Vec<_>>().join(" ");
    line = line.replace('`', "'");
    if line.chars().count() > most || start.len() < text.len() {
        line = line.chars().take(most.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Secret;

    #[test]
    fn whole_main_argument_keeps_all_that_would_run() {
        let secret = Redactor::new([Secret::new("correct horse battery".to_owned())]);
        let command = format!("echo `date`\n{}", "x".repeat(300));
        let arguments = json!({ "command": format!("{command} correct horse battery") });
        let shown = whole_main_argument(arguments.as_object().unwrap(), &secret).unwrap();
        assert!(shown.starts_with(&command) && !shown.contains("horse"), "{shown}");
    }

    #[test]
    fn main_argument_is_the_best_known_one_in_one_short_line() {
        let table = [
            (json!({ "timeout": 3, "command": "cargo test\n --all" }), Some("cargo test --all")),
            (json!({ "content": "long", "path": "a.txt" }), Some("a.txt")),
            (json!({ "other": "`x`" }), Some("'x'")),
            (json!({ "command": " ", "path": "b" }), Some("b")),
            (json!({ "number": 3 }), None),
            (json!({ "url": "x".repeat(30) }), Some("xxxxxxxxxxxxxxxxxxx…")),
        ];
        for (arguments, main) in table {
            let shown = main_argument(arguments.as_object().unwrap(), 20, &Redactor::default());
            assert_eq!(shown.as_deref(), main, "{arguments}");
        }
        let secret = Redactor::new([Secret::new("correct horse battery".to_owned())]);
        let arguments = json!({ "command": "login correct horse battery" });
        let shown = main_argument(arguments.as_object().unwrap(), 20, &secret).unwrap();
        assert!(!shown.contains("horse"), "{shown}");
    }
}
