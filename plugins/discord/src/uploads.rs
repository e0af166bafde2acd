//! The largest file that a channel accepts, by the boost tier of its server.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::guild::PremiumTier;
use serenity::model::id::{ChannelId, GuildId};

use crate::channels::described;

const MEGABYTE: u64 = 1024 * 1024;

/// Returns the largest file of a server of this tier, in bytes. A private chat counts as one
/// without a tier (Discord API, "Uploading Files"; Discord Support, "Server Boosting").
fn max_bytes(tier: PremiumTier) -> u64 {
    match tier {
        PremiumTier::Tier2 => 50 * MEGABYTE,
        PremiumTier::Tier3 => 100 * MEGABYTE,
        _ => 10 * MEGABYTE,
    }
}

/// The tiers of the servers that the platform has described in this session.
#[derive(Debug, Default)]
pub(crate) struct UploadLimits(Mutex<UploadTiers>);

#[derive(Debug, Default)]
struct UploadTiers {
    tiers: HashMap<GuildId, PremiumTier>,
    guilds: HashMap<ChannelId, GuildId>,
}

impl UploadLimits {
    /// Notes the tier and the channels of the server that an event describes.
    pub(crate) fn learn_from(&self, event: &Value) {
        let tier = PremiumTier::deserialize(&event["premium_tier"]).ok();
        // A channel names its server; only a server has a tier.
        let guild = if tier.is_some() { &event["id"] } else { &event["guild_id"] };
        let Ok(guild) = GuildId::deserialize(guild) else { return };
        let mut known = self.0.lock();
        known.tiers.extend(tier.map(|tier| (guild, tier)));
        known.guilds.extend(described(event).map(|channel| (channel.id, guild)));
    }

    /// Returns the size of the largest file that a channel accepts, in bytes. An unknown channel
    /// counts as one without boost.
    pub(crate) fn max_bytes(&self, channel: Option<ChannelId>) -> u64 {
        let known = self.0.lock();
        let tier = channel.and_then(|id| known.tiers.get(known.guilds.get(&id)?));
        max_bytes(tier.copied().unwrap_or_default())
    }

    /// Returns the server of a channel, if the platform has described it.
    pub(crate) fn guild_of(&self, channel: ChannelId) -> Option<GuildId> {
        self.0.lock().guilds.get(&channel).copied()
    }
}
