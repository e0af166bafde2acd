//! Resolves references in texts: `${NAME}` for the environment, `${file:PATH}` for a file,
//! `${credential:NAME}` for a credential of systemd. `$${` stands for `${` itself.

use std::path::Path;

use avocet_text::{Secret, plain_io};

use crate::Environment;

/// The reason why a reference has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReferenceFault {
    /// The reference is invalid in any environment: the operator has to correct it.
    Malformed(String),
    /// This environment has no value for the reference.
    Missing(String),
}

/// Replaces every reference and adds its value to `secrets`, unless it is the value of a location
/// variable such as `HOME`. The error contains no secret.
pub(crate) fn resolve_references(
    text: &str,
    environment: Environment<'_>,
    secrets: &mut Vec<Secret>,
) -> Result<String, ReferenceFault> {
    replace_references(text, |name| {
        let value = look_up(name, environment)?;
        if !is_place(name) {
            secrets.push(Secret::new(value.clone()));
        }
        Ok(value)
    })
}

/// Checks the syntax of the references without looking up their values.
pub(crate) fn check_references(text: &str) -> Result<(), ReferenceFault> {
    replace_references(text, |name| credential_name(name).map(|_| String::new())).map(drop)
}

fn replace_references(
    text: &str,
    mut value_of: impl FnMut(&str) -> Result<String, ReferenceFault>,
) -> Result<String, ReferenceFault> {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            replaced.push_str(before);
            replaced.push_str("${");
            rest = &reference[2..];
            continue;
        }
        replaced.push_str(before);
        let Some((name, after)) = reference[2..].split_once('}') else {
            let message = format!("{:?} lacks a closing brace", cut_text(reference));
            return Err(ReferenceFault::Malformed(message));
        };
        replaced.push_str(&value_of(name)?);
        rest = after;
    }
    replaced.push_str(rest);
    Ok(replaced)
}

pub(crate) fn has_reference(text: &str) -> bool {
    text.contains("${")
}

/// Returns `true` for variables that the system sets for everybody (environ(7), XDG Base Directory
/// Specification, systemd.exec(5)).
fn is_place(name: &str) -> bool {
    name.starts_with("XDG_")
        || name.ends_with("_DIRECTORY")
        || ["HOME", "HOSTNAME", "LOGNAME", "PWD", "TMPDIR", "USER"].contains(&name)
}

/// Returns the name of a credential; `None` if the reference is of another kind.
fn credential_name(name: &str) -> Result<Option<&str>, ReferenceFault> {
    match name.strip_prefix("credential:") {
        Some(credential) if credential.is_empty() || credential.contains('/') => Err(
            ReferenceFault::Malformed(format!("{credential:?} is not the name of a credential")),
        ),
        credential => Ok(credential),
    }
}

fn look_up(name: &str, environment: Environment<'_>) -> Result<String, ReferenceFault> {
    if let Some(path) = name.strip_prefix("file:") {
        return read(Path::new(path));
    }
    if let Some(credential) = credential_name(name)? {
        let directory = environment("CREDENTIALS_DIRECTORY").ok_or_else(|| {
            ReferenceFault::Missing(format!(
                "there is no credential {credential} here: systemd passes it to the daemon with \
                 LoadCredential= in the unit"
            ))
        })?;
        return read(&Path::new(&directory).join(credential));
    }
    let missing = || format!("the environment variable {} is not set", cut_text(name));
    environment(name).ok_or_else(|| ReferenceFault::Missing(missing()))
}

fn read(path: &Path) -> Result<String, ReferenceFault> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        ReferenceFault::Missing(format!("{} cannot be read ({})", path.display(), plain_io(&error)))
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn cut_text(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn resolve_replaces_references() {
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
                resolve_references(text, &environment, &mut Vec::new()).as_deref(),
                Ok(expected),
                "{text}"
            );
            assert_eq!(check_references(text), Ok(()), "{text}");
        }
        let table = [
            ("${NO}", "the environment variable NO is not set"),
            ("${file:/nowhere}", "/nowhere cannot be read (No such file or directory)"),
        ];
        for (text, error) in table {
            let missing = Err(ReferenceFault::Missing(error.to_owned()));
            assert_eq!(resolve_references(text, &environment, &mut Vec::new()), missing);
            assert_eq!(check_references(text), Ok(()), "{text}");
        }
        let table = [
            ("${KEY", "\"${KEY\" lacks a closing brace"),
            ("${credential:../key}", "\"../key\" is not the name of a credential"),
            ("${credential:}", "\"\" is not the name of a credential"),
        ];
        for (text, error) in table {
            let malformed = ReferenceFault::Malformed(error.to_owned());
            assert_eq!(
                resolve_references(text, &environment, &mut Vec::new()),
                Err(malformed.clone())
            );
            assert_eq!(check_references(text), Err(malformed));
        }
        let Err(ReferenceFault::Missing(none)) =
            resolve_references("${credential:key}", &|_| None, &mut Vec::new())
        else {
            panic!("there is a credential");
        };
        assert!(none.contains("LoadCredential="), "{none}");
    }
}
