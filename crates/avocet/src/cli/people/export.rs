//! `avocet people export`: everything of a person in a folder, as JSON, as Markdown and as files.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use avocet_protocol::access::PersonId;
use avocet_protocol::clock::Timestamp;
use avocet_store::PersonData;
use avocet_text::append_line;
use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::cli::erase::{unknown_person, workspace_files};
use crate::cli::reach::open_log_read_only;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::environment::{absolute_path, system_zone};
use crate::exit::{Exit, Failure};
use crate::output::{format_moment, print_result};
use crate::redaction;

#[derive(Debug, Args)]
pub(crate) struct PeopleExportArgs {
    /// Person, as channel:account:sender in `avocet people list`.
    person: PersonId,
    /// New folder for the data. Default: a folder with the name of the person, here.
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn export_person(
    context: &CommandContext,
    export: PeopleExportArgs,
) -> Result<Exit, Failure> {
    let PeopleExportArgs { person, to, json } = export;
    // Loads the secrets that are known here, to keep them out of the export.
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let Some(log) = open_log_read_only(context, &configuration)? else {
        return Err(Failure::new(Exit::Failed, unknown_person(&[], &person)));
    };
    let data = log.person_data(&person).await?;
    if data.is_empty() {
        let known = log.known_people().await?;
        return Err(Failure::new(Exit::Failed, unknown_person(&known, &person)));
    }
    let files = workspace_files(&configuration, &data.ids);
    let folder = absolute_path(&to.unwrap_or_else(|| default_folder(&person)))?;
    write_folder(&folder, &person, &data, &files).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot write {}: {error}", folder.display()))
    })?;
    let rows: Map<String, Value> =
        data.sections.iter().map(|(name, rows)| ((*name).to_owned(), rows.len().into())).collect();
    let value = json!({ "folder": folder, "rows": rows, "files": files.len() });
    print_result(json, &value, || {
        let rows: usize = data.sections.iter().map(|(_, rows)| rows.len()).sum();
        format!(
            "{}: {rows} rows in data.json and README.md, and {} files.\n",
            folder.display(),
            files.len()
        )
    })
}

/// Returns a name without characters that are special in paths.
fn default_folder(person: &PersonId) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.@".contains(c) { c } else { '-' };
    let name: String = person.to_string().chars().map(safe).collect();
    format!("avocet-{name}").into()
}

fn write_folder(
    folder: &Path,
    person: &PersonId,
    data: &PersonData,
    files: &[PathBuf],
) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    let mut all = Map::new();
    all.insert("person".to_owned(), person.to_string().into());
    for (name, rows) in &data.sections {
        all.insert((*name).to_owned(), rows.iter().cloned().map(Value::Object).collect());
    }
    let mut all = Value::Object(all);
    redaction::shared_redactor().redact_json(&mut all);
    fs::write(folder.join("data.json"), format!("{all:#}\n"))?;
    fs::write(folder.join("README.md"), person_markdown(&all, &system_zone()))?;
    if !files.is_empty() {
        fs::create_dir(folder.join("files"))?;
    }
    for file in files {
        let name = file.file_name().unwrap_or_default();
        // A symbolic link of the workspace may lead anywhere.
        if fs::symlink_metadata(file)?.is_file() {
            fs::copy(file, folder.join("files").join(name))?;
        }
    }
    Ok(())
}

/// Formats the data for people: one section for each kind, one entry for each row.
fn person_markdown(data: &Value, zone: &TimeZone) -> String {
    let mut text = format!("# Data of {}\n", data["person"].as_str().unwrap_or_default());
    let sections = data.as_object().into_iter().flatten();
    for (name, rows) in sections {
        let Some(rows) = rows.as_array().filter(|rows| !rows.is_empty()) else { continue };
        append_line(&mut text, format_args!("\n## {}", title(name)));
        for row in rows.iter().filter_map(Value::as_object) {
            text.push('\n');
            for (place, (key, value)) in row.iter().enumerate() {
                let sign = if place == 0 { "-" } else { " " };
                let value = field_text(key, value, zone).replace('\n', "\n    ");
                append_line(&mut text, format_args!("{sign} {}: {value}", title(key)));
            }
        }
    }
    text
}

fn title(name: &str) -> String {
    name.replace('_', " ")
}

/// Returns a value in words: times as dates, and the text of a message without its JSON.
fn field_text(key: &str, value: &Value, zone: &TimeZone) -> String {
    match value {
        Value::Number(number) if key == "at" || key == "since" || key.ends_with("_at") => {
            format_moment(Timestamp(number.as_i64().unwrap_or_default()), zone)
        }
        Value::String(text) => text.clone(),
        Value::Object(content) if key == "content" && content.len() == 1 => {
            content.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn person_markdown_shows_texts_and_times() {
        let data = json!({
            "person": "telegram:main:7",
            "messages": [{ "id": 1, "content": { "text": "one\ntwo" }, "received_at": 0 }],
            "rules": [],
        });
        assert_eq!(
            person_markdown(&data, &TimeZone::UTC),
            "# Data of telegram:main:7\n\n## messages\n\n- id: 1\n  content: one\n    two\n  \
             received at: 1970-01-01 00:00\n"
        );
    }

    #[test]
    fn default_folder_has_no_special_characters() {
        let person = "matrix:main:@ann/x:example.org".parse();
        let folder = person.map(|person| default_folder(&person));
        assert!(folder.is_err() || !folder.unwrap().to_string_lossy().contains(['/', ':']));
    }
}
