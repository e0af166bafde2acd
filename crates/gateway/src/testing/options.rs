//! One setting, of any conversation.

use async_trait::async_trait;
use avocet_protocol::{
    SenderId, SessionId, SessionOption, SessionOptionValue, SessionOptions, SetOptionError,
    SetSessionOption, StoreError,
};

use super::FakeDaemon;

/// The model with this value in use, which one other could replace.
fn model(value: &str) -> SessionOption {
    let option = |value: &str| SessionOptionValue {
        value: value.to_owned(),
        name: value.to_owned(),
        ..SessionOptionValue::default()
    };
    SessionOption {
        option: SessionOption::MODEL.to_owned(),
        value: value.to_owned(),
        values: vec![option("default"), option("a/b")],
    }
}

#[async_trait]
impl SessionOptions for FakeDaemon {
    async fn session_options(&self, _: &SessionId) -> Result<Vec<SessionOption>, StoreError> {
        Ok(vec![model("default")])
    }

    async fn set_session_option(
        &self,
        sender: &SenderId,
        change: &SetSessionOption,
    ) -> Result<Vec<SessionOption>, SetOptionError> {
        let SetSessionOption { session, option, value } = change.clone();
        match value.as_str() {
            "default" | "a/b" if option == SessionOption::MODEL => Ok(vec![model(&value)]),
            "owner" => Err(SetOptionError::NotOwner { sender: sender.clone(), session, option }),
            _ => Err(SetOptionError::Unknown(format!("{value:?} is no value of {option}"))),
        }
    }
}
