//! Reads one server as other programs describe it. A key of an odd type costs the server only if the
//! server cannot work without it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The keys that are read, by their meaning.
const COMMAND: [&str; 2] = ["command", "cmd"];
const ARGS: [&str; 2] = ["args", "arguments"];
const ENV: [&str; 3] = ["env", "environment", "envs"];
const URL: [&str; 8] =
    ["url", "serverUrl", "httpUrl", "server_url", "uri", "endpoint", "baseUrl", "base_url"];
const HEADERS: [&str; 2] = ["headers", "http_headers"];
const KIND: [&str; 4] = ["type", "transport", "transportType", "transport_type"];
/// The keys that switch a server off if they are true, and those that do so if they are false.
const DISABLED: [&str; 2] = ["disabled", "disable"];
const ENABLED: [&str; 4] = ["enabled", "enable", "isActive", "active"];
/// The keys that say nothing about the way to reach the server.
const WITHOUT_EFFECT: [&str; 10] = [
    "bundled",
    "description",
    "display_name",
    "gallery",
    "id",
    "name",
    "source",
    "title",
    "version",
    "$schema",
];
/// The kinds of Goose's own parts.
const OWN_PARTS: [&str; 4] = ["builtin", "platform", "frontend", "inline_python"];
/// The shells of Windows that run a command after `/c`.
const WINDOWS_SHELLS: [&str; 2] = ["cmd", "cmd.exe"];
/// The ends of programs on Windows.
const WINDOWS_ENDS: [&str; 3] = [".cmd", ".exe", ".bat"];

/// A server, before its references are rewritten.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    /// The program, and its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) kind: Option<String>,
    pub(crate) is_disabled: bool,
    /// Remarks, without the name of the server.
    pub(crate) remarks: Vec<String>,
}

impl ServerEntry {
    /// Reads a server.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub(crate) fn read(entry: Value) -> Result<Self, String> {
        let mut object = match entry {
            Value::Object(object) => object,
            Value::String(text) if text.starts_with("http") => {
                Map::from_iter([("url".to_owned(), Value::String(text))])
            }
            _ => return Err("it is no object with command or url".to_owned()),
        };
        let mut read = Self::default();
        // Older versions of Continue.
        if let Some(Value::Object(transport)) = object.get("transport").cloned() {
            object.remove("transport");
            object.extend(transport);
        }
        for (keys, off) in [(&DISABLED[..], true), (&ENABLED[..], false)] {
            for key in keys {
                let value = object.remove(*key);
                read.is_disabled |= value.as_ref().and_then(as_bool) == Some(off);
            }
        }
        read.kind = take_first(&mut object, &KIND).and_then(|kind| as_text(&kind));
        read.url = take_first(&mut object, &URL).and_then(|url| as_text(&url));
        if let Some(kind) = read.kind.as_deref().filter(|kind| OWN_PARTS.contains(kind)) {
            return Err(format!("it is a part of the other program (its type is {kind:?})"));
        }
        read.read_command(&mut object)?;
        read.read_env(&mut object)?;
        read.read_headers(&mut object)?;
        let others: Vec<String> = object
            .into_iter()
            .filter(|(key, value)| !value.is_null() && !WITHOUT_EFFECT.contains(&key.as_str()))
            .map(|(key, _)| key)
            .collect();
        if !others.is_empty() {
            read.remarks.push(format!("ignored {}", others.join(", ")));
        }
        Ok(read)
    }

    fn read_command(&mut self, object: &mut Map<String, Value>) -> Result<(), String> {
        let command = take_first(object, &COMMAND).unwrap_or_default();
        let args = take_first(object, &ARGS).unwrap_or_default();
        let mut words = match command {
            Value::Null => Vec::new(),
            Value::Array(_) => parse_texts(command, "command")?,
            // Older versions of Zed.
            Value::Object(mut command) => {
                let mut words = parse_texts(
                    take_first(&mut command, &["path", "command"]).unwrap_or_default(),
                    "command",
                )?;
                words.extend(parse_texts(
                    take_first(&mut command, &ARGS).unwrap_or_default(),
                    "args",
                )?);
                self.env.extend(parse_pairs(
                    take_first(&mut command, &ENV).unwrap_or_default(),
                    "env",
                )?);
                words
            }
            other => as_text(&other).filter(|text| !text.is_empty()).into_iter().collect(),
        };
        if let Value::String(args) = &args {
            self.remarks.push("its args are one text, and were divided at spaces".to_owned());
            words.extend(split_words(args));
        } else {
            words.extend(parse_texts(args, "args")?);
        }
        if let [line] = &*words
            && line.contains(' ')
            && !line.starts_with('/')
        {
            self.remarks.push("its command is a whole line, and was divided at spaces".to_owned());
            words = split_words(line);
        }
        self.command = self.without_windows(words);
        Ok(())
    }

    /// Removes what a command needs on Windows only: `cmd /c` in front, and the end of `npx.cmd`.
    fn without_windows(&mut self, mut words: Vec<String>) -> Vec<String> {
        let is_shell = |word: &String| WINDOWS_SHELLS.contains(&word.to_lowercase().as_str());
        if words.first().is_some_and(is_shell)
            && words.get(1).is_some_and(|flag| flag.eq_ignore_ascii_case("/c"))
            && words.len() > 2
        {
            words.drain(..2);
            if let [line] = &*words {
                words = split_words(line);
            }
            self.remarks.push("its command runs without `cmd /c`, the shell of Windows".to_owned());
        }
        if let Some(program) = words.first_mut()
            && !program.contains(['/', '\\'])
            && let Some(end) =
                WINDOWS_ENDS.iter().find(|end| program.to_lowercase().ends_with(*end))
        {
            program.truncate(program.len() - end.len());
        }
        words
    }

    fn read_env(&mut self, object: &mut Map<String, Value>) -> Result<(), String> {
        self.env.extend(parse_pairs(take_first(object, &ENV).unwrap_or_default(), "env")?);
        // Codex passes variables of its own environment on.
        let passed = parse_texts(object.remove("env_vars").unwrap_or_default(), "env_vars")?;
        // Goose keeps the values of these in the keyring of the system.
        let secret = parse_texts(object.remove("env_keys").unwrap_or_default(), "env_keys")?;
        for name in passed.into_iter().chain(secret) {
            let value = format!("${{{name}}}");
            self.env.entry(name).or_insert(value);
        }
        Ok(())
    }

    fn read_headers(&mut self, object: &mut Map<String, Value>) -> Result<(), String> {
        self.headers = parse_pairs(take_first(object, &HEADERS).unwrap_or_default(), "headers")?;
        for key in ["requestInit", "requestOptions"] {
            let Some(Value::Object(mut request)) = object.remove(key) else { continue };
            self.headers
                .extend(parse_pairs(request.remove("headers").unwrap_or_default(), "headers")?);
        }
        // Codex names variables of the environment.
        let named =
            parse_pairs(object.remove("env_http_headers").unwrap_or_default(), "env_http_headers")?;
        let named = named.into_iter().map(|(header, name)| (header, format!("${{{name}}}")));
        self.headers.extend(named);
        if let Some(name) = object.remove("bearer_token_env_var").as_ref().and_then(as_text) {
            self.headers.insert("Authorization".to_owned(), format!("Bearer ${{{name}}}"));
        }
        Ok(())
    }
}

