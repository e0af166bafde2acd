//! The port of the connection to the daemon, and what comes over it.

use std::fmt;

use async_trait::async_trait;
use avocet_protocol::chat::Choice;
use avocet_protocol::ids::{DeliveryId, MessageId, TurnId};
use avocet_protocol::store::{MessageStatus, Total};
use avocet_protocol::turn::{TurnEvent, TurnRecord};

/// The connection from the terminal to the daemon.
#[async_trait]
pub trait TerminalLink: fmt::Debug + Send + Sync {
    /// Publishes a message on the bus.
    ///
    /// # Errors
    /// If the message was rejected: the reason.
    async fn say(&self, text: &str) -> Result<MessageId, LinkError>;

    /// Waits for the outcome of a message.
    ///
    /// # Errors
    /// If the outcome is unknown: the reason.
    async fn outcome(&self, message: MessageId) -> Result<MessageStatus, LinkError>;

    /// Returns the next event or text of the chat.
    async fn hear(&self) -> DaemonNotice;

    /// Returns the next remark about the connection, or the next line of this program's own log.
    async fn remark(&self) -> String;

    /// Returns `true` while the connection is lost. Messages then wait in [`Self::say`].
    fn is_lost(&self) -> bool;

    /// Confirms that the chunk has been shown.
    async fn shown(&self, chunk: DeliveryId);

    /// Reads the last turn of the chat from the log; `None` if the chat has no turn yet, or if the
    /// daemon does not answer in time.
    async fn last_turn(&self) -> Option<TurnRecord>;

    /// Lists the conversations of this terminal besides the open one, the last used first.
    ///
    /// # Errors
    /// The reason, for the person.
    async fn conversations(&self) -> Result<Vec<ConversationEntry>, LinkError>;

    /// Leaves the open conversation for another one.
    ///
    /// # Errors
    /// The reason. The conversation before then stays open.
    async fn open_conversation(&self, name: &str) -> Result<(), LinkError>;

    /// Lists the person's messages of the open conversation that can be said differently, the newest
    /// first.
    ///
    /// # Errors
    /// The reason, for the person.
    async fn earlier_messages(&self) -> Result<Vec<EarlierMessage>, LinkError>;

    /// Opens a new conversation with everything before a turn. Returns its name.
    ///
    /// # Errors
    /// The reason. The conversation before then stays open.
    async fn branch_before(&self, turn: TurnId) -> Result<String, LinkError>;

    /// Gives the open conversation a title.
    ///
    /// # Errors
    /// The reason, for the person.
    async fn set_title(&self, title: &str) -> Result<(), LinkError>;

    /// Reads a picture in the workspace of the agent; `None` if it cannot be read here.
    async fn picture(&self, path: &str) -> Option<Vec<u8>>;

    /// Reads the model, and the tokens and the cost since the chat was opened.
    async fn figures(&self) -> ChatFigures;
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationEntry {
    /// The name that opens it.
    pub name: String,
    /// Its age, its length and its title, for the person.
    pub summary: String,
}

/// A message of the person with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierMessage {
    /// Its turn.
    pub turn: TurnId,
    /// What the person typed.
    pub text: String,
}

/// The figures of the status line. Each is `None` if the daemon does not answer in time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatFigures {
    /// The model that answers in this conversation, as `provider/model`.
    pub model: Option<String>,
    /// Tokens and cost since the chat was opened; also `None` if there are none.
    pub used: Option<Total>,
}

/// The reason why a request to the daemon failed, for the person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError(pub String);

/// A notice from the daemon or about the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonNotice {
    /// An event in the chat.
    Event(TurnEvent),
    /// A text for the chat.
    Said(SaidChunk),
    /// A remark that [`TerminalLink::remark`] has not returned yet, because what follows comes from
    /// the next connection.
    Remark(String),
}

/// A text for the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in avocet_protocol::chat::Delivery")]
pub struct SaidChunk {
    pub id: DeliveryId,
    pub turn: Option<TurnId>,
    pub text: String,
    pub choices: Vec<Choice>,
    pub repeat: bool,
}
