//! Reads MCP servers from the files of other programs. A server that cannot be used costs no other
//! one: it is named with its reason.

mod entry;
mod known_files;
mod loose_json;
mod references;
mod yaml;

use std::collections::BTreeMap;

use avocet_net::{check_header, check_url};
use avocet_text::Secret;
use serde::Serialize;

use crate::components::mcp::edit::ServerTable;
use crate::components::mcp::server_name::{MAX_NAME, plain_name, shorten_name};

use entry::ServerEntry;
use known_files::{FoundServer, FoundServers, find_servers};
use references::{References, variable_name};

/// Parts of a variable's name that mean a secret.
const SECRET_WORDS: [&str; 8] =
    ["token", "key", "secret", "password", "passwd", "auth", "credential", "cookie"];

/// The servers of a file, and remarks for the operator.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    pub(crate) servers: Vec<ServerTable>,
    /// The servers that are left out.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) warnings: Vec<String>,
}

/// A server of a file that is not added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Its name in the file.
    pub(crate) name: String,
    pub(crate) reason: String,
    /// `true` if the file itself switches the server off.
    #[serde(skip)]
    pub(crate) is_disabled: bool,
}

/// Reads all servers of a text, or the one of this name. `home` is the home directory of the user.
///
/// # Errors
/// The reason, as a sentence, if the text has another form or no server of it can be used.
pub(crate) fn import_servers(
    text: &str,
    only: Option<&str>,
    home: Option<&str>,
) -> Result<Imported, String> {
    let FoundServers { servers, inputs } = find_servers(text)?;
    let references = References { inputs: &inputs, home };
    let mut imported = Imported::default();
    let is_single = servers.len() == 1 && servers.iter().all(|server| server.name.is_empty());
    for mut server in servers {
        if is_single && let Some(only) = only {
            // The file is the table of one server, which has no name there.
            server.name = only.to_owned();
        }
        let is_meant = |only: &str| only == server.name || only == plain_name(&server.name);
        if only.is_none_or(is_meant) {
            imported.add(server, references);
        }
    }
    let Imported { servers, left_out, .. } = &imported;
    if servers.is_empty() {
        let what =
            only.map_or_else(|| "no server".to_owned(), |name| format!("no server {name:?}"));
        return Err(match &**left_out {
            [] => format!("the file has {what} to add"),
            refused => format!("the file has {what} that can be added:{}", reasons_text(refused)),
        });
    }
    Ok(imported)
}

/// Decodes a file in UTF-8, or in UTF-16 with a byte order mark, as Windows writes it.
///
/// # Errors
/// The reason, as a part of a sentence.
pub(crate) fn decode_file(bytes: Vec<u8>) -> Result<String, String> {
    let units: fn([u8; 2]) -> u16 = match *bytes {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()),
    };
    let units: Vec<u16> =
        bytes[2..].chunks_exact(2).map(|pair| units([pair[0], pair[1]])).collect();
    Ok(String::from_utf16_lossy(&units))
}

/// Returns the reasons for the servers that are left out, as a part of a sentence.
pub(crate) fn reasons_text(left_out: &[LeftOut]) -> String {
    let reasons = left_out.iter().map(|one| format!(" server {:?}: {}", one.name, one.reason));
    reasons.collect::<Vec<_>>().join(";")
}

impl Imported {
    fn add(&mut self, server: FoundServer, references: References<'_>) {
        let FoundServer { name, entry, project } = server;
        let shown = match &project {
            Some(project) => format!("{name} of the project {project}"),
            None => name.clone(),
        };
        let mut remarks = Vec::new();
        let table = ServerEntry::read(entry).and_then(|entry| {
            if entry.is_disabled {
                return Ok(None);
            }
            convert_entry(&name, entry, references, &mut remarks).map(Some)
        });
        let left_out = |reason: String, is_disabled: bool| LeftOut {
            name: shown.clone(),
            reason,
            is_disabled,
        };
        match table {
            Ok(Some(table)) if self.has_same(&table) => {}
            Ok(Some(mut table)) => {
                table.name = self.free_name(table.name);
                if table.name != name {
                    remarks.push(format!("its name here is {}", table.name));
                }
                self.servers.push(table);
            }
            Ok(None) => self.left_out.push(left_out("it is disabled in the file".to_owned(), true)),
            Err(reason) => self.left_out.push(left_out(reason, false)),
        }
        remarks.dedup();
        self.warnings.extend(remarks.iter().map(|remark| format!("server {shown:?}: {remark}")));
    }