/// Removes the first of these keys that has a value.
fn take_first(object: &mut Map<String, Value>, keys: &[&str]) -> Option<Value> {
    let found: Vec<Value> = keys.iter().filter_map(|key| object.remove(*key)).collect();
    found.into_iter().find(|value| !value.is_null())
}

/// Reads a boolean, perhaps as text or as a number.
fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(bool) => Some(*bool),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" | "" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a text; numbers and booleans become texts.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Reads a list of texts. A single text is a list of itself, and `null` an empty one.
fn parse_texts(value: Value, key: &str) -> Result<Vec<String>, String> {
    let values = match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Object(object) if object.is_empty() => Vec::new(),
        Value::Array(values) => values,
        single => vec![single],
    };
    let values = values.into_iter().filter(|value| !value.is_null());
    let text = |value: Value| {
        as_text(&value).ok_or_else(|| format!("`{key}` has a value that is no text: {value}"))
    };
    values.map(text).collect()
}

/// Reads names with texts: an object, or a list of `NAME=VALUE` or of objects with `name` and `value`.
fn parse_pairs(value: Value, key: &str) -> Result<BTreeMap<String, String>, String> {
    let no_pair = |value: &Value| format!("`{key}` has a value that is no text: {value}");
    let entries: Vec<(String, Value)> = match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::Object(object) => object.into_iter().collect(),
        Value::Array(values) => {
            let pair = |value: Value| match &value {
                Value::String(text) => {
                    let (name, text) =
                        text.split_once(['=', ':']).ok_or_else(|| no_pair(&value))?;
                    Ok((name.trim().to_owned(), Value::from(text.trim())))
                }
                other => {
                    let name = ["name", "key"].iter().find_map(|key| other[*key].as_str());
                    let name = name.ok_or_else(|| no_pair(other))?;
                    Ok((name.to_owned(), other["value"].clone()))
                }
            };
            values.into_iter().map(pair).collect::<Result<_, String>>()?
        }
        other => return Err(no_pair(&other)),
    };
    let entries = entries.into_iter().filter(|(_, value)| !value.is_null());
    Ok(entries
        .map(|(name, value)| (name, as_text(&value).unwrap_or_else(|| value.to_string())))
        .collect())
}

