//! Settings for servers that deviate from OpenAI's APIs.

use schemars::JsonSchema;
use serde::Deserialize;

/// OpenAI's API to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenAiApi {
    /// Chat completions, which all servers support.
    #[default]
    Chat,
    /// Responses, with which OpenAI's models keep their reasoning from before a call.
    Responses,
}

/// The name of the output limit in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// The original name, which most servers use.
    MaxTokens,
    /// OpenAI's newer name; some of its models refuse the original one.
    MaxCompletionTokens,
}

/// The role of the instructions in requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SystemRole {
    /// The original name, which most servers use.
    #[default]
    System,
    /// The name for OpenAI's reasoning models.
    Developer,
    /// No role of their own: the instructions precede the first message of the user.
    User,
}
