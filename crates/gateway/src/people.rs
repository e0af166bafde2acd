//! The methods of who may speak. The commands of this program call them here too where no daemon
//! runs.

use avocet_protocol::{ChatAddress, DoorError, Doorkeeper, PersonId, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::methods::read;
use crate::wire::RpcError;

/// `link.add`: a private chat speaks in the session of another. Answered with a
/// [`ChatLink`](avocet_protocol::ChatLink).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddLink {
    /// Whose session.
    pub into: ChatAddress,
    /// Who speaks in it from now on.
    pub chat: ChatAddress,
}

/// `link.remove`: the chat has its own session again. Answered as [`AddLink`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveLink {
    /// Which chat.
    pub chat: ChatAddress,
}

/// `pair.approve`: a stranger may speak. Answered with a [`Person`](avocet_protocol::Person).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The stranger's code, however it is written.
    pub code: String,
    /// As an owner.
    #[serde(default)]
    pub owner: bool,
}

/// `pair.deny`: a code is taken back. Answered with a [`Pairing`](avocet_protocol::Pairing).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// The stranger's code, however it is written.
    pub code: String,
}

/// `people.remove`: somebody is struck off. Answered with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Who.
    pub person: PersonId,
}

/// The methods that there are here.
pub(crate) const METHODS: [&str; 8] = [
    "link.add",
    "link.list",
    "link.remove",
    "pair.approve",
    "pair.deny",
    "pair.list",
    "people.list",
    "people.remove",
];

/// Answers a method of this list; none if it is none of them.
///
/// # Errors
/// [`RpcError`] says what is wrong, and how to do it right.
pub async fn answer_at_the_door(
    door: &dyn Doorkeeper,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(door, method, params).await)
}

async fn answer(door: &dyn Doorkeeper, method: &str, params: Value) -> Result<Value, RpcError> {
    match method {
        "link.add" => {
            let AddLink { into, chat } = read(method, params)?;
            to_value(door.link(&into, &chat).await)
        }
        "link.list" => Ok(json!(door.links())),
        "link.remove" => {
            let RemoveLink { chat } = read(method, params)?;
            to_value(door.unlink(&chat).await)
        }
        "pair.approve" => {
            let Approve { code, owner } = read(method, params)?;
            let role = if owner { Role::Owner } else { Role::User };
            to_value(door.approve(&code, role).await)
        }
        "pair.deny" => {
            let Deny { code } = read(method, params)?;
            to_value(door.deny(&code).await)
        }
        "pair.list" => Ok(json!(door.pairings())),
        "people.list" => Ok(json!(door.people())),
        _ => {
            let Remove { person } = read(method, params)?;
            to_value(door.strike_off(&person).await)
        }
    }
}

fn to_value<T: Serialize>(done: Result<T, DoorError>) -> Result<Value, RpcError> {
    let done = done.map_err(|error| refusal(&error))?;
    serde_json::to_value(done)
        .map_err(|error| RpcError::new(RpcError::UNAVAILABLE, error.to_string()))
}

fn refusal(error: &DoorError) -> RpcError {
    let code = match error {
        DoorError::Log(_) => RpcError::UNAVAILABLE,
        DoorError::UnknownCode(_)
        | DoorError::UnknownPerson(_)
        | DoorError::NotPrivate(_)
        | DoorError::NotLinked(_)
        | DoorError::Destination(_) => RpcError::NOT_FOUND,
        DoorError::NoCode(_)
        | DoorError::UsedCode(..)
        | DoorError::ExpiredCode(_)
        | DoorError::Configured(_)
        | DoorError::Itself(_)
        | DoorError::Linked { .. }
        | DoorError::LinkedTo { .. } => RpcError::PARAMS,
    };
    RpcError::new(code, error.to_string())
}
