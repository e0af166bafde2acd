//! The roles of authors that give access (`allow_roles`, `owner_roles`). Live events report the roles
//! of their author; the history lacks them, so they are requested there.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serenity::model::channel::Message;
use serenity::model::id::{GuildId, RoleId, UserId};

use crate::channels::DiscordChannel;
use crate::fault::RestError;
use crate::routes::Route;

use super::Receiver;

/// Attempts to request the roles of an author, and the time between two of them.
const ATTEMPTS: u32 = 3;
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The last known roles of members.
pub(super) type MemberRoles = HashMap<(GuildId, UserId), Vec<RoleId>>;

/// The used fields of a member.
#[derive(Deserialize)]
struct Member {
    #[serde(default)]
    roles: Vec<RoleId>,
}

impl Receiver<'_> {
    /// Returns the roles of a message's author that the configuration names.
    pub(super) async fn author_roles(
        &mut self,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Vec<String> {
        let is_person = message.webhook_id.is_none() && channel_type != DiscordChannel::Direct;
        if self.discord.settings.roles.is_empty() || !is_person {
            return Vec::new();
        }
        let guild = message.guild_id.or_else(|| self.discord.uploads.guild_of(message.channel_id));
        let Some(guild) = guild else { return Vec::new() };
        let member = (guild, message.author.id);
        match &message.member {
            Some(live) => drop(self.members.insert(member, live.roles.clone())),
            None if self.members.contains_key(&member) => {}
            None => {
                let roles = self.request_roles(guild, message.author.id).await;
                self.members.insert(member, roles);
            }
        }
        self.discord.settings.named_roles(&self.members[&member])
    }

    /// Requests the roles of a member. Without an answer, the author has only the access of a person
    /// without roles.
    async fn request_roles(&self, guild_id: GuildId, user_id: UserId) -> Vec<RoleId> {
        let route = Route::GuildMember { guild_id, user_id };
        for attempt in 1..=ATTEMPTS {
            match self.discord.rest.get::<Member>(route).await {
                Ok(member) => return member.roles,
                Err(RestError::Refused(_)) => return Vec::new(),
                Err(fault) if attempt == ATTEMPTS => {
                    tracing::warn!(%guild_id, %user_id, error = %fault, "cannot read the roles of \
                        an author; treating the message as one without roles");
                }
                Err(RestError::Wait(wait)) => self.context.clock.sleep(wait).await,
                Err(_) => self.context.clock.sleep(RETRY_AFTER).await,
            }
        }
        Vec::new()
    }
}
