//! Reads MCP servers from the JSON files of other programs: `{"mcpServers": {NAME: {...}}}`, or
//! `servers` in place of `mcpServers`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::edit::ServerTable;

/// The longest name of a server, in bytes.
const MAX_NAME: usize = 32;

/// Parts of a variable's name that mean a secret.
const SECRET_WORDS: [&str; 8] =
    ["token", "key", "secret", "password", "passwd", "auth", "credential", "cookie"];

/// The servers of a file, and remarks for the operator.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    pub(crate) servers: Vec<ServerTable>,
    pub(crate) warnings: Vec<String>,
}

/// A server as other programs describe it.
#[derive(Debug, Deserialize)]
struct JsonServer {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Value>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(rename = "type", alias = "transport")]
    kind: Option<String>,
    #[serde(default)]
    disabled: bool,
    /// Keys that have no counterpart here.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Reads all servers of a JSON text, or the one of this name.
///
/// # Errors
/// The reason, as a sentence, if the text has another form or names no server.
pub(crate) fn servers(text: &str, only: Option<&str>) -> Result<Imported, String> {
    let found = table(text)?;
    let mut imported = Imported::default();
    for (name, entry) in found {
        if only.is_none_or(|only| only == name) {
            imported.add(&name, entry)?;
        }
    }
    if imported.servers.is_empty() {
        let what =
            only.map_or_else(|| "no server".to_owned(), |name| format!("no server {name:?}"));
        return Err(format!("the file has {what} to add"));
    }
    Ok(imported)
}

/// Finds the table of servers in a JSON text.
fn table(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let document: Value =
        serde_json::from_str(text).map_err(|error| format!("the file is not JSON: {error}"))?;
    let paths = ["/mcpServers", "/servers", "/mcp/servers", "/mcp/mcpServers"];
    match paths.iter().find_map(|path| document.pointer(path)) {
        Some(Value::Object(servers)) => Ok(servers.clone()),
        _ => Err("the file has no object \"mcpServers\" or \"servers\"; give a file like \
            {\"mcpServers\": {\"NAME\": {\"command\": \"...\", \"args\": []}}}"
            .to_owned()),
    }
}

impl Imported {
    fn add(&mut self, name: &str, entry: Value) -> Result<(), String> {
        let at = |reason: String| format!("server {name:?}: {reason}");
        let entry: JsonServer =
            serde_json::from_value(entry).map_err(|error| at(error.to_string()))?;
        if entry.disabled {
            self.warnings.push(at("left out, because it is disabled in the file".to_owned()));
            return Ok(());
        }
        self.warn_of_ignored(name, &entry);
        let server = self.converted(name, entry).map_err(at)?;
        if let Some(other) = self.servers.iter().find(|other| other.name == server.name) {
            let reason =
                format!("another server becomes {:?}, too; rename one of them", other.name);
            return Err(at(reason));
        }
        if server.name != name {
            self.warnings.push(at(format!("its name here is {}", server.name)));
        }
        self.servers.push(server);
        Ok(())
    }

    fn warn_of_ignored(&mut self, name: &str, entry: &JsonServer) {
        if !entry.others.is_empty() {
            let keys: Vec<_> = entry.others.keys().map(String::as_str).collect();
            self.warnings.push(format!("server {name:?}: ignored {}", keys.join(", ")));
        }
        if entry.kind.as_deref() == Some("sse") {
            self.warnings.push(format!(
                "server {name:?}: the transport \"sse\" is out of use; its URL is tried with \
                    streamable HTTP"
            ));
        }
    }

