//! The errors in a bot's configuration.

use avocet_net::bot_proxy as proxy;

/// An error in a bot's configuration, which the operator has to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TelegramError {
    /// The token is missing.
    #[error(
        "there is no token; get one from @BotFather and refer to it: token = \"${{TELEGRAM_TOKEN}}\""
    )]
    NoToken,
    /// `api_url` is invalid.
    #[error(
        "api_url is not the URL of a server: it must begin with http:// or https:// and a host"
    )]
    Url,
    /// `proxy` is invalid.
    #[error("proxy: {}", proxy::FORM)]
    Proxy,
    /// `webhook` is invalid.
    #[error("webhook: {0}")]
    Webhook(String),
    /// The name of a group's table is not a group id.
    #[error(
        "groups: {0:?} is not the id of a group, which is a negative number; /id shows it in the \
            group"
    )]
    Group(String),
    /// The HTTP client cannot be created.
    #[error("no HTTP client: {0}")]
    Client(String),
}