    /// Returns `true` if the same server is there already, perhaps of another project.
    fn has_same(&self, table: &ServerTable) -> bool {
        self.servers.contains(table)
    }

    /// Returns a name that no other server of the file has.
    fn free_name(&self, name: String) -> String {
        let is_free = |name: &String| self.servers.iter().all(|other| other.name != *name);
        let numbered =
            (2..).map(|number| format!("{}-{number}", shorten_name(&name, MAX_NAME - 4)));
        [name.clone()].into_iter().chain(numbered).find(is_free).unwrap_or(name)
    }
}

/// Makes the table of a server. Adds remarks about what has changed.
fn convert_entry(
    name: &str,
    entry: ServerEntry,
    references: References<'_>,
    remarks: &mut Vec<String>,
) -> Result<ServerTable, String> {
    let ServerEntry { command, env, url, headers, kind, remarks: found, .. } = entry;
    remarks.extend(found);
    let mut rewrite = |text: String| {
        let rewritten = references.rewrite(&text)?;
        remarks.extend(rewritten.remarks);
        Ok::<_, String>(rewritten.text)
    };
    let command = command.into_iter().map(&mut rewrite).collect::<Result<Vec<_>, _>>()?;
    let command: Vec<String> =
        command.into_iter().map(|word| references.expand_home(word)).collect();
    let mut rewrite_pairs = |pairs: BTreeMap<String, String>| {
        let pairs = pairs
            .into_iter()
            .map(|(key, text)| Ok((key, rewrite(References::with_braces(&text))?)));
        pairs.collect::<Result<BTreeMap<_, _>, String>>()
    };
    let (env, headers) = (rewrite_pairs(env)?, rewrite_pairs(headers)?);
    // A configuration here prefers the command, so the URL would be ignored.
    let url = url.filter(|_| command.is_empty()).map(&mut rewrite).transpose()?;
    let mut command = command.into_iter();
    let program = command.next();
    let Some(reached_by) = program.as_ref().or(url.as_ref()) else {
        return Err("it has neither command nor url".to_owned());
    };
    if reached_by.is_empty() {
        return Err("its command or url is empty".to_owned());
    }
    if let Some(url) = &url {
        check_address(url, kind.as_deref())?;
        if kind.as_deref() == Some("sse") {
            remarks.push(
                "the transport \"sse\" is out of use; its URL is tried with streamable HTTP"
                    .to_owned(),
            );
        }
        for (name, value) in &headers {
            check_header(name, &Secret::new(value.clone())).map_err(|error| error.to_string())?;
        }
    }
    Ok(ServerTable {
        name: plain_name(name),
        command: program,
        args: command.collect(),
        env,
        url,
        headers,
        ..ServerTable::default()
    })
}

/// Checks a URL whose references have no values yet.
fn check_address(url: &str, kind: Option<&str>) -> Result<(), String> {
    let mut plain = url.to_owned();
    while let Some((start, end)) = plain.find("${").and_then(|start| {
        let end = plain[start..].find('}')? + start;
        Some((start, end))
    }) {
        plain.replace_range(start..=end, if start == 0 { "http://x" } else { "x" });
    }
    check_url(&plain).map_err(|error| match kind {
        Some(kind @ ("ws" | "websocket")) => {
            format!("the transport {kind:?} is not supported; its URL has to begin with https://")
        }
        _ => format!("its url cannot be used: {error}"),
    })
}

/// Returns a remark for each secret that stands in the configuration itself.
pub(crate) fn literal_secrets(server: &ServerTable) -> Vec<String> {
    let remark = |kind: &str, key: &String| {
        let variable = variable_name(&format!("{}_{key}", server.name));
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
