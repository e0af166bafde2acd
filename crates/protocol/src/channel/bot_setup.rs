//! The first contact with a bot, before a daemon runs it: the form of its token, and its port.

use std::fmt;

use async_trait::async_trait;

/// The port of a bot that is being set up. Its requests change nothing on the platform.
#[async_trait]
pub trait BotSetup: fmt::Debug + Send + Sync {
    /// Returns the name of the bot, and hints for its operator.
    ///
    /// # Errors
    /// The reason, as a sentence without secrets.
    async fn introduction(&self) -> Result<BotIntroduction, String>;

    /// Returns the next person who may be the owner. On platforms that do not know the owner of a bot,
    /// this is the sender of the first private message, which stays unread. Waits until there is one.
    /// People in `refused` are left out.
    ///
    /// # Errors
    /// The reason why no further person can be found, as a sentence without secrets.
    async fn owner(&self, refused: &[u64]) -> Result<OwnerCandidate, String>;
}

/// The form of the tokens of a channel's bots, and the words with which `avocet init` asks for one.
#[derive(Debug, Clone, Copy)]
pub struct BotForm {
    /// The name of the platform for people: `Telegram`.
    pub label: &'static str,
    /// The place where the operator gets a token, with a preposition: `from @BotFather on Telegram`.
    pub token_source: &'static str,
    /// The form of a token in a few words or as an example: `123456:ABC...`.
    pub token_form: &'static str,
    /// The option that names a file with a token, without its dashes: `telegram-token-file`.
    pub token_option: &'static str,
    /// The option that sets the key `api_url`, without its dashes: `telegram-api-url`.
    pub url_option: &'static str,
    /// The help of `url_option`, without a full stop.
    pub url_help: &'static str,
    /// Returns `true` for a whole token. A token has the form of one platform only.
    pub is_token: fn(&str) -> bool,
    /// Returns `true` for a text that seems to be a token, perhaps without its beginning or end.
    /// Such a text is neither sent nor shown.
    pub is_like_token: fn(&str) -> bool,
}

/// The name of a bot, and hints for its operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotIntroduction {
    /// The name as users see it.
    pub name: String,
    /// Hints, each in a sentence.
    pub hints: Vec<String>,
    /// The request to write to the bot; `None` if the platform knows the owner.
    pub invitation: Option<String>,
}

/// A person who may be the owner of a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerCandidate {
    /// The platform's id of the person.
    pub id: u64,
    /// The name as users see it.
    pub name: String,
    /// The reason why this person may be the owner, as a clause: `wrote "hello"`.
    pub reason: String,
}
