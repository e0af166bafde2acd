//! Errors of a configuration.

/// The reason why a configuration cannot be used; the operator has to change it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscordError {
    /// The token is missing.
    #[error(
        "there is no token; get one from the developer portal (your application, Bot) and refer to \
         it: token = \"${{DISCORD_TOKEN}}\""
    )]
    NoToken,
    /// The token has impossible characters.
    #[error(
        "the token has characters that no token has; copy it again from the developer portal (your \
         application, Bot)"
    )]
    Token,
    /// `api_url` is an invalid URL.
    #[error("api_url is no URL of a server: it has to begin with http:// or https:// and a host")]
    Url,
    /// The name of a channel's table is not an id.
    #[error("groups: {0:?} is no id of a channel; it is a number, which /id shows in the channel")]
    Group(String),
    /// The HTTP client cannot be made.
    #[error("no HTTP client: {0}")]
    Client(String),
}
