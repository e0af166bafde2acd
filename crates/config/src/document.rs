//! A parsed configuration file: its values, and the position of each in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use avocet_protocol::daemon::MAX_CONFIG_BYTES;
use avocet_text::{Secret, plain_error, plain_io};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toml::de::DeTable;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::keys::{has_free_keys, known_keys, schema, suggest_key, table_properties};
use crate::reader::{TableReader, UnresolvedValue, UsedReferences, is_for_secrets};
use crate::syntax;

/// A parsed configuration file with its references to secrets replaced. [`ConfigDocument::table`] turns a
/// table into a type.
#[derive(Debug, Clone)]
pub struct ConfigDocument {
    path: Option<PathBuf>,
    text: String,
    pub(crate) root: Value,
    /// The position of each value's key, by its path: `agents.defaults.model`.
    pub(crate) spans: BTreeMap<String, Range<usize>>,
    /// The paths of values that came from a reference. Errors must hide them.
    pub(crate) secret: BTreeSet<String>,
    /// The values of references, and the contents of keys for secrets.
    pub(crate) secrets: Vec<Secret>,
    pub(crate) unresolved: Vec<UnresolvedValue>,
}

impl ConfigDocument {
    /// Creates a document without a file: every key has its default.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            path: None,
            text: String::new(),
            root: Value::Object(Map::new()),
            spans: BTreeMap::new(),
            secret: BTreeSet::new(),
            secrets: Vec::new(),
            unresolved: Vec::new(),
        }
    }

    /// Reads a file and replaces the given references.
    ///
    /// # Errors
    /// [`ConfigError`] if the file is unreadable or invalid TOML, or if a reference has no value.
    pub fn read(
        path: &Path,
        environment: Environment<'_>,
        references: UsedReferences,
    ) -> Result<Self, ConfigError> {
        let unreadable = |message: String| ConfigError {
            path: Some(path.to_owned()),
            place: None,
            key: None,
            is_unknown_key: false,
            message,
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map(|file| file.take(MAX_CONFIG_BYTES as u64 + 1));
        file.and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| {
            match error.kind() {
                ErrorKind::NotFound => unreadable("there is no such file".to_owned()),
                _ => unreadable(format!("it cannot be read ({})", plain_io(&error))),
            }
        })?;
        if bytes.len() > MAX_CONFIG_BYTES {
            let message =
                format!("it has more than {MAX_CONFIG_BYTES} bytes, the limit of a configuration");
            return Err(unreadable(message));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            unreadable(format!("it is not UTF-8 text (at byte {at})"))
        })?;
        Self::parse_with(text, Some(path.to_owned()), environment, references)
    }

    /// Reads a text and replaces every reference.
    ///
    /// # Errors
    /// [`ConfigError`] if the text is invalid TOML, or if a reference has no value.
    pub fn parse(
        text: String,
        path: Option<PathBuf>,
        environment: Environment<'_>,
    ) -> Result<Self, ConfigError> {
        Self::parse_with(text, path, environment, UsedReferences::All)
    }

    /// Reads a text and replaces the given references.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_with(
        text: String,
        path: Option<PathBuf>,
        environment: Environment<'_>,
        references: UsedReferences,
    ) -> Result<Self, ConfigError> {
        let mut document = Self { path, text, ..Self::empty() };
        let text = document.text.clone();
        match DeTable::parse(&text) {
            Ok(table) => {
                let reader = TableReader { environment, references };
                document.root = reader.read_table(&mut document, "", table.get_ref())?;
                Ok(document)
            }
            Err(error) => {
                Err(document.error_in_span(error.span(), syntax::plain_message(error.message())))
            }
        }
    }

    /// Reads the table at `path` as a type, which has to refuse unknown keys itself
    /// (`#[serde(deny_unknown_fields)]`). A missing table counts as empty.
    ///
    /// # Errors
    /// [`ConfigError`] with the name and position of the first key that is unknown or has a wrong
    /// value.
    pub fn table<T: DeserializeOwned + JsonSchema>(&self, path: &str) -> Result<T, ConfigError> {
        self.table_without::<T>(path, &[])
    }

    /// Works as [`Self::table`], but leaves out the keys `without`, such as those that select the
    /// type.
    ///
    /// # Errors
    /// As [`Self::table`].
    pub fn table_without<T: DeserializeOwned + JsonSchema>(
        &self,
        path: &str,
        without: &[&str],
    ) -> Result<T, ConfigError> {
        let mut table = self.keys_at(path)?;
        for key in without {
            table.remove(*key);
        }
        let table = Value::Object(table);
        // The type refuses unknown keys, too. Its schema only words the error better, and takes longer
        // than all the rest of a small configuration.
        self.read_as(path, table.clone()).or_else(|error| {
            self.check_table::<T>(path, &table, without)?;
            Err(error)
        })
    }

    /// Returns the keys of the table at `path`. A missing table counts as empty.
    pub(crate) fn keys_at(&self, path: &str) -> Result<Map<String, Value>, ConfigError> {
        match self.get(path) {
            None => Ok(Map::new()),
            Some(Value::Object(table)) => Ok(table.clone()),
            Some(_) => Err(self.error_at(path, format!("`{path}` is not a table"))),
        }
    }

    /// Reads `value`, which stands at `path`, as a type.
    pub(crate) fn read_as<T: DeserializeOwned>(
        &self,
        path: &str,
        value: Value,
    ) -> Result<T, ConfigError> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let (at, error) = (error.path().to_string(), error.into_inner().to_string());
            let at = self.with_key(join_path(path, &at), &error);
            let message = if self.secret.contains(&at) {
                "the value that is referred to has the wrong type".to_owned()
            } else if is_for_secrets(&at) {
                "a secret is text in quotation marks".to_owned()
            } else {
                plain_error(&error)
            };
            self.error_at(&at, format!("`{at}`: {message}"))
        })
    }

    /// Returns the path of an error. A path that ends with `?` concerns a key of a table; the error
    /// names the key.
    fn with_key(&self, path: String, error: &str) -> String {
        let key = path.strip_suffix("?").zip(error.split('`').nth(1));
        let named = key.map(|(table, key)| format!("{table}{key}"));
        named.filter(|named| self.spans.contains_key(named)).unwrap_or(path)
    }

    /// Returns the value at a path like `providers.local.kind`. Names in the path may contain dots.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        find_value(&self.root, path)
    }

    /// Returns the text of the file, before references are replaced.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the document has no key at all.
    #[must_use]
    pub fn has_no_keys(&self) -> bool {
        self.root.as_object().is_none_or(Map::is_empty)
    }

    /// Returns the document's secrets: the values of references, also those inside a longer text,
    /// and the contents of keys for secrets.
    #[must_use]
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Returns the values that were left out because a reference in them has no value here.
    #[must_use]
    pub fn unresolved_values(&self) -> &[UnresolvedValue] {
        &self.unresolved
    }

    /// Returns `true` if all of the value at a path was read. Secrets that were left out are
    /// ignored, because the value has a placeholder for them.
    #[must_use]
    pub fn is_whole(&self, path: &str) -> bool {
        let below = |other: &str| {
            let rest = other.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !self.unresolved.iter().any(|one| below(&one.key) && !is_for_secrets(&one.key))
    }

    /// Returns `true` if the value at a path was left out.
    #[must_use]
    pub fn is_unresolved(&self, path: &str) -> bool {
        self.unresolved.iter().any(|one| one.key == path)
    }

    /// Returns the path of the file; `None` if there was no file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the value at a path for use in an error: hidden if it came from a reference.
    #[must_use]
    pub fn hide_reference<'v>(&self, path: &str, value: &'v str) -> &'v str {
        if self.secret.contains(path) { "(hidden: it comes from a reference)" } else { value }
    }

    /// Creates an error about the value at a path.
    #[must_use]
    pub fn error_at(&self, path: &str, message: String) -> ConfigError {
        let key = Some(path.to_owned()).filter(|path| !path.is_empty());
        ConfigError { key, ..self.error_in_span(self.spans.get(path).cloned(), message) }
    }

    /// Creates an error about a key that is not one of `known`.
    #[must_use]
    pub fn unknown_key(&self, path: &str, known: &[&str]) -> ConfigError {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let place = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
        let meant = suggest_key(key, known);
        let error = self.error_at(path, format!("unknown key `{key}`{place}; {meant}"));
        ConfigError { is_unknown_key: true, ..error }
    }

    pub(crate) fn error_in_span(&self, span: Option<Range<usize>>, message: String) -> ConfigError {
        let place = span.map(|span| {
            let before = &self.text[..self.text.floor_char_boundary(span.start)];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            (line, column)
        });
        ConfigError { path: self.path.clone(), place, key: None, is_unknown_key: false, message }
    }

    /// Checks that a table has only keys that its type has, or `also`.
    pub(crate) fn check_table<T: JsonSchema>(
        &self,
        path: &str,
        table: &Value,
        also: &[&str],
    ) -> Result<(), ConfigError> {
        if table.as_object().is_none_or(Map::is_empty) {
            return Ok(());
        }
        let mut schema = schema::<T>();
        for key in also {
            schema["properties"][*key] = Value::Bool(true);
        }
        self.check_keys(path, table, &schema)
    }

    fn check_keys(&self, path: &str, value: &Value, schema: &Value) -> Result<(), ConfigError> {
        let (Some(table), Some(known)) = (value.as_object(), known_keys(schema)) else {
            return Ok(());
        };
        for (key, value) in table {
            let at = join_path(path, key);
            if !known.contains(&key.as_str()) {
                if has_free_keys(schema) {
                    continue;
                }
                return Err(self.unknown_key(&at, &known));
            }
            self.check_keys(&at, value, &table_properties(schema)[key])?;
        }
        Ok(())
    }
}

fn find_value<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    let below = |(dot, _): (usize, &str)| find_value(value.get(&path[..dot])?, &path[dot + 1..]);
    value.get(path).or_else(|| path.match_indices('.').find_map(below))
}

pub(crate) fn join_path(path: &str, key: &str) -> String {
    match (path, key) {
        ("", key) => key.to_owned(),
        (path, "" | ".") => path.to_owned(),
        (path, place) if place.starts_with('[') => format!("{path}{place}"),
        (path, key) => format!("{path}.{key}"),
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
