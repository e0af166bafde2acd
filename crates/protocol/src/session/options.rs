//! The settings of a conversation that people choose, with the values that each can have.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::PermissionMode;
use crate::chat::SessionId;
use crate::ids::SenderId;
use crate::model::Effort;
use crate::store::StoreError;

/// A setting of a conversation, as the log stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionSetting {
    /// The model, as `provider/model`; `None` for the agent's model.
    Model(Option<String>),
    /// The thinking effort; `None` for the configured one.
    Effort(Option<Effort>),
    /// The mode, which can narrow the policy.
    Permissions(PermissionMode),
}

/// A setting of a conversation, as programs show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOption {
    /// The name: `model`, `effort` or `mode`. Later versions may have others.
    pub option: String,
    /// The value in use, which is one of `values`.
    pub value: String,
    /// All values, in the order in which a person reads them.
    pub values: Vec<SessionOptionValue>,
}

impl SessionOption {
    /// The model that answers.
    pub const MODEL: &str = "model";
    /// The thinking effort. Missing if the model cannot think, or if that is unknown.
    pub const EFFORT: &str = "effort";
    /// The mode, which can narrow the policy.
    pub const MODE: &str = "mode";
    /// The value of a setting that the configuration decides.
    pub const DEFAULT: &str = "default";

    /// Returns the values, for a message: `off, low, high`.
    #[must_use]
    pub fn listed_values(&self) -> String {
        let values: Vec<&str> = self.values.iter().map(|one| one.value.as_str()).collect();
        values.join(", ")
    }
}

/// A value of a [`SessionOption`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOptionValue {
    /// The value, as [`SetSessionOption`] takes it.
    pub value: String,
    /// The name for people.
    pub name: String,
    /// The effect of the value, in one sentence; `None` if the name says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The heading above the value in a list: the provider of a model. `None` without headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A change of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSessionOption {
    /// The conversation. It may be new.
    pub session: SessionId,
    /// The name of the setting.
    pub option: String,
    /// The new value.
    pub value: String,
}

/// Shows and changes the settings of conversations for other programs.
#[async_trait]
pub trait SessionOptions: fmt::Debug + Send + Sync {
    /// Returns the settings of a conversation, with the defaults for an unknown one. May ask the
    /// provider of the model about it, for at most two seconds.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    async fn session_options(&self, session: &SessionId) -> Result<Vec<SessionOption>, StoreError>;

    /// Changes a setting for `sender`, who needs the rights for the chat command of the setting.
    /// Returns all settings after the change. Durable when this returns.
    ///
    /// # Errors
    /// [`SetOptionError`]: nothing has changed.
    async fn set_session_option(
        &self,
        sender: &SenderId,
        change: &SetSessionOption,
    ) -> Result<Vec<SessionOption>, SetOptionError>;
}

/// The reason why a setting was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetOptionError {
    /// Only owners change settings.
    #[error("{sender} is no owner in {session}; only owners choose its {option}")]
    NotOwner {
        /// The author of the request.
        sender: SenderId,
        /// The conversation.
        session: SessionId,
        /// The setting.
        option: String,
    },
    /// The setting or its value is unknown. The text lists those that exist.
    #[error("{0}")]
    Unknown(String),
    /// The log returned an error. A retry or the operator can help.
    #[error(transparent)]
    Log(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn session_option_value_is_read_without_description_and_group() {
        let value = json!({ "value": "a/b", "name": "b" });
        let read: SessionOptionValue = serde_json::from_value(value.clone()).unwrap();
        let expected = SessionOptionValue {
            value: "a/b".to_owned(),
            name: "b".to_owned(),
            ..SessionOptionValue::default()
        };
        assert_eq!(read, expected);
        assert_eq!(json!(read), value);
    }
}
