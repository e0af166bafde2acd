//! Rewrites the references of other programs to variables of the environment.

use std::collections::BTreeMap;

/// A text whose references are those of our configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// Remarks about the references, without the name of the server.
    pub(crate) remarks: Vec<String>,
}

/// The references in the texts of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct References<'r> {
    /// The descriptions of inputs, by their names.
    pub(crate) inputs: &'r BTreeMap<String, String>,
    /// The home directory of the user.
    pub(crate) home: Option<&'r str>,
}

/// References that only the other program can replace.
const OF_OTHERS: [&str; 12] = [
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "DOCUMENTS",
    "__dirname",
    "cwd",
    "extensionPath",
    "file",
    "userHome",
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspacePath",
];

/// The meaning of a reference.
enum Meaning {
    /// A variable of the environment.
    Variable(String),
    /// A text, and a remark.
    Text(String, Option<String>),
    /// Left to the program, such as `${A%b}` for a shell.
    Literal,
}

impl References<'_> {
    /// Rewrites `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:name}`, and `{env:NAME}` and
    /// `{file:PATH}` of opencode.
    ///
    /// # Errors
    /// The reason, if a reference has a meaning in an editor only.
    pub(crate) fn rewrite(&self, text: &str) -> Result<Rewritten, String> {
        let mut rewritten = Rewritten::default();
        let mut rest = text;
        while let Some(at) = next_reference(rest) {
            let (before, from) = rest.split_at(at);
            rewritten.text.push_str(before);
            if let Some((name, after)) = secret_of_continue(from) {
                rewritten.text.push_str(&format!("${{{name}}}"));
                rewritten.remarks.push(format!("set {name} in the environment of the daemon"));
                rest = after;
                continue;
            }
            let is_bare = from.starts_with('{');
            let inner = if is_bare { &from[1..] } else { &from[2..] };
            let Some((reference, after)) = inner.split_once('}') else {
                // No reference, so it is a text for the program.
                rewritten.text.push_str("$${");
                rewritten.text.push_str(inner);
                return Ok(rewritten);
            };
            rest = after;
            match self.find_meaning(reference)? {
                Meaning::Variable(name) => {
                    rewritten.text.push_str(&format!("${{{name}}}"));
                    if let Some(name) = reference.strip_prefix("input:") {
                        rewritten.remarks.push(self.remark_of_input(name));
                    }
                }
                Meaning::Text(text, remark) => {
                    rewritten.text.push_str(&text);
                    rewritten.remarks.extend(remark);
                }
                Meaning::Literal => rewritten.text.push_str(&format!("$${{{reference}}}")),
            }
        }
        rewritten.text.push_str(rest);
        Ok(rewritten)
    }

    /// Writes `$NAME` as `${NAME}`, as Gemini CLI reads variables and headers: a name in capitals that
    /// is the whole text, or a word of it.
    pub(crate) fn with_braces(text: &str) -> String {
        let words = text.split(' ').map(|word| match word.strip_prefix('$') {
            Some(name)
                if is_name(name)
                    && name.starts_with(|c: char| c.is_ascii_uppercase())
                    && !name.contains(|c: char| c.is_ascii_lowercase()) =>
            {
                format!("${{{name}}}")
            }
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Replaces `~/` at the start by the home directory.
    pub(crate) fn expand_home(&self, text: String) -> String {
        match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => format!("{home}/{rest}"),
            _ => text,
        }
    }

    fn find_meaning(&self, reference: &str) -> Result<Meaning, String> {
        if let Some((name, default)) = reference.split_once(":-")
            && is_name(name)
        {
            let remark = format!(
                "${{{reference}}} became its default {default:?}; write ${{{name}}} there to use the \
                 variable of the daemon"
            );
            return Ok(Meaning::Text(default.replace("${", "$${"), Some(remark)));
        }
        match reference.split_once(':') {
            Some(("env", name)) if is_name(name) => return Ok(Meaning::Variable(name.to_owned())),
            Some(("input", name)) => return Ok(Meaning::Variable(variable_name(name))),
            Some(("file", _)) => return Ok(Meaning::Variable(reference.to_owned())),
            _ => {}
        }
        match (reference, self.home) {
            ("userHome", Some(home)) => Ok(Meaning::Text(home.to_owned(), None)),
            ("pathSeparator" | "/", _) => Ok(Meaning::Text("/".to_owned(), None)),
            (name, _) if OF_OTHERS.contains(&name) => Err(format!(
                "${{{reference}}} has no meaning here; replace it in the file with a value or \
                     with ${{NAME}}, a variable of the daemon's environment"
            )),
            (name, _) if is_name(name) => Ok(Meaning::Variable(name.to_owned())),
            (other, _)
                if ["workspaceFolder:", "config:", "command:", "user_config."]
                    .iter()
                    .any(|start| other.starts_with(start)) =>
            {
                Err(format!(
                    "${{{other}}} has no meaning here; replace it in the file with a value"
                ))
            }
            _ => Ok(Meaning::Literal),
        }
    }

    fn remark_of_input(&self, name: &str) -> String {
        let described = self.inputs.get(name).map(|text| format!(" ({text})")).unwrap_or_default();
        format!("set {}{described} in the environment of the daemon", variable_name(name))
    }
}

/// Returns the name in `${{ secrets.NAME }}`, as Continue writes it, and the text after it.
fn secret_of_continue(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix("${{")?.split_once("}}")?;
    let (kind, name) = inner.trim().rsplit_once('.')?;
    let is_secret = ["secrets", "inputs", "env"].contains(&kind) && is_name(name);
    is_secret.then_some((name, after))
}

/// Returns the place of the next `${`, `{env:` or `{file:`.
fn next_reference(text: &str) -> Option<usize> {
    ["${", "{env:", "{file:"].iter().filter_map(|start| text.find(start)).min()
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_part)
}

