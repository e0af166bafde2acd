//! Formats JSON with one value per line. Keeps the order of keys and the digits of numbers.

use serde::de::IgnoredAny;

/// Spaces of indentation at most.
const DEEPEST: usize = 32;

/// The same JSON, with one value per line.
///
/// # Errors
/// If the text is not valid JSON.
pub(crate) fn pretty_json(text: &str) -> Result<String, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    let mut tokens = text.chars().peekable();
    while let Some(c) = tokens.next() {
        if in_text {
            out.push(c);
            in_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '{' | '[' => {
                while tokens.next_if(char::is_ascii_whitespace).is_some() {}
                out.push(c);
                if let Some(end) = tokens.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    begin_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                begin_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                begin_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => {
                out.push(c);
                in_text = c == '"';
            }
        }
    }
    Ok(out)
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', (depth * 2).min(DEEPEST)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_breaks_lines_and_keeps_order_and_digits() {
        let text = r#"{"b":12345678901234567890.10, "a" : [ ], "c":[{ },"x\"{,:\\", true]}"#;
        let expected = "{\n  \"b\": 12345678901234567890.10,\n  \"a\": [],\n  \"c\": [\n    {},\n    \
            \"x\\\"{,:\\\\\",\n    true\n  ]\n}";
        let once = pretty_json(text).unwrap();
        assert_eq!(once, expected);
        assert_eq!(pretty_json(&once).unwrap(), expected);
        assert!(pretty_json("{\"a\": }").unwrap_err().to_string().contains("column 7"));
        assert!(pretty_json(&"[".repeat(100_000)).is_err());
    }
}
