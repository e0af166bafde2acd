//! The configuration as a form: its tables and keys, made from the types that read them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of one key in the text of a configuration.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigEdit {
    /// The key, as TOML writes it: `models."local/*".context`.
    pub key: String,
    /// The new value; an empty object adds a table. `null` removes the key or the table.
    #[serde(default)]
    pub value: Value,
    /// The new last name of a table. Its keys and comments stay, and `value` does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
}

/// The value may be a secret.
impl fmt::Debug for ConfigEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigEdit").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A part of the form: the tables whose keys begin with the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormGroup {
    /// The name; empty for the keys outside of all tables.
    pub name: String,
    /// The purpose of the tables.
    pub about: String,
}

/// A table of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormTable {
    /// The key of the table, as TOML writes it; empty for the keys outside of all tables.
    pub key: String,
    /// The key as faults name it: without quotation marks.
    pub path: String,
    /// The first name of the key, by which tables belong together.
    pub group: String,
    /// The kind of a provider, or the platform of a channel.
    pub kind: Option<String>,
    /// The purpose of the table.
    pub about: String,
    /// `true` if the table is not in the text, which means something else than an empty table. It then
    /// has no fields.
    pub can_add: bool,
    /// `true` if the table is in the text and can be removed as a whole.
    pub can_remove: bool,
    /// `true` if its last name can be changed.
    pub can_rename: bool,
    /// The keys, in the order of the reference.
    pub fields: Vec<FormField>,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormField {
    /// The key, as TOML writes it.
    pub key: String,
    /// The key as faults name it: without quotation marks.
    pub path: String,
    /// The key within its table; empty if the table is written as this one value.
    pub name: String,
    /// The description, in Markdown.
    pub help: String,
    /// The way to enter a value.
    pub input: FormInput,
    /// The values of a choice or of a rule; empty for other inputs.
    pub choices: Vec<FormChoice>,
    /// The least number.
    pub least: Option<i64>,
    /// `true` if the entries of a list may be numbers.
    pub has_numbers: bool,
    /// The value in the text, with unresolved references; `null` if the key has its default, or if its
    /// value is hidden.
    pub value: Value,
    /// `true` if the text has a value that is not shown, because it is a secret.
    pub is_hidden: bool,
}

/// The way to enter the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FormInput {
    /// On or off.
    Switch,
    /// One of the choices.
    Choice,
    /// A whole number, or a word that the description names.
    Integer,
    /// A number, or a word that the description names.
    Number,
    /// A text of one line.
    Text,
    /// A text of several lines.
    Lines,
    /// A list of texts, or of numbers.
    List,
    /// A text that is hidden once it is set. A reference to a variable or file is no secret.
    Secret,
    /// Names of the person's choice, each with one of the choices.
    Rules,
    /// Names of the person's choice, each with a text. Their values are in an object, with `null` for a
    /// text that is hidden.
    Pairs,
    /// Other values, which are edited as text.
    Other,
}

/// A value of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormChoice {
    /// The value.
    pub value: String,
    /// Its description.
    pub help: String,
}

/// A table that can be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormAddition {
    /// The table above: `providers`.
    pub parent: String,
    /// The first name of its key.
    pub group: String,
    /// The purpose of such tables.
    pub about: String,
    /// The kinds, of which a new table needs one in its key `kind`; empty if it needs none.
    pub kinds: Vec<String>,
    /// The names that the table can have; empty for a name of the person's choice.
    pub names: Vec<String>,
}