/// Returns the variable of the environment that stands for an input.
pub(crate) fn variable_name(input: &str) -> String {
    let valid = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    input.chars().map(valid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrite_keeps_the_meaning_of_references() {
        let inputs = BTreeMap::from([("ha-token".to_owned(), "the token".to_owned())]);
        let references = References { inputs: &inputs, home: Some("/home/a") };
        for (text, expected, remark) in [
            ("plain $USER", "plain $USER", ""),
            ("${A} ${env:B}", "${A} ${B}", ""),
            ("Bearer ${input:ha-token}", "Bearer ${HA_TOKEN}", "set HA_TOKEN (the token) in"),
            ("${A:-/srv/x}/y", "/srv/x/y", "${A:-/srv/x} became its default \"/srv/x\""),
            ("${A:-}", "", "became its default \"\""),
            ("{env:A} {file:/run/key} {other}", "${A} ${file:/run/key} {other}", ""),
            ("${userHome}${/}x", "/home/a/x", ""),
            ("echo ${PWD%/*} ${A}", "echo $${PWD%/*} ${A}", ""),
            ("${A", "$${A", ""),
            ("x ${{ secrets.A_KEY }} y", "x ${A_KEY} y", "set A_KEY in the environment"),
            ("${{ other }}", "$${{ other }}", ""),
        ] {
            let rewritten = references.rewrite(text).unwrap();
            assert_eq!(rewritten.text, expected, "{text}");
            assert_eq!(rewritten.remarks.len(), usize::from(!remark.is_empty()), "{text}");
            assert!(rewritten.remarks.concat().contains(remark), "{rewritten:?}");
        }
        for text in [
            "${workspaceFolder}/x",
            "${cwd}",
            "${config:x}",
            "${command:pick}",
            "${extensionPath}${/}x",
            "${CLAUDE_PLUGIN_ROOT}/x",
            "${__dirname}/x",
            "${user_config.key}",
        ] {
            let error = references.rewrite(text).unwrap_err();
            assert!(error.contains("has no meaning here"), "{error}");
        }
    }

    #[test]
    fn with_braces_reads_the_variables_of_a_shell() {
        for (text, expected) in [
            ("$MY_TOKEN", "${MY_TOKEN}"),
            ("Bearer $TOKEN_2", "Bearer ${TOKEN_2}"),
            ("${A} pa$WORD $ $lower $5", "${A} pa$WORD $ $lower $5"),
            ("", ""),
        ] {
            assert_eq!(References::with_braces(text), expected, "{text}");
        }
    }
}
