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
        "the token has characters that a bot token cannot have; copy it again from the developer \
            portal (your application, Bot)"
    )]
    Token,
    /// `api_url` is an invalid URL.
    #[error(
        "api_url is not the URL of a server: it must begin with http:// or https:// and a host"
    )]
    Url,
    /// `proxy` is invalid.
    #[error("proxy: {}", avocet_net::bot_proxy::FORM)]
    Proxy,
    /// The name of a channel's table is not an id.
    #[error(
        "groups: {0:?} is not the id of a channel, which is a number; /id shows it in the channel"
    )]
    Group(String),
    /// The name of a server's table, or a role in it, is not an id.
    #[error(
        "servers: {0:?} is not the id of a server with the ids of its roles, which are numbers; \
         switch on the developer mode of Discord, and copy them from their menus"
    )]
    Server(String),
    /// The HTTP client cannot be made.
    #[error("no HTTP client: {0}")]
    Client(String),
}
