//! The methods about people: who may write to the agent, and which chats are linked.

use avocet_protocol::access::{ChatLink, Pairing, Person, PersonId};
use avocet_protocol::chat::ChatAddress;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MOST_ROWS, NoParams, Touches};

/// `people.list`: a list of [`Person`](avocet_protocol::access::Person), in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListPeople {
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
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

/// `link.list`: a list of [`ChatLink`](avocet_protocol::access::ChatLink), in the order of their chats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListLinks {
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
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
/// [`ChatLink`](avocet_protocol::access::ChatLink).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddLink {
    /// The chat whose session is shared.
    pub into: ChatAddress,
    /// The chat that joins the session.
    pub chat: ChatAddress,
}

/// `link.remove`: gives the chat its own session back. The result is as for [`AddLink`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveLink {
    /// The chat.
    pub chat: ChatAddress,
}

/// `pair.approve`: admits a stranger. The result is a [`Person`](avocet_protocol::access::Person).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The stranger's code, in any spelling.
    pub code: String,
    /// `true` to admit as an owner.
    #[serde(default)]
    pub owner: bool,
}

/// `pair.deny`: revokes a code. The result is a [`Pairing`](avocet_protocol::access::Pairing).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// The stranger's code, in any spelling.
    pub code: String,
}

/// `people.remove`: removes an admitted person. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The person.
    pub person: PersonId,
}

/// `pair.list`: the codes of strangers that can be approved.
#[derive(Debug)]
pub enum ListPairings {}

method!(AddLink = "link.add": Self => ChatLink, Operator, Touches::Everything, optional_params, outside_libraries);
method!(ListLinks = "link.list": Self => Vec<ChatLink>, Operator, Touches::Everything, optional_params, outside_libraries);
method!(RemoveLink = "link.remove": Self => ChatLink, Operator, Touches::Everything, optional_params, outside_libraries);
method!(Approve = "pair.approve": Self => Person, Operator, Touches::Everything, optional_params, outside_libraries);
method!(Deny = "pair.deny": Self => Pairing, Operator, Touches::Everything, optional_params, outside_libraries);
method!(ListPairings = "pair.list": NoParams => Vec<Pairing>, Operator, Touches::Everything, outside_libraries);
method!(ListPeople = "people.list": Self => Vec<Person>, Operator, Touches::Everything, optional_params, outside_libraries);
method!(Remove = "people.remove": Self => (), Operator, Touches::Everything, optional_params, outside_libraries);
