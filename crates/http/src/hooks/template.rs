//! Texts with `{{ field.path }}` for the values of a JSON body.

use serde_json::Value;

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    /// The names on the way to a value.
    Field(Vec<String>),
}

impl Template {
    /// Parses a text.
    ///
    /// # Errors
    /// The fault, and its correction.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the text is empty; write one such as \"{{ action }}\"".to_owned());
        }
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, field)) = rest.split_once("{{") {
            let (path, after) =
                field.split_once("}}").ok_or_else(|| format!("{{{{{field} has no closing }}}}"))?;
            let names: Vec<String> = path.trim().split('.').map(str::to_owned).collect();
            if names.iter().any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
                return Err(format!("{{{{{path}}}}} is not a path such as {{{{ issue.title }}}}"));
            }
            pieces.extend([TemplatePiece::Text(before.to_owned()), TemplatePiece::Field(names)]);
            rest = after;
        }
        pieces.push(TemplatePiece::Text(rest.to_owned()));
        Ok(Self { pieces })
    }

    /// Returns the text with the values of a body. A missing value is empty.
    pub(super) fn render(&self, body: &Value) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            TemplatePiece::Text(text) => text.clone(),
            TemplatePiece::Field(names) => shown(find(body, names)),
        });
        pieces.collect()
    }
}

fn find<'v>(body: &'v Value, names: &[String]) -> &'v Value {
    names.iter().fold(body, |value, name| match (value, name.parse::<usize>()) {
        (Value::Array(_), Ok(place)) => value.get(place).unwrap_or(&Value::Null),
        _ => &value[name.as_str()],
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn render_fills_in_values_once() {
        let body = json!({
            "action": "opened", "issue": {"number": 7, "title": "{{ secret }}", "labels": ["a", {"name": "b"}]},
            "secret": "x", "is_new": true, "none": null,
        });
        let table = [
            ("no field", "no field"),
            ("{{action}} {{ issue.number }}: {{ issue.title }}", "opened 7: {{ secret }}"),
            ("{{ issue.labels.0 }}{{ issue.labels.1.name }}", "ab"),
            ("{{ issue.labels }}", r#"["a",{"name":"b"}]"#),
            ("[{{ none }}{{ missing.path }}{{ action.x }}{{ issue.labels.9 }}]", "[]"),
            ("{{ is_new }} } {", "true } {"),
        ];
        for (text, rendered) in table {
            assert_eq!(Template::parse(text).unwrap().render(&body), rendered, "{text}");
        }
    }

    #[test]
    fn parse_error_names_the_fault() {
        for text in ["{{", "a {{ b", "{{ }}", "{{ a..b }}", "{{ a b }}", "", "  "] {
            assert!(Template::parse(text).is_err(), "{text:?}");
        }
    }
}
