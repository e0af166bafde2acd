//! The deletion and the only setting of conversations.

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::SenderId;
use avocet_protocol::session::{
    SessionOption, SessionOptionValue, SessionOptions, SetOptionError, SetSessionOption,
};
use avocet_protocol::store::{DeletedSession, SessionDeletion, StoreError};

use super::{FakeDaemon, session};

/// The session that is always busy.
pub const BUSY: &str = "terminal:local:busy";

#[async_trait]
impl SessionDeletion for FakeDaemon {
    async fn delete_session(&self, deleted: &SessionId) -> Result<DeletedSession, StoreError> {
        Ok(match deleted {
            known if *known == session() => DeletedSession::Deleted { turns: 3 },
            busy if busy.as_str() == BUSY => DeletedSession::Busy,
            task if task.as_str().starts_with("spawn:") => DeletedSession::OfTask,
            _ => DeletedSession::Unknown,
        })
    }
}

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
