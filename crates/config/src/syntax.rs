//! Explains TOML syntax errors in plain words, without the terms of the grammar.

/// The beginnings of the parser's messages, and the advice for each.
const ADVICE: &[(&str, &str)] = &[
    ("cannot extend value", "this key already has a value, so it cannot be a table"),
    ("cannot recurse further", "the tables are nested too deeply"),
    ("duplicate key", "this key is there twice; keep one of them"),
    ("extra assignment between key-value pairs", "there is an extra `=`"),
    ("extra `=`", "there is an extra `=`"),
    (
        "invalid basic string",
        "the text has no closing quotation mark, or a character that cannot stand in it",
    ),
    (
        "invalid literal string",
        "the text has no closing quotation mark, or a character that cannot stand in it",
    ),
    (
        "invalid escape sequence",
        "this character has no meaning after a backslash; write \\\\ for a backslash",
    ),
    ("invalid key-value pair", "this line is neither `key = value` nor a [table]"),
    ("invalid multi-line", "the text has no closing quotation marks"),
    ("invalid unquoted key", "a key with such characters has to be in quotation marks"),
    ("key with no value", "the key has no value; write `key = value`"),
    ("missing assignment", "there is no `=` between the key and its value"),
    ("missing comma", "there is no comma between the values"),
    (
        "missing escaped value",
        "this character has no meaning after a backslash; write \\\\ for a backslash",
    ),
    ("missing value", "the key has no value; write `key = value`"),
    ("recursion limit", "the tables are nested too deeply"),
    ("string values must be quoted", "this is not a value; text has to be in quotation marks"),
    ("unclosed array table", "the name of the table has no closing `]]`"),
    ("unclosed array", "the list has no closing `]`"),
    ("unclosed inline table", "the table has no closing `}`"),
    ("unclosed table", "the name of the table has no closing `]`"),
    ("unexpected key or value", "this line has more than one key and its value"),
    ("unexpected leading zero", "a number must not begin with 0"),
    ("unquoted keys cannot be empty", "there is no key before the `=`"),
];

/// Returns the parser's message in plain words.
pub(crate) fn plain_message(message: &str) -> String {
    let short = message.split(", expected ").next().unwrap_or(message);
    let advice = ADVICE.iter().find(|(start, _)| short.starts_with(start));
    match advice {
        Some((_, plain)) => (*plain).to_owned(),
        None => format!("this is not TOML: {short}"),
    }
}
