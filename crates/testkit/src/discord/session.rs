//! Handles the payloads of gateway clients.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::GUILDS;
use super::gateway::{GatewayFault, Identify, OutgoingFrame, Resume, Session};
use super::platform::PlatformState;

/// Maximum number of a client's payloads in [`PAYLOAD_WINDOW`].
pub const PAYLOAD_LIMIT: usize = 120;
/// See [`PAYLOAD_LIMIT`].
pub const PAYLOAD_WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of presences in [`PRESENCE_WINDOW`].
const PRESENCE_LIMIT: usize = 5;
const PRESENCE_WINDOW: Duration = Duration::from_secs(20);
/// Maximum length of the text of a presence, in bytes.
const STATE_LIMIT: usize = 128;
/// Maximum size of a client's payload in bytes.
const PAYLOAD_SIZE: usize = 4096;

/// All existing intents (Gateway Intents, API reference).
const INTENTS: u64 = ((1 << 17) - 1) | (3 << 20) | (3 << 24);
/// The intents that must be granted to a bot: members, presences, content.
const PRIVILEGED: u64 = (1 << 1) | (1 << 8) | (1 << 15);

/// A close code and its text (Gateway Close Event Codes).
type Close = (u16, &'static str);

const UNKNOWN_OPCODE: Close = (4001, "Unknown opcode.");
const DECODE_ERROR: Close = (4002, "Error while decoding payload.");
const NOT_AUTHENTICATED: Close = (4003, "Not authenticated.");
const WRONG_TOKEN: Close = (4004, "Authentication failed.");
const ALREADY: Close = (4005, "Already authenticated.");
const INVALID_SEQ: Close = (4007, "Invalid seq.");
const RATE_LIMITED: Close = (4008, "You are being rate limited.");
const INVALID_VERSION: Close = (4012, "Invalid API version.");
const INVALID_INTENTS: Close = (4013, "Invalid intent(s).");
const DISALLOWED_INTENTS: Close = (4014, "Disallowed intent(s).");

impl PlatformState {
    /// Handles a new WebSocket with this path and query.
    pub(super) fn open(&mut self, id: u64, path: &str) {
        let interval = self.gateway.heartbeat_interval.as_millis();
        let at_resume_url = path.starts_with(super::RESUME_PATH);
        let Some(connection) = self.gateway.connections.get_mut(&id) else { return };
        connection.at_resume_url = at_resume_url;
        if connection.fault == Some(GatewayFault::NoHello) {
            return;
        }
        let query = path.split_once('?').map_or("", |(_, query)| query);
        if !query.split('&').any(|pair| pair == "v=10") {
            return self.gateway.close(id, INVALID_VERSION.0, INVALID_VERSION.1);
        }
        let hello = json!({ "op": 10, "t": null, "s": null,
            "d": { "heartbeat_interval": interval } });
        self.gateway.send(id, &hello);
    }

    /// Handles a payload of a client.
    pub(super) fn hear(&mut self, id: u64, text: &str) {
        if let Err((code, why)) = self.take_payload(id, text) {
            self.gateway.close(id, code, why);
        }
    }

    fn take_payload(&mut self, id: u64, text: &str) -> Result<(), Close> {
        let now = self.now;
        let Some(connection) = self.gateway.connections.get_mut(&id) else { return Ok(()) };
        if connection.frozen || connection.fault == Some(GatewayFault::NoHello) {
            return Ok(());
        }
        connection.heard.push_back(now);
        connection.heard.retain(|at| at.until(now) < PAYLOAD_WINDOW);
        if self.gateway.limited && connection.heard.len() > PAYLOAD_LIMIT {
            return Err(RATE_LIMITED);
        }
        let is_known = connection.session.is_some();
        let payload: Value = serde_json::from_str(text).map_err(|_| DECODE_ERROR)?;
        if text.len() > PAYLOAD_SIZE {
            return Err(DECODE_ERROR);
        }
        match payload["op"].as_u64() {
            None => Err(DECODE_ERROR),
            Some(1) => {
                self.heartbeat(id);
                Ok(())
            }
            Some(2 | 6) if is_known => Err(ALREADY),
            Some(2 | 6) if self.meets_fault(id) => Ok(()),
            Some(2) => self.identify(id, &payload["d"]),
            Some(6) => self.resume(id, &payload["d"]),
            Some(3 | 4 | 8 | 31) if !is_known => Err(NOT_AUTHENTICATED),
            Some(3) => self.update_presence(&payload["d"]),
            Some(4 | 8 | 31) => Ok(()),
            Some(_) => Err(UNKNOWN_OPCODE),
        }
    }

    /// Takes a presence of the bot (Update Presence, gateway reference).
    fn update_presence(&mut self, given: &Value) -> Result<(), Close> {
        let is_status =
            |status: &str| ["online", "dnd", "idle", "invisible", "offline"].contains(&status);
        let activities = given["activities"].as_array().ok_or(DECODE_ERROR)?;
        let is_activity = |activity: &Value| {
            let state = activity["state"].as_str().unwrap_or_default();
            activity["name"].is_string() && activity["type"].is_u64() && state.len() <= STATE_LIMIT
        };
        if !given["status"].as_str().is_some_and(is_status)
            || !given["afk"].is_boolean()
            || !activities.iter().all(is_activity)
        {
            return Err(DECODE_ERROR);
        }
        let now = self.now;
        let recent =
            self.gateway.presences.iter().filter(|(at, _)| at.until(now) < PRESENCE_WINDOW);
        if self.gateway.limited && recent.count() >= PRESENCE_LIMIT {
            return Err(RATE_LIMITED);
        }
        self.gateway.presences.push((now, given.clone()));
        Ok(())
    }

    fn heartbeat(&mut self, id: u64) {
        self.gateway.heartbeats += 1;
        if self.gateway.acks {
            self.gateway.send(id, &json!({ "op": 11, "t": null, "s": null, "d": null }));
        }
    }

    /// Applies the fault of the connection. Returns `true` if there is one.
    fn meets_fault(&mut self, id: u64) -> bool {
        match self.gateway.connections[&id].fault {
            Some(GatewayFault::Close(code)) => self.gateway.close(id, code, "As the test wants."),
            Some(GatewayFault::InvalidSession { resumable }) => {
                self.invalid_session(id, resumable);
            }
            _ => return false,
        }
        true
    }

    /// Reports an invalid session. The client may then send IDENTIFY on the same connection.
    pub(super) fn invalid_session(&mut self, id: u64, resumable: bool) {
        if let Some(connection) = self.gateway.connections.get_mut(&id) {
            connection.session.take_if(|_| !resumable);
        }
        self.gateway.send(id, &json!({ "op": 9, "t": null, "s": null, "d": resumable }));
    }

    fn identify(&mut self, id: u64, given: &Value) -> Result<(), Close> {
        let text = given["token"].as_str().ok_or(DECODE_ERROR)?;
        if !given["properties"].is_object() {
            return Err(DECODE_ERROR);
        }
        self.check_token(text)?;
        let intents = given["intents"].as_u64().ok_or(INVALID_INTENTS)?;
        if intents & !INTENTS != 0 {
            return Err(INVALID_INTENTS);
        }
        if intents & PRIVILEGED & !self.gateway.granted != 0 {
            return Err(DISALLOWED_INTENTS);
        }
        if !self.gateway.start_limit.take(self.now) {
            self.revoke();
            return Ok(());
        }
        let session = format!("session{}", self.next_id());
        let identify = Identify { connection: id, at: self.now, intents, session: session.clone() };
        self.gateway.identifies.push(identify);
        self.start_session(id, &session, intents);
        Ok(())
    }

    /// Serenity's token begins with `Bot `, which the platform accepts.
    fn check_token(&self, given: &str) -> Result<(), Close> {
        if self.revoked || given.trim_start_matches("Bot ") != self.token {
            return Err(WRONG_TOKEN);
        }
        Ok(())
    }

    fn start_session(&mut self, id: u64, name: &str, intents: u64) {
        let (connection, lost_at) = (Some(id), None);
        let session = Session { intents, seq: 0, events: Vec::new(), connection, lost_at };
        self.gateway.sessions.insert(name.to_owned(), session);
        self.gateway.connections.get_mut(&id).unwrap().session = Some(name.to_owned());
        let ready = self.ready(name);
        self.gateway.tell(name, "READY", &ready);
        if intents & GUILDS == 0 {
            return;
        }
        let here = self.world.guilds.values().filter(|guild| !guild.left);
        for guild in here.map(|guild| self.world.guild_create(guild)).collect::<Vec<_>>() {
            self.gateway.tell(name, "GUILD_CREATE", &guild);
        }
    }

    fn ready(&self, session: &str) -> Value {
        let here = self.world.guilds.values().filter(|guild| !guild.left);
        let guilds = here.map(|guild| json!({ "id": guild.id.to_string(), "unavailable": true }));
        let me = self.world.me.id;
        json!({ "v": 10, "user": self.world.user(me), "guilds": guilds.collect::<Value>(),
            "session_id": session, "resume_gateway_url": self.gateway.resume_url,
            "shard": [0, 1], "session_type": "normal", "private_channels": [],
            "relationships": [], "presences": [], "application": {
                "id": me.to_string(), "flags": self.gateway.application_flags() } })
    }

    fn resume(&mut self, id: u64, given: &Value) -> Result<(), Close> {
        let text = given["token"].as_str().ok_or(DECODE_ERROR)?;
        let name = given["session_id"].as_str().ok_or(DECODE_ERROR)?.to_owned();
        let seq = given["seq"].as_u64().ok_or(DECODE_ERROR)?;
        self.check_token(text)?;
        self.gateway.forget(self.now);
        let at_resume_url = self.gateway.connections[&id].at_resume_url;
        let is_kept = self.gateway.sessions.contains_key(&name)
            && (at_resume_url || self.gateway.resume_anywhere);
        let is_seen = is_kept && seq <= self.gateway.sessions[&name].seq;
        let (connection, at, session) = (id, self.now, name.clone());
        let taken = is_kept && is_seen;
        let resume = Resume { connection, at, session, seq, at_resume_url, taken };
        self.gateway.resumes.push(resume);
        if !is_kept {
            self.invalid_session(id, false);
            return Ok(());
        }
        if !is_seen {
            self.gateway.sessions.remove(&name);
            return Err(INVALID_SEQ);
        }
        self.go_on(id, &name, seq);
        Ok(())
    }

    /// Sends the missed events and continues the session on this connection.
    fn go_on(&mut self, id: u64, name: &str, seq: u64) {
        let session = self.gateway.sessions.get_mut(name).unwrap();
        let earlier = session.connection.replace(id);
        session.lost_at = None;
        let seen = usize::try_from(seq).unwrap();
        let missed = session.events[seen..].to_vec();
        let connection = self.gateway.connections.get_mut(&id).unwrap();
        connection.session = Some(name.to_owned());
        connection.out.extend(missed.into_iter().map(OutgoingFrame::Text));
        self.gateway.tell(name, "RESUMED", &json!({ "_trace": [] }));
        if let Some(earlier) = earlier.filter(|earlier| *earlier != id) {
            self.gateway.close(earlier, 4000, "The session goes on elsewhere.");
        }
    }

    /// Revokes the token: closes every connection with 4004.
    pub(super) fn revoke(&mut self) {
        self.revoked = true;
        let all: Vec<u64> = self.gateway.connections.keys().copied().collect();
        for connection in all {
            self.gateway.close(connection, WRONG_TOKEN.0, WRONG_TOKEN.1);
        }
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
