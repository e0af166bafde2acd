//! The deletion, the labels and the only setting of conversations.

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{SenderId, TurnId};
use avocet_protocol::session::{
    SessionOption, SessionOptionValue, SessionOptions, SetOptionError, SetSessionOption,
};
use avocet_protocol::store::{
    BranchSession, BranchedSession, ChangeSession, DeletedSession, SessionBranches,
    SessionDeletion, SessionGroup, SessionLabels, SessionRow, SessionSummary, StoreError,
};

use super::{FakeDaemon, KEY, session};

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

/// Returns a page of 1,200 sessions, which are pinned in the list of pinned ones.
pub(super) fn summaries(
    group: Option<SessionGroup>,
    limit: u32,
    after: Option<&SessionRow>,
) -> Vec<SessionSummary> {
    if group == Some(SessionGroup::Archived) {
        return Vec::new();
    }
    let first = after.map_or(0, |row| row.used_at.0 + 1);
    let one = |used_at| SessionSummary {
        session: SessionId::parse(&format!("terminal:local:{used_at}")).unwrap(),
        turns: 1,
        used_at: Timestamp(used_at),
        open: None,
        title: Some(format!("use {KEY} {}", "x".repeat(100))),
        is_pinned: group == Some(SessionGroup::Pinned),
        is_archived: false,
        branch: 0,
    };
    (first..1200).take(limit as usize).map(one).collect()
}

#[async_trait]
impl SessionBranches for FakeDaemon {
    async fn branch_session(&self, branch: &BranchSession) -> Result<BranchedSession, StoreError> {
        let turn = branch.through.or(branch.before);
        Ok(match turn {
            _ if branch.session != session() => BranchedSession::UnknownSession,
            _ if branch.into.as_str() == BUSY => BranchedSession::Taken,
            Some(turn) if turn.0 > 2 => BranchedSession::UnknownTurn(turn),
            Some(turn) if branch.through == Some(TurnId(2)) => BranchedSession::OpenTurn(turn),
            _ => {
                self.branches.lock().push(branch.clone());
                BranchedSession::Copied { turns: 2 }
            }
        })
    }
}

#[async_trait]
impl SessionLabels for FakeDaemon {
    async fn change_labels(&self, change: &ChangeSession) -> Result<bool, StoreError> {
        let is_known = change.session == session();
        self.labels.lock().extend(is_known.then(|| change.clone()));
        Ok(is_known)
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
