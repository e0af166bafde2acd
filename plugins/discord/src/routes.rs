//! The used routes of Discord's REST API, with the names of serenity's `http::Route`.
//!
//! serenity 0.12.5 has its routes only together with its own HTTP and gateway clients, which bring
//! a second TLS library with known vulnerabilities (rustls 0.22).

use std::fmt;

use serenity::constants::GATEWAY_VERSION;
use serenity::model::id::{ApplicationId, ChannelId, GuildId, InteractionId, MessageId, UserId};

/// A route of the REST API. Displayed, it is the path below the base URL.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Route<'a> {
    ActiveThreads { guild_id: GuildId },
    ArchivedThreads { channel_id: ChannelId },
    Channel { channel_id: ChannelId },
    ChannelMessage { channel_id: ChannelId, message_id: MessageId },
    ChannelMessages { channel_id: ChannelId },
    ChannelThreads { channel_id: ChannelId },
    ChannelTyping { channel_id: ChannelId },
    Commands { application_id: ApplicationId },
    Gateway,
    GatewayBot,
    GuildMember { guild_id: GuildId, user_id: UserId },
    InteractionResponse { interaction_id: InteractionId, token: &'a str },
    MessageThreads { channel_id: ChannelId, message_id: MessageId },
    Oauth2ApplicationCurrent,
    OwnReaction { channel_id: ChannelId, message_id: MessageId, emoji: &'a str },
    UserMe,
    UserMeDmChannels,
    Webhook { application_id: ApplicationId, token: &'a str },
    WebhookOriginalMessage { application_id: ApplicationId, token: &'a str },
}

impl Route<'_> {
    /// Returns `true` for routes to answer an interaction, to which the limit of the bot does not
    /// apply.
    pub(crate) fn is_of_interaction(&self) -> bool {
        matches!(
            self,
            Self::InteractionResponse { .. }
                | Self::Webhook { .. }
                | Self::WebhookOriginalMessage { .. }
        )
    }
}

impl fmt::Display for Route<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/api/v{GATEWAY_VERSION}")?;
        match self {
            Self::ActiveThreads { guild_id } => write!(f, "/guilds/{guild_id}/threads/active"),
            Self::ArchivedThreads { channel_id } => {
                write!(f, "/channels/{channel_id}/threads/archived/public")
            }
            Self::Channel { channel_id } => write!(f, "/channels/{channel_id}"),
            Self::ChannelMessage { channel_id, message_id } => {
                write!(f, "/channels/{channel_id}/messages/{message_id}")
            }
            Self::ChannelMessages { channel_id } => write!(f, "/channels/{channel_id}/messages"),
            Self::ChannelThreads { channel_id } => write!(f, "/channels/{channel_id}/threads"),
            Self::ChannelTyping { channel_id } => write!(f, "/channels/{channel_id}/typing"),
            Self::Commands { application_id } => {
                write!(f, "/applications/{application_id}/commands")
            }
            Self::Gateway => f.write_str("/gateway"),
            Self::GuildMember { guild_id, user_id } => {
                write!(f, "/guilds/{guild_id}/members/{user_id}")
            }
            Self::GatewayBot => f.write_str("/gateway/bot"),
            Self::InteractionResponse { interaction_id, token } => {
                write!(f, "/interactions/{interaction_id}/{token}/callback")
            }
            Self::MessageThreads { channel_id, message_id } => {
                write!(f, "/channels/{channel_id}/messages/{message_id}/threads")
            }
            Self::Oauth2ApplicationCurrent => f.write_str("/oauth2/applications/@me"),
            Self::OwnReaction { channel_id, message_id, emoji } => {
                let path = format!("/channels/{channel_id}/messages/{message_id}/reactions");
                write!(f, "{path}/{emoji}/@me")
            }
            Self::UserMe => f.write_str("/users/@me"),
            Self::UserMeDmChannels => f.write_str("/users/@me/channels"),
            Self::Webhook { application_id, token } => {
                write!(f, "/webhooks/{application_id}/{token}")
            }
            Self::WebhookOriginalMessage { application_id, token } => {
                write!(f, "/webhooks/{application_id}/{token}/messages/@original")
            }
        }
    }
}
