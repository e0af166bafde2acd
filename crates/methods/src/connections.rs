//! The methods of a connection: its client, and what it is attached to.

use std::collections::{BTreeMap, BTreeSet};

use avocet_protocol::access::ClientRole;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::{AccountName, ChannelName, SenderId};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ChatPatterns, EmptyAnswer, NamesTarget, NoParams, Touches, named_target};

/// `hello`: names the client, and proves it with a token. Later requests have the rights of this
/// client. Without parameters, the rights stay as they are. The result is a [`Welcome`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hello {
    /// The name of a table in `[gateway.clients]`.
    pub client: Option<String>,
    /// The token of the client.
    pub token: Option<Secret>,
    /// The version of the protocol that the program speaks, from 1. Default: that of the daemon.
    pub protocol: Option<u32>,
    /// The abilities of a channel. Default: all of them.
    pub capabilities: Option<BTreeSet<Capability>>,
}

/// The result of [`Hello`]: the rights of later requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Welcome {
    /// The sender of messages.
    pub sender: SenderId,
    /// The role.
    pub role: ClientRole,
    /// The patterns of chats.
    pub chats: ChatPatterns,
    /// The only methods; `None` for all methods of the role.
    pub methods: Option<BTreeSet<String>>,
    /// The version of the protocol that the daemon speaks.
    pub protocol: u32,
}

/// The version of the protocol. Increased when programs written for the previous version would fail.
pub const PROTOCOL: u32 = 1;

/// An ability of a channel. The daemon turns a message into text that needs no other ability.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// The program shows the buttons of a message. Without it, they are numbered lines of the text.
    Choices,
    /// The program sends the files of a message. Without it, each is a line of the text.
    Files,
    /// The program takes the notification `typing`.
    Typing,
}

/// `attach`: makes the connection a listener of a chat, or of all chats of an account that a program
/// serves. It gets `event` notifications with a [`TurnEvent`](avocet_protocol::turn::TurnEvent), and `deliver`
/// requests, which it answers when it has shown the message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachParams {
    /// The chat; left out for all chats of an account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatAddress>,
    /// The channel: `external`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelName>,
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountName>,
    /// Characters of the longest message of the account's platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_text: Option<usize>,
    /// `true` to get the model's thoughts in the chat as well, for display.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thoughts: bool,
}

impl AttachParams {
    /// Attaches to a chat, without the model's thoughts.
    #[must_use]
    pub fn to_chat(chat: ChatAddress) -> Self {
        Self { chat: Some(chat), ..Self::default() }
    }
}

/// The result of `attach`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachResult {
    /// Of an account: the positions up to which messages are committed, by scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub cursors: Option<BTreeMap<String, String>>,
}

/// `editor.attach`: the client is an editor that shows the chat. The result is an empty object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachEditor {
    /// The chat.
    pub chat: ChatAddress,
    /// `true` if the editor answers `editor.read`.
    #[serde(default)]
    pub read: bool,
    /// `true` if the editor answers `editor.write`.
    #[serde(default)]
    pub write: bool,
    /// `true` to get `editor.output`.
    #[serde(default)]
    pub output: bool,
}

/// `ping`: any answer proves that the connection has a place.
#[derive(Debug)]
pub enum Ping {}

impl NamesTarget for AttachParams {
    fn call_target(&self) -> CallTarget {
        match (&self.chat, &self.channel, &self.account) {
            (Some(chat), ..) => CallTarget::Chat(chat.clone()),
            (None, Some(channel), Some(account)) => {
                CallTarget::Account(channel.clone(), account.clone())
            }
            _ => CallTarget::Unnamed,
        }
    }
}

impl NamesTarget for AttachEditor {
    fn call_target(&self) -> CallTarget {
        CallTarget::Chat(self.chat.clone())
    }
}

method!(AttachParams = "attach": Self => AttachResult, Sender, named_target::<Self>());
method!(AttachEditor = "editor.attach": Self => EmptyAnswer, Operator, named_target::<Self>(), outside_libraries);
method!(Hello = "hello": Self => Welcome, Observer, Touches::Nothing, optional_params, open_to_all);
method!(Ping = "ping": NoParams => (), Observer, Touches::Nothing, open_to_all);
