//! References in texts: `${NAME}` for the environment, `${file:PATH}` for a file,
//! `${credential:NAME}` for a credential of systemd. `$${` stands for `${` itself.

use std::path::Path;

use avocet_protocol::Secret;

use crate::Environment;

/// Replaces every reference, and adds what each stands for to `secrets`, unless it names a place. The
/// error says what is wrong with which; it contains no secret.
pub(crate) fn resolve(
    text: &str,
    environment: Environment<'_>,
    secrets: &mut Vec<Secret>,
) -> Result<String, String> {
    let mut resolved = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            resolved.push_str(before);
            resolved.push_str("${");
            rest = &reference[2..];
            continue;
        }
        resolved.push_str(before);
        let Some((name, after)) = reference[2..].split_once('}') else {
            return Err(format!("{:?} has no closing brace", cut(reference)));
        };
        let value = look_up(name, environment)?;
        if !is_place(name) {
            secrets.push(Secret::new(value.clone()));
        }
        resolved.push_str(&value);
        rest = after;
    }
    resolved.push_str(rest);
    Ok(resolved)
}

pub(crate) fn has_reference(text: &str) -> bool {
    text.contains("${")
}

/// Variables that the system sets for everybody (environ(7), XDG Base Directory Specification,
/// systemd.exec(5)).
fn is_place(name: &str) -> bool {
    name.starts_with("XDG_")
        || name.ends_with("_DIRECTORY")
        || ["HOME", "HOSTNAME", "LOGNAME", "PWD", "TMPDIR", "USER"].contains(&name)
}

fn look_up(name: &str, environment: Environment<'_>) -> Result<String, String> {
    if let Some(path) = name.strip_prefix("file:") {
        return read(Path::new(path));
    }
    if let Some(credential) = name.strip_prefix("credential:") {
        let directory = environment("CREDENTIALS_DIRECTORY").ok_or_else(|| {
            format!(
                "there are no credentials: systemd passes {credential} on with LoadCredential= in \
                 the unit"
            )
        })?;
        if credential.contains('/') {
            return Err(format!("{credential:?} is not the name of a credential"));
        }
        return read(&Path::new(&directory).join(credential));
    }
    environment(name).ok_or_else(|| format!("the environment variable {} is not set", cut(name)))
}

fn read(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read ({error})", path.display()))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn references_are_replaced() {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("key"), "from a file\n").unwrap();
        let credentials = directory.path().display().to_string();
        let environment = |name: &str| match name {
            "KEY" => Some("sk-1".to_owned()),
            "EMPTY" => Some(String::new()),
            "CREDENTIALS_DIRECTORY" => Some(credentials.clone()),
            _ => None,
        };
        let file = format!("${{file:{credentials}/key}}");
        let table = [
            ("plain $text {}", "plain $text {}"),
            ("${KEY}", "sk-1"),
            ("a ${KEY} b ${KEY}${EMPTY}", "a sk-1 b sk-1"),
            ("$${KEY}", "${KEY}"),
            (&file, "from a file"),
            ("${credential:key}", "from a file"),
        ];
        for (text, expected) in table {
            assert_eq!(
                resolve(text, &environment, &mut Vec::new()).as_deref(),
                Ok(expected),
                "{text}"
            );
        }
        let table = [
            ("${NO}", "the environment variable NO is not set".to_owned()),
            ("${KEY", "\"${KEY\" has no closing brace".to_owned()),
            (
                "${file:/nowhere}",
                "/nowhere cannot be read (No such file or directory (os error 2))".to_owned(),
            ),
            ("${credential:../key}", "\"../key\" is not the name of a credential".to_owned()),
        ];
        for (text, error) in table {
            assert_eq!(resolve(text, &environment, &mut Vec::new()), Err(error));
        }
        let none = resolve("${credential:key}", &|_| None, &mut Vec::new()).unwrap_err();
        assert!(none.contains("LoadCredential="), "{none}");
    }
}
