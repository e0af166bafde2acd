//! The names of MCP servers: makes a name valid that another program or a person gave.

/// The longest name of a server, in bytes.
pub(crate) const MAX_NAME: usize = 32;
/// The name of a server whose own name has no letter that can be kept.
const ANY_NAME: &str = "server";

/// Makes a valid name of any: the last part of a long path, cut to the longest name.
pub(crate) fn plain_name(name: &str) -> String {
    let short = name.rsplit('/').next().filter(|_| valid_characters(name).len() > MAX_NAME);
    let name = valid_characters(short.unwrap_or(name));
    if name.is_empty() { ANY_NAME.to_owned() } else { shorten_name(&name, MAX_NAME).to_owned() }
}

/// Returns the beginning of a valid name, of at most so many bytes.
pub(crate) fn shorten_name(name: &str, most: usize) -> &str {
    name[..name.len().min(most)].trim_end_matches(['-', '_'])
}

/// Makes a name valid: lower-case letters, digits, `-`, and single `_` between them. A long one is cut.
///
/// # Errors
/// The reason, if nothing is left of it.
pub(crate) fn valid_name(name: &str) -> Result<String, String> {
    match valid_characters(name) {
        name if name.is_empty() => {
            Err("the name has no letter or digit of ASCII; give another name".to_owned())
        }
        _ => Ok(plain_name(name)),
    }
}

/// Returns the name in the characters that names have.
fn valid_characters(name: &str) -> String {
    let valid = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '_' => c,
        _ => '-',
    };
    let mut name: String = name.chars().map(valid).collect();
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    name.trim_matches(['-', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_name_has_no_double_underscore_and_a_limit() {
        let table = [
            ("a__b", "a_b"),
            ("_A b_", "a-b"),
            ("x", "x"),
            ("Ärger", "rger"),
            ("Example/play", "example-play"),
        ];
        for (name, expected) in table {
            assert_eq!(valid_name(name).unwrap(), expected, "{name}");
        }
        assert_eq!(valid_name(&"a".repeat(32)).unwrap().len(), 32);
        assert_eq!(valid_name(&"a".repeat(33)).unwrap().len(), 32);
        assert_eq!(valid_name(&format!("{}/b", "a".repeat(33))).unwrap(), "b");
        assert!(valid_name("é").is_err());
    }
}