    fn converted(&mut self, name: &str, entry: JsonServer) -> Result<ServerTable, String> {
        let JsonServer { command, args, env, url, headers, .. } = entry;
        let mut converted = |text: String| {
            let (text, variables) = references(&text)?;
            self.warnings.extend(variables.into_iter().map(|variable| {
                format!("server {name:?}: set {variable} in the environment of the daemon")
            }));
            Ok::<_, String>(text)
        };
        let mut pairs = |pairs: BTreeMap<String, String>| {
            let pairs = pairs.into_iter().map(|(key, text)| Ok((key, converted(text)?)));
            pairs.collect::<Result<BTreeMap<_, _>, String>>()
        };
        let env = pairs(env.into_iter().map(|(key, value)| (key, plain(value))).collect())?;
        let headers = pairs(headers)?;
        let args = args.into_iter().map(&mut converted).collect::<Result<_, _>>()?;
        let (command, url) =
            (command.map(&mut converted).transpose()?, url.map(converted).transpose()?);
        // A configuration here prefers the command, so the URL would be ignored.
        let url = url.filter(|_| command.is_none());
        if command.is_none() && url.is_none() {
            return Err("it has neither command nor url".to_owned());
        }
        let name = valid_name(name)?;
        Ok(ServerTable { name, command, args, env, url, headers, ..ServerTable::default() })
    }
}

/// Returns a value of an environment as text: some files have numbers and booleans there.
fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Makes a name valid: lower-case letters, digits, `-`, and single `_` between them.
///
/// # Errors
/// The reason, if nothing is left of it or it is too long.
pub(crate) fn valid_name(name: &str) -> Result<String, String> {
    let valid = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '_' => c,
        _ => '-',
    };
    let mut name: String = name.chars().map(valid).collect();
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let name = name.trim_matches(['-', '_']).to_owned();
    match name.len() {
        0 => Err("the name has no letter or digit of ASCII; give another name".to_owned()),
        length if length > MAX_NAME => {
            Err(format!("the name has {length} characters; at most {MAX_NAME} are allowed"))
        }
        _ => Ok(name),
    }
}

/// Rewrites the references of other programs: `${env:NAME}` and `${input:name}` become `${NAME}`. Also
/// returns the variables that stand for inputs, which the operator has to set.
fn references(text: &str) -> Result<(String, Vec<String>), String> {
    let (mut rewritten, mut inputs) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((reference, after)) = after.split_once('}') else {
            return Err(format!("{text:?} lacks a closing brace"));
        };
        let name = match reference.split_once(':') {
            None => reference.to_owned(),
            Some(("env", name)) => name.to_owned(),
            Some(("input", name)) => {
                inputs.push(variable(name));
                variable(name)
            }
            Some(_) => String::new(),
        };
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_editor = ["workspaceFolder", "userHome", "cwd", "pathSeparator"].contains(&&*name);
        if name.is_empty() || is_editor || !name.chars().all(is_valid) {
            return Err(format!(
                "${{{reference}}} has no meaning here; replace it in the file with a value or \
                    with ${{NAME}}, a variable of the daemon's environment"
            ));
        }
        rewritten.push_str(before);
        rewritten.push_str(&format!("${{{name}}}"));
        rest = after;
    }
    rewritten.push_str(rest);
    Ok((rewritten, inputs))
}

/// Returns the variable of the environment that stands for an input.
fn variable(input: &str) -> String {
    let valid = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    input.chars().map(valid).collect()
}

/// Returns a remark for each secret that stands in the configuration itself.
pub(crate) fn literal_secrets(server: &ServerTable) -> Vec<String> {
    let remark = |kind: &str, key: &String| {
        let variable = variable(&format!("{}_{key}", server.name));
        format!(
            "server {}: {kind} {key} stands in the file in plain text; write ${{{variable}}} there, \
                and set {variable} in the environment of the daemon",
            server.name
        )
    };
    let is_secret = |(key, value): &(&String, &String)| {
        let key = key.to_ascii_lowercase();
        !value.is_empty()
            && !value.contains("${")
            && SECRET_WORDS.iter().any(|word| key.contains(word))
    };
    let env = server.env.iter().filter(is_secret).map(|(key, _)| remark("the variable", key));
    let headers = server.headers.iter().filter(is_secret).map(|(key, _)| remark("the header", key));
    env.chain(headers).collect()
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
