//! The roles of authors that give access (`allow_roles`, `owner_roles`). Live events report the
//! roles of their author; the history lacks them, so they are requested there.

use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::Message;
use serenity::model::id::{GuildId, RoleId, UserId};

use crate::bounded::KnownMap;
use crate::channels::DiscordChannel;
use crate::fault::RestError;
use crate::gateway::BotIds;
use crate::routes::Route;

use super::Receiver;

/// The last known roles of members. A page of the history begins without them, because a role may
/// have been taken away.
pub(super) type MemberRoles = KnownMap<(GuildId, UserId), Vec<RoleId>>;

impl Receiver<'_> {
    /// Requests the roles of a message's author, if they matter and are unknown.
    ///
    /// # Errors
    /// [`RestError`] for a passing fault: the message has to wait.
    pub(super) async fn learn_roles(
        &mut self,
        bot: BotIds,
        message: &Message,
    ) -> Result<(), RestError> {
        let channel_type = self.channel_type(message.channel_id);
        if self.skip_reason(bot, message, channel_type).is_some() {
            return Ok(());
        }
        self.roles_of_author(message, channel_type).await.map(|_| ())
    }

    /// Returns the roles of a message's author that the configuration names. After a passing fault,
    /// the author of a live event has only the access of a person without roles.
    pub(super) async fn author_roles(
        &mut self,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Vec<String> {
        self.roles_of_author(message, channel_type).await.unwrap_or_else(|fault| {
            let user = message.author.id;
            tracing::warn!(%user, error = %fault, "cannot read the roles of an author; treating the \
                message as one without roles");
            Vec::new()
        })
    }

    async fn roles_of_author(
        &mut self,
        message: &Message,
        channel_type: DiscordChannel,
    ) -> Result<Vec<String>, RestError> {
        let is_person = message.webhook_id.is_none() && channel_type != DiscordChannel::Direct;
        if self.discord.settings.roles.is_empty() || !is_person {
            return Ok(Vec::new());
        }
        let guild = message.guild_id.or_else(|| self.discord.uploads.guild_of(message.channel_id));
        let Some(guild) = guild else { return Ok(Vec::new()) };
        let member = (guild, message.author.id);
        let roles = match (&message.member, self.members.peek(&member)) {
            (Some(live), _) => live.roles.clone(),
            (None, Some(known)) => known.clone(),
            (None, None) => self.request_roles(guild, message.author.id).await?,
        };
        let named = self.discord.settings.named_roles(&roles);
        self.members.put(member, roles);
        Ok(named)
    }

    /// Requests the roles of a member. A person who is no member has none.
    async fn request_roles(
        &self,
        guild_id: GuildId,
        user_id: UserId,
    ) -> Result<Vec<RoleId>, RestError> {
        let route = Route::GuildMember { guild_id, user_id };
        match self.discord.rest.get::<Value>(route).await {
            Ok(member) => {
                let roles = member["roles"].as_array().into_iter().flatten();
                Ok(roles.flat_map(RoleId::deserialize).collect())
            }
            Err(fault @ RestError::Refused(_)) if !fault.is_about_token() => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }
}
