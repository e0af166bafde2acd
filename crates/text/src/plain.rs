//! Translates errors of the deserialisation library into plain English, for people who write a
//! configuration or a request.

use serde_json::error::Category;

use crate::nearest;

/// The library's name for an expected value, and the plain words that follow "is not".
const NEEDED: &[(&str, &str)] = &[
    ("a boolean", "true or false (without quotation marks)"),
    ("a borrowed string", "text in quotation marks"),
    ("a map", "a table"),
    ("a sequence", "a list"),
    ("a string", "text in quotation marks"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("path string", "a path in quotation marks"),
    ("string or map", "a word in quotation marks"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65,535"),
    ("u32", "a whole number from 0 to 4,294,967,295"),
    ("u64", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
];

/// Translates an error of the library into plain words. Returns other texts unchanged.
#[must_use]
pub fn plain_error(error: &str) -> String {
    let error = without_position(error);
    let built_in = [
        ("invalid type: ", wrong_value as fn(&str) -> Option<String>),
        ("invalid value: ", wrong_value),
        ("invalid length ", |_| Some("the list has the wrong length".to_owned())),
        ("unknown variant ", unknown_word),
        ("unknown field ", unknown_key),
        ("missing field ", |rest| Some(format!("{rest} is missing"))),
        ("duplicate field ", |rest| Some(format!("{rest} is there twice"))),
        ("data did not match any variant", |_| Some("this value cannot be used here".to_owned())),
    ];
    let plain = built_in.into_iter().find_map(|(start, plain)| {
        let rest = error.strip_prefix(start)?;
        Some(plain(rest).unwrap_or_else(|| "this value cannot be used here".to_owned()))
    });
    plain.unwrap_or_else(|| error.to_owned())
}

/// Describes the fault in a JSON text, or in the value that it contains.
#[must_use]
pub fn plain_json(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Data => plain_error(&error.to_string()),
        Category::Eof => "the JSON ends early".to_owned(),
        Category::Syntax | Category::Io => match (error.line(), error.column()) {
            (0, _) => "it is not JSON".to_owned(),
            (line, column) => format!("it is not JSON, at line {line}, column {column}"),
        },
    }
}

/// Returns the text of a system error, without the number that the standard library adds.
#[must_use]
pub fn plain_io(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// Removes the position that the library adds if it has read the JSON from a text.
fn without_position(error: &str) -> &str {
    let Some((before, position)) = error.rsplit_once(" at line ") else { return error };
    let is_place = |c: char| c.is_ascii_digit() || " column".contains(c);
    if position.chars().all(is_place) { before } else { error }
}

fn wrong_value(rest: &str) -> Option<String> {
    let (found, needed) = rest.rsplit_once(", expected ")?;
    let found = shown(found);
    let needed = match NEEDED.iter().find(|(library, _)| *library == needed) {
        Some((_, plain)) => *plain,
        None if needed.starts_with("struct ") => "a table",
        None if needed.starts_with('i') && needed[1..].parse::<u8>().is_ok() => "a whole number",
        None if needed.starts_with("a nonzero ") => "a whole number, 1 or more",
        // The text of a custom deserialiser of this project.
        None => needed,
    };
    // Shows the list that a single value was meant to be.
    let meant = match needed {
        "a list" if !found.starts_with("a ") && !found.starts_with("an ") => {
            format!("; write [{found}]")
        }
        _ => String::new(),
    };
    Some(format!("{found} is not {needed}{meant}"))
}

/// Translates a value in the library's notation: `string "x"`, `integer `7``, `map`.
fn shown(found: &str) -> String {
    let of_kind = ["boolean", "integer", "floating point", "character"].into_iter();
    let quoted = of_kind.filter_map(|kind| found.strip_prefix(kind)).next();
    match (found, quoted) {
        (_, Some(value)) => value.trim().trim_matches('`').to_owned(),
        ("map", _) => "a table".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        ("null" | "unit value" | "Option value", _) => "an empty value".to_owned(),
        _ => found.strip_prefix("string ").unwrap_or(found).to_owned(),
    }
}

/// Parses `` `x`, expected `a` or `b` `` and `` `x`, expected one of `a`, `b`, `c` ``.
fn unknown_word(rest: &str) -> Option<String> {
    let (word, known) = rest.rsplit_once(", expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    let bare = |word: &str| word.trim_matches('`').to_owned();
    let words: Vec<String> =
        known.split(", ").flat_map(|part| part.split(" or ")).map(bare).collect();
    Some(match nearest(&bare(word), words.iter().map(String::as_str)) {
        Some(near) => {
            format!(
                "{word} is not a possible value; did you mean `{near}`? Possible values: {known}"
            )
        }
        None => format!("{word} is not a possible value; possible values: {known}"),
    })
}

fn unknown_key(rest: &str) -> Option<String> {
    let (key, known) = rest.rsplit_once(", expected ").or_else(|| {
        let (key, _) = rest.rsplit_once(", there are no fields")?;
        Some((key, "none"))
    })?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    Some(format!("unknown key {key}; the keys are {known}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        Synced,
        Process,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum StyleName {
        Native,
        Hermes,
        Xml,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is read, not used")]
    struct Table {
        input: f64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "it is read, not used")]
    enum Either {
        One(u8),
        Two(Vec<u8>),
    }

    #[track_caller]
    fn says<T: DeserializeOwned + std::fmt::Debug>(value: &serde_json::Value, expected: &str) {
        let error = serde_json::from_value::<T>(value.clone()).unwrap_err().to_string();
        assert_eq!(plain_error(&error), expected, "{value} -> {error}");
    }

    #[test]
    fn plain_error_translates_every_error_of_the_library() {
        says::<u32>(&json!("many"), "\"many\" is not a whole number from 0 to 4,294,967,295");
        says::<u32>(&json!(-1), "-1 is not a whole number from 0 to 4,294,967,295");
        says::<u64>(&json!(1.5), "1.5 is not a whole number, 0 or more");
        says::<usize>(&json!(null), "an empty value is not a whole number, 0 or more");
        says::<i64>(&json!(true), "true is not a whole number");
        says::<std::num::NonZeroU32>(&json!(0), "0 is not a whole number, 1 or more");
        says::<f64>(&json!("x, expected y"), "\"x, expected y\" is not a number");
        says::<bool>(&json!(1), "1 is not true or false (without quotation marks)");
        says::<String>(&json!([1]), "a list is not text in quotation marks");
        says::<PathBuf>(&json!({}), "a table is not a path in quotation marks");
        says::<Vec<String>>(&json!("x"), "\"x\" is not a list; write [\"x\"]");
        says::<Vec<String>>(&json!({}), "a table is not a list");
        says::<BTreeMap<String, u8>>(&json!(7), "7 is not a table");
        says::<Table>(&json!(7), "7 is not a table");
        says::<Table>(&json!({}), "`input` is missing");
        says::<Table>(&json!({ "inptu": 1 }), "unknown key `inptu`; the keys are `input`");
        says::<Word>(&json!(7), "7 is not a word in quotation marks");
        says::<Word>(
            &json!("sync"),
            "`sync` is not a possible value; did you mean `synced`? Possible values: `synced` or \
                `process`",
        );
        says::<StyleName>(
            &json!("yaml"),
            "`yaml` is not a possible value; possible values: `native`, `hermes`, `xml`",
        );
        says::<Either>(&json!("x"), "this value cannot be used here");
        says::<[u8; 2]>(&json!([1, 2, 3]), "the list has the wrong length");
    }

    #[test]
    fn plain_json_names_the_position_of_a_syntax_error_or_the_wrong_value() {
        let table = [
            ("{oops", "it is not JSON, at line 1, column 2"),
            ("{\"input\": ", "the JSON ends early"),
            ("", "the JSON ends early"),
            ("{\"input\": \"x\"}", "\"x\" is not a number"),
        ];
        for (text, expected) in table {
            let error = serde_json::from_str::<Table>(text).unwrap_err();
            assert_eq!(plain_json(&error), expected, "{text:?}");
        }
    }

    #[test]
    fn plain_error_keeps_words_of_our_own() {
        let own = "\"$5\" is not an amount of US dollars, 0 or more, or \"none\"";
        assert_eq!(plain_error(own), own);
        let of_a_type = "invalid type: boolean `true`, expected \"allow\" or a table of users";
        assert_eq!(plain_error(of_a_type), "true is not \"allow\" or a table of users");
    }
}
