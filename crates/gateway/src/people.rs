//! The methods about people: who may write to the agent, and which chats are linked. If no daemon
//! runs, the program's own commands call them directly.

use avocet_protocol::{AccessControl, AccessError, ChatAddress, PersonId, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{MOST_ROWS, check_limit, or_empty, read, unavailable};
use crate::wire::RpcError;

/// `people.list`: a list of [`Person`](avocet_protocol::Person), in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListPeople {
    /// The most rows, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// The last person that the client has. A page with fewer rows than `limit` is the last.
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
    /// The most rows, from 1 to [`MOST_ROWS`].
    pub limit: u32,
    /// The last chat that the client has. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ChatAddress>,
}

impl Default for ListLinks {
    fn default() -> Self {
        Self { limit: MOST_ROWS, after: None }
    }
}

/// `link.add`: lets a private chat share the session of another chat. The result is a
/// [`ChatLink`](avocet_protocol::ChatLink).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddLink {
    /// The chat whose session is shared.
    pub into: ChatAddress,
    /// The chat that joins the session.
    pub chat: ChatAddress,
}

/// `link.remove`: gives the chat its own session back. The result is as for [`AddLink`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveLink {
    /// The chat.
    pub chat: ChatAddress,
}

/// `pair.approve`: admits a stranger. The result is a [`Person`](avocet_protocol::Person).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The stranger's code, in any spelling.
    pub code: String,
    /// `true` to admit as an owner.
    #[serde(default)]
    pub owner: bool,
}

/// `pair.deny`: revokes a code. The result is a [`Pairing`](avocet_protocol::Pairing).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// The stranger's code, in any spelling.
    pub code: String,
}

/// `people.remove`: removes an admitted person. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The person.
    pub person: PersonId,
}

/// The names of these methods.
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

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_people(
    access: &dyn AccessControl,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(access, method, params).await)
}

async fn answer(
    access: &dyn AccessControl,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let params = or_empty(params);
    match method {
        "link.add" => {
            let AddLink { into, chat } = read(method, params)?;
            to_value(access.link(&into, &chat).await)
        }
        "link.list" => {
            let ListLinks { limit, after } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            Ok(page(access.links(), limit, after.as_ref(), |link| &link.chat))
        }
        "link.remove" => {
            let RemoveLink { chat } = read(method, params)?;
            to_value(access.unlink(&chat).await)
        }
        "pair.approve" => {
            let Approve { code, owner } = read(method, params)?;
            let role = if owner { Role::Owner } else { Role::User };
            to_value(access.approve(&code, role).await)
        }
        "pair.deny" => {
            let Deny { code } = read(method, params)?;
            to_value(access.deny(&code).await)
        }
        "pair.list" => Ok(json!(access.pairings())),
        "people.list" => {
            let ListPeople { limit, after } = read(method, params)?;
            check_limit(method, "limit", limit)?;
            Ok(page(access.people(), limit, after.as_ref(), |person| &person.id))
        }
        _ => {
            let Remove { person } = read(method, params)?;
            to_value(access.remove_person(&person).await)
        }
    }
}

/// Returns the rows of a list behind the one with this key.
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

fn to_value<T: Serialize>(done: Result<T, AccessError>) -> Result<Value, RpcError> {
    let done = done.map_err(|error| refusal(&error))?;
    serde_json::to_value(done).map_err(unavailable)
}

fn refusal(error: &AccessError) -> RpcError {
    let code = match error {
        AccessError::Log(_) => RpcError::UNAVAILABLE,
        AccessError::UnknownCode(_)
        | AccessError::UnknownPerson(_)
        | AccessError::NotPrivate(_)
        | AccessError::NotLinked(_)
        | AccessError::Destination(_) => RpcError::NOT_FOUND,
        AccessError::NoCode(_)
        | AccessError::UsedCode(..)
        | AccessError::ExpiredCode(_)
        | AccessError::Configured(_)
        | AccessError::Itself(_)
        | AccessError::Linked { .. }
        | AccessError::LinkedTo { .. } => RpcError::PARAMS,
    };
    RpcError::new(code, error.to_string())
}
