//! Events: their recipients, and the content that each recipient may see.

use serde_json::{Value, json};

use super::content_access::{ContentAccess, MESSAGE_CONTENT};
use super::gateway::{FakeGateway, OutgoingFrame, Session};
use super::messages::DiscordMessage;
use super::platform::PlatformState;

/// The intents that events belong to (Gateway Intents, API reference).
pub(super) const GUILDS: u64 = 1;
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT_MESSAGES: u64 = 1 << 12;

impl PlatformState {
    /// Sends an event to every session with one of these intents. `body` makes the data for the
    /// intents of a session.
    pub(super) fn dispatch(&mut self, kind: &str, intents: u64, body: impl Fn(u64) -> Value) {
        self.gateway.forget(self.now);
        let wants = |session: &Session| intents == 0 || session.intents & intents != 0;
        let names: Vec<String> = self
            .gateway
            .sessions
            .iter()
            .filter(|(_, session)| wants(session))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            let body = body(self.gateway.sessions[&name].intents);
            self.gateway.tell(&name, kind, &body);
        }
    }

    /// Sends an event about a message. Only sessions with the content intent see its content.
    pub(super) fn tell_message(&mut self, kind: &str, message: &DiscordMessage) {
        let hidden = self.message_event(message, ContentAccess::Denied);
        let mut shown = self.message_event(message, ContentAccess::Granted);
        let intents = self.message_intents(message.channel);
        if let (Some(nonce), "MESSAGE_CREATE") = (&message.nonce, kind) {
            shown["nonce"] = json!(nonce);
        }
        let sees = |intents: u64| intents & MESSAGE_CONTENT != 0;
        self.dispatch(
            kind,
            intents,
            |intents| {
                if sees(intents) { shown.clone() } else { hidden.clone() }
            },
        );
    }

    pub(super) fn tell_deleted(&mut self, channel: u64, message: u64) {
        let mut body = json!({ "id": message.to_string(), "channel_id": channel.to_string() });
        if let Some(guild) = self.guild_of(channel) {
            body["guild_id"] = json!(guild.to_string());
        }
        let intents = self.message_intents(channel);
        self.dispatch("MESSAGE_DELETE", intents, |_| body.clone());
    }

    fn message_intents(&self, channel: u64) -> u64 {
        if self.guild_of(channel).is_some() { GUILD_MESSAGES } else { DIRECT_MESSAGES }
    }
}

impl FakeGateway {
    /// Adds an event to a session, and sends it if there is a connection. The event is kept for a
    /// resume.
    pub(super) fn tell(&mut self, session: &str, kind: &str, body: &Value) {
        let Some(session) = self.sessions.get_mut(session) else { return };
        session.seq += 1;
        let event = json!({ "op": 0, "t": kind, "s": session.seq, "d": body }).to_string();
        session.events.push(event.clone());
        let connection = session.connection.and_then(|id| self.connections.get_mut(&id));
        if let Some(connection) = connection {
            connection.out.push_back(OutgoingFrame::Text(event));
        }
    }
}
