//! Messages in the platform's format.

use std::time::Duration;

use serde_json::{Value, json};

use super::content_access::ContentAccess;
use super::draft::EPHEMERAL;
use super::mentions::Mention;
use super::messages::{Attachment, DiscordMessage};
use super::platform::PlatformState;
use super::snowflake::iso;
use super::world::merge;

/// Lifetime of a link to a file.
pub const LINK_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

const SLASH_REPLY: u64 = 20;
const REPLY: u64 = 19;

impl PlatformState {
    /// Returns a message in the REST format, without its nonce, which only its creator sees.
    pub(super) fn message(&self, message: &DiscordMessage, access: ContentAccess) -> Value {
        let mut described = self.without_reply(message, access);
        let Some(replied) = message.reply_to else { return described };
        let mut reference = json!({ "type": 0, "channel_id": message.channel.to_string(),
                "message_id": replied.to_string() });
        if let Some(guild) = self.guild_of(message.channel) {
            reference["guild_id"] = json!(guild.to_string());
        }
        let original = self.messages.find(message.channel, replied);
        let original = original.map(|original| self.without_reply(original, access));
        merge(
            &mut described,
            &json!({ "message_reference": reference, "referenced_message": original }),
        );
        described
    }

    fn without_reply(&self, message: &DiscordMessage, access: ContentAccess) -> Value {
        let mut mentioned: Vec<u64> = message.mentions().iter().filter_map(Mention::user).collect();
        let pinged = self.pinged(message).filter(|author| !mentioned.contains(author));
        mentioned.extend(pinged);
        let shown = access == ContentAccess::Granted
            || self.guild_of(message.channel).is_none()
            || message.author == self.world.me.id
            || mentioned.contains(&self.world.me.id);
        let kind = match (message.interaction, message.reply_to) {
            (Some(_), _) => SLASH_REPLY,
            (None, Some(_)) => REPLY,
            (None, None) => 0,
        };
        let files = message.files.iter().map(|file| self.attachment(message, file));
        let roles = message.mentions().into_iter().filter_map(|mention| match mention {
            Mention::Role(id) => Some(id.to_string()),
            _ => None,
        });
        let mut described = json!({
            "id": message.id.to_string(), "channel_id": message.channel.to_string(),
            "author": self.world.user(message.author), "type": kind, "flags": message.flags,
            "content": message.text, "timestamp": iso(message.at),
            "edited_timestamp": message.edited_at.map(iso), "tts": false, "pinned": false,
            "mention_everyone": message.mentions().contains(&Mention::Everyone),
            "mentions": mentioned.iter().map(|id| self.world.user(*id)).collect::<Value>(),
            "mention_roles": roles.collect::<Value>(), "attachments": files.collect::<Value>(),
            "embeds": message.embeds, "components": message.components });
        if !shown {
            let nothing = json!({ "content": "", "attachments": [], "embeds": [],
                "components": [] });
            merge(&mut described, &nothing);
        }
        merge(&mut described, &message.more);
        described
    }

    /// Returns the user that a message mentions because it is a reply.
    pub(super) fn pinged(&self, message: &DiscordMessage) -> Option<u64> {
        let replied = message.reply_to.filter(|_| message.pings)?;
        Some(self.messages.find(message.channel, replied)?.author)
    }

    /// Returns a message in the format of events, with guild and member.
    pub(super) fn message_event(&self, message: &DiscordMessage, access: ContentAccess) -> Value {
        let mut described = self.message(message, access);
        if let Some(guild) = self.guild_of(message.channel) {
            described["guild_id"] = json!(guild.to_string());
            if message.flags & EPHEMERAL == 0 {
                described["member"] = self.world.member_of(guild, message.author);
            }
        }
        described
    }

    /// Returns a file with a link. The link is signed again on each call.
    fn attachment(&self, message: &DiscordMessage, file: &Attachment) -> Value {
        let until = self.now.after(LINK_KEPT).0 / 1000;
        let url = format!(
            "{}/attachments/{}/{}/{}?ex={until:x}&is={:x}&hm=0",
            self.files_at.as_ref().unwrap_or(&self.base_url),
            message.channel,
            file.id,
            file.name,
            self.now.0 / 1000,
        );
        json!({ "id": file.id.to_string(), "filename": file.name, "size": file.size, "url": url,
            "proxy_url": url, "content_type": file.media_type })
    }

    pub(super) fn guild_of(&self, channel: u64) -> Option<u64> {
        self.world.channels.get(&channel).and_then(super::world::Channel::guild)
    }
}