/// Divides a line into words at spaces outside of quotation marks.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn read_takes_commands_in_every_form() {
        for (entry, words) in [
            (
                json!({"command": "x", "args": ["-p", 80, true, null]}),
                vec!["x", "-p", "80", "true"],
            ),
            (json!({"command": ["x", "-y"]}), vec!["x", "-y"]),
            (json!({"command": {"path": "x", "args": ["-y"]}}), vec!["x", "-y"]),
            (json!({"command": "npx -y 'a b'"}), vec!["npx", "-y", "a b"]),
            (json!({"command": "/opt/my tools/x"}), vec!["/opt/my tools/x"]),
            (json!({"command": "x", "args": "-y z"}), vec!["x", "-y", "z"]),
            (json!({"command": "x", "args": null, "env": null, "headers": null}), vec!["x"]),
            (json!({"cmd": "x"}), vec!["x"]),
            (json!({"command": "x", "args": {}, "env": "", "headers": false}), vec!["x"]),
            (json!({"command": "cmd", "args": ["/c", "npx", "-y", "z"]}), vec!["npx", "-y", "z"]),
            (json!({"command": "cmd.exe", "args": ["/C", "npx -y z"]}), vec!["npx", "-y", "z"]),
            (json!({"command": "cmd /c uvx z"}), vec!["uvx", "z"]),
            (json!({"command": "NPX.CMD", "args": ["z"]}), vec!["NPX", "z"]),
            (json!({"command": "./run.cmd"}), vec!["./run.cmd"]),
            (
                json!({"transport": {"type": "stdio", "command": "x", "args": ["-y"]}}),
                vec!["x", "-y"],
            ),
            (json!({"type": "stdio", "cmd": "x", "args": ["-y"], "envs": {}}), vec!["x", "-y"]),
        ] {
            assert_eq!(ServerEntry::read(entry.clone()).unwrap().command, words, "{entry}");
        }
        let refused = ServerEntry::read(json!({"command": "x", "args": [{}]})).unwrap_err();
        assert_eq!(refused, "`args` has a value that is no text: {}");
    }

    #[test]
    fn read_takes_variables_and_headers_in_every_form() {
        for (env, expected) in [
            (
                json!({"A": 1, "B": true, "C": null, "D": [1]}),
                vec![("A", "1"), ("B", "true"), ("D", "[1]")],
            ),
            (json!(["A=1", {"name": "B", "value": 2}]), vec![("A", "1"), ("B", "2")]),
            (json!(null), vec![]),
        ] {
            let read = ServerEntry::read(json!({"command": "x", "env": env})).unwrap().env;
            let read: Vec<_> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(read, expected, "{env}");
        }
        for (entry, expected) in [
            (json!({"headers": ["X: a:b", "Y=c"]}), vec![("X", "a:b"), ("Y", "c")]),
            (json!({"headers": [{"key": "X", "value": 1}]}), vec![("X", "1")]),
            (json!({"requestOptions": {"headers": {"X": "a"}}}), vec![("X", "a")]),
            (json!({"transport": {"requestInit": {"headers": {"X": "a"}}}}), vec![("X", "a")]),
        ] {
            let read = ServerEntry::read(entry.clone()).unwrap().headers;
            let read: Vec<_> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(read, expected, "{entry}");
        }
        let goose = json!({"cmd": "x", "envs": {"A": "1"}, "env_keys": ["A", "B"]});
        let env = ServerEntry::read(goose).unwrap().env;
        assert_eq!((&*env["A"], &*env["B"]), ("1", "${B}"));
        let codex =
            json!({"url": "u", "bearer_token_env_var": "T", "env_http_headers": {"X": "Y"}});
        let headers = ServerEntry::read(codex).unwrap().headers;
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(headers, [("Authorization", "Bearer ${T}"), ("X", "${Y}")]);
    }

    #[test]
    fn read_takes_disabled_and_enabled_of_any_type() {
        for (key, value, is_disabled) in [
            ("disabled", json!("true"), true),
            ("disabled", json!(1), true),
            ("disabled", json!("no"), false),
            ("disabled", json!([]), false),
            ("enabled", json!(false), true),
            ("enabled", json!("false"), true),
            ("enabled", json!(null), false),
            ("isActive", json!(false), true),
            ("isActive", json!(true), false),
            ("disable", json!(true), true),
        ] {
            let read = ServerEntry::read(json!({"command": "x", key: value})).unwrap();
            assert_eq!(read.is_disabled, is_disabled, "{key} {value}");
        }
    }
}
