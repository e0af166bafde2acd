//! Converts TOML to the values of a [`ConfigDocument`], and decides which references are replaced.

use std::ops::Range;

use avocet_text::Secret;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::document::join_path;
use crate::refer::{self, ReferenceFault};
use crate::{ConfigDocument, ConfigError, Environment};

/// Selects the references that a document replaces: those whose values are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedReferences {
    /// All references; one without a value is an error.
    All,
    /// References that have a value in this environment. The others are in
    /// [`ConfigDocument::unresolved_values`].
    Possible,
    /// Only the references in [`PLACES`]; one without a value is an error. The others are ignored.
    Places,
}

/// The keys for the locations of the daemon and its data.
pub const PLACES: [&str; 3] = ["audit.head_file", "data_dir", "gateway.socket"];

/// The placeholder for a secret that was left out, so that the rest of its table can be used.
const PLACEHOLDER: &str = "unresolved";

/// A value that was left out because a reference in it has no value here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedValue {
    /// The path of the value: `providers.local.api_key`.
    pub key: String,
    /// The missing reference, and its position in the file.
    pub error: ConfigError,
}

/// Reads the values of a document.
pub(crate) struct TableReader<'e> {
    pub(crate) environment: Environment<'e>,
    pub(crate) references: UsedReferences,
}

impl TableReader<'_> {
    pub(crate) fn read_table(
        &self,
        document: &mut ConfigDocument,
        path: &str,
        table: &DeTable<'_>,
    ) -> Result<Value, ConfigError> {
        let mut read = Map::new();
        for (key, value) in table {
            let at = join_path(path, key.get_ref());
            document.spans.insert(at.clone(), key.span());
            if let Some(value) = self.read_value(document, &at, value)? {
                read.insert(key.get_ref().to_string(), value);
            }
        }
        Ok(Value::Object(read))
    }

    /// Reads a value; `None` if it is left out.
    fn read_value(
        &self,
        document: &mut ConfigDocument,
        path: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Option<Value>, ConfigError> {
        let refuse = |document: &ConfigDocument, message: String| {
            Err(error_at_value(document, path, value.span(), &message))
        };
        Ok(Some(match value.get_ref() {
            DeValue::String(text) if refer::has_reference(text) => {
                return self.replace_references(document, path, text, value.span());
            }
            DeValue::String(text) => {
                if is_for_secrets(path) {
                    document.secrets.push(Secret::new(text.to_string()));
                }
                Value::String(text.to_string())
            }
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => number.into(),
                    Err(_) => return refuse(document, "the number is too large".to_owned()),
                }
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) => number.into(),
                Err(_) => return refuse(document, "it is not a number".to_owned()),
            },
            DeValue::Datetime(moment) => Value::String(moment.to_string()),
            DeValue::Array(elements) => {
                let mut read = Vec::new();
                for (place, element) in elements.iter().enumerate() {
                    let path = format!("{path}[{place}]");
                    document.spans.insert(path.clone(), element.span());
                    read.extend(self.read_value(document, &path, element)?);
                }
                Value::Array(read)
            }
            DeValue::Table(table) => self.read_table(document, path, table)?,
        }))
    }

    /// Replaces the references in a text; `None` if the text is left out.
    fn replace_references(
        &self,
        document: &mut ConfigDocument,
        path: &str,
        text: &str,
        span: Range<usize>,
    ) -> Result<Option<Value>, ConfigError> {
        document.secret.insert(path.to_owned());
        let is_place = PLACES.contains(&path);
        let resolved = match self.references {
            UsedReferences::Places if !is_place => refer::check_references(text).and_then(|()| {
                Err(ReferenceFault::Missing("its value is not resolved".to_owned()))
            }),
            _ => refer::resolve_references(text, self.environment, &mut document.secrets),
        };
        let may_be_left_out = match self.references {
            UsedReferences::All => false,
            UsedReferences::Possible => true,
            UsedReferences::Places => !is_place,
        };
        let error = |message: String| error_at_value(document, path, span, &message);
        match resolved {
            Ok(text) => Ok(Some(Value::String(text))),
            Err(ReferenceFault::Missing(message)) if may_be_left_out => {
                let error = error(message);
                document.unresolved.push(UnresolvedValue { key: path.to_owned(), error });
                Ok(is_for_secrets(path).then(|| PLACEHOLDER.into()))
            }
            Err(ReferenceFault::Missing(message) | ReferenceFault::Malformed(message)) => {
                Err(error(message))
            }
        }
    }
}

/// Creates an error about the value of a key.
fn error_at_value(
    document: &ConfigDocument,
    path: &str,
    span: Range<usize>,
    message: &str,
) -> ConfigError {
    let error = document.error_in_span(Some(span), format!("`{path}`: {message}"));
    ConfigError { key: Some(path.to_owned()), ..error }
}

/// Returns `true` if the key at a path is for secrets. A test of the registry compares this with
/// the types of all components.
#[must_use]
pub fn is_for_secrets(path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap_or(path);
    // An element of a list belongs to its key.
    let key = key.split('[').next().unwrap_or(key);
    ["api_key", "client_secret", "proxy", "secret", "token"].contains(&key)
        || path.contains(".headers.")
        || path.contains(".env.") && is_variable_for_secrets(key)
}

/// Returns `true` if the name of an environment variable says that it holds a secret. Other variables
/// have values such as `production`, which may be in any text.
fn is_variable_for_secrets(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"].iter().any(|part| name.contains(part))
}
