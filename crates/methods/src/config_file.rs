//! The methods about the configuration file.

use avocet_protocol::daemon::{
    ConfigCheck, ConfigDiff, ConfigEdit, ConfigForm, ConfigText, ShownConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NoParams, Touches};

/// `config.check`: checks a text without touching the file. The result is a
/// [`ConfigCheck`](avocet_protocol::daemon::ConfigCheck).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// The text of a configuration.
    pub text: ConfigText,
}

/// `config.form`: applies changes to a text, checks the result, and describes it as a form. The file
/// stays as it is. The result is a [`ConfigForm`](avocet_protocol::daemon::ConfigForm).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormConfig {
    /// The text of a configuration.
    pub text: ConfigText,
    /// The changes, in their order. Default: none.
    #[serde(default)]
    pub edits: Vec<ConfigEdit>,
}

/// `config.save`: replaces the file if the text can be used. The result is [`SavedConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveConfig {
    /// The new text.
    pub text: ConfigText,
    /// The digest of the text that was edited. A file with another digest stays as it is.
    pub digest: String,
}

/// The result of [`SaveConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedConfig {
    /// SHA-256 of the new text, in hexadecimal digits.
    pub digest: String,
}

/// `config.show`: the text of the configuration file, with its digest.
#[derive(Debug)]
pub enum ShowConfig {}

/// `config.diff`: the differences between the file and the running configuration.
#[derive(Debug)]
pub enum DiffConfig {}

method!(CheckConfig = "config.check": Self => ConfigCheck, Operator, Touches::Everything);
method!(DiffConfig = "config.diff": NoParams => ConfigDiff, Operator, Touches::Everything);
method!(FormConfig = "config.form": Self => ConfigForm, Operator, Touches::Everything);
method!(SaveConfig = "config.save": Self => SavedConfig, Operator, Touches::Everything);
method!(ShowConfig = "config.show": NoParams => ShownConfig, Operator, Touches::Everything);
