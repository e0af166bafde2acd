//! The methods of who may speak. The commands of this program call them here too where no daemon
//! runs.

use avocet_protocol::{ChatAddress, DoorError, Doorkeeper, PersonId, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::lists::{MOST_ROWS, check_limit};
use crate::methods::read;
use crate::wire::RpcError;

/// `people.list`: a list of [`Person`](avocet_protocol::Person), in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListPeople {
    /// Rows at most, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// The last person that is known already. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<PersonId>,
}

impl Default for ListPeople {
    fn default() -> Self {
        Self { limit: MOST_ROWS, after: None }
    }
}

/// `link.list`: a list of [`ChatLink`](avocet_protocol::ChatLink), in the order of their chats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListLinks {
    /// Rows at most, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// The last chat that is known already. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ChatAddress>,
}

impl Default for ListLinks {
    fn default() -> Self {
        Self { limit: MOST_ROWS, after: None }
    }
}

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

/// Answers a method of this list; `None` if the method is not in it.
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
    let params = if params.is_null() { json!({}) } else { params };
    match method {
        "link.add" => {
            let AddLink { into, chat } = read(method, params)?;
            to_value(door.link(&into, &chat).await)
        }
        "link.list" => {
            let ListLinks { limit, after } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            Ok(page(door.links(), limit, after.as_ref(), |link| &link.chat))
        }
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
        "people.list" => {
            let ListPeople { limit, after } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            Ok(page(door.people(), limit, after.as_ref(), |person| &person.id))
        }
        _ => {
            let Remove { person } = read(method, params)?;
            to_value(door.strike_off(&person).await)
        }
    }
}

/// The rows of a list behind the one with this key.
fn page<T: Serialize, K: Ord>(
    mut rows: Vec<T>,
    limit: u32,
    after: Option<&K>,
    key: impl Fn(&T) -> &K,
) -> Value {
    rows.sort_by(|one, other| key(one).cmp(key(other)));
    let is_new = |row: &&T| after.is_none_or(|after| key(row) > after);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    json!(rows.iter().filter(is_new).take(limit).collect::<Vec<_>>())
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
