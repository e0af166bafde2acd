//! What goes wrong, and what is set otherwise than on the real platform.

use std::time::Duration;

use serde_json::Value;

use super::DiscordFake;
use super::describe::MESSAGE_CONTENT;
use super::faults::{Fault, On};
use super::gateway::{Frame, GatewayFault};

/// What goes wrong with requests.
impl DiscordFake {
    /// The next `times` requests that `on` means meet this fault; `usize::MAX` is for ever.
    pub fn inject(&self, on: On, times: usize, fault: Fault) {
        self.change(|platform| platform.faults.add(on, times, fault));
    }

    /// No fault is to come any more, for requests and connections alike.
    pub fn clear_faults(&self) {
        self.change(|platform| {
            platform.faults.clear();
            platform.gateway.faults.clear();
        });
    }

    /// From now on files are said to be below this URL, which the fake does not serve.
    pub fn files_at(&self, url: &str) {
        self.change(|platform| platform.files_at = Some(url.to_owned()));
    }

    /// The token is worth nothing any more: 401, and 4004 on the gateway.
    pub fn revoke(&self) {
        self.change(super::Platform::revoke);
    }

    /// The token is worth something again, as if the bot had been given this one anew.
    pub fn reinstate(&self) {
        self.change(|platform| platform.revoked = false);
    }

    /// Whether requests and payloads are counted against the rate limits. The windows end with the
    /// time of the platform, which stands still unless it is moved.
    pub fn limit_rates(&self, on: bool) {
        self.change(|platform| {
            platform.limits.on = on;
            platform.gateway.limited = on;
        });
    }

    /// Whether a message or an edit without `allowed_mentions` is refused, which the real platform
    /// would take: on unless switched off.
    pub fn require_allowed_mentions(&self, on: bool) {
        self.change(|platform| platform.rules.allowed_mentions = on);
    }

    /// How many bytes a file may have that the bot uploads, where no boost allows more.
    pub fn limit_uploads(&self, bytes: usize) {
        self.change(|platform| platform.rules.file_size = bytes);
    }
}

/// What goes wrong with the gateway.
impl DiscordFake {
    /// The next `times` connections meet this fault; `usize::MAX` is for ever.
    pub fn inject_gateway(&self, times: usize, fault: GatewayFault) {
        self.change(|platform| platform.gateway.faults.push_back((times, fault)));
    }

    /// What HELLO says from now on.
    pub fn set_heartbeat_interval(&self, interval: Duration) {
        self.change(|platform| platform.gateway.heartbeat_interval = interval);
    }

    /// Whether heartbeats are acknowledged.
    pub fn acknowledge_heartbeats(&self, on: bool) {
        self.change(|platform| platform.gateway.acks = on);
    }

    /// How long a session without a connection is kept, in the platform's time.
    pub fn keep_sessions(&self, time: Duration) {
        self.change(|platform| platform.gateway.session_kept = time);
    }

    /// Forgets all sessions: whoever resumes has to identify again.
    pub fn forget_sessions(&self) {
        self.change(|platform| {
            platform.gateway.sessions.retain(|_, session| session.connection.is_some());
        });
    }

    /// Whether a RESUME is taken only at `resume_gateway_url`.
    pub fn resume_only_at_its_url(&self, on: bool) {
        self.change(|platform| platform.gateway.resume_anywhere = !on);
    }

    /// Whether the bot may read what is said in guilds (the message content intent in the
    /// developer portal): granted unless switched off.
    pub fn grant_message_content(&self, on: bool) {
        let granted = if on { MESSAGE_CONTENT } else { 0 };
        self.change(|platform| platform.gateway.granted = granted);
    }

    /// How many IDENTIFYs there may be in a day before the token is reset.
    pub fn limit_identifies(&self, total: usize) {
        self.change(|platform| platform.gateway.start_limit.total = total);
    }

    /// Asks the client to connect again (op 7).
    pub fn request_reconnect(&self) {
        self.send_to_all(&serde_json::json!({ "op": 7, "t": null, "s": null, "d": null }));
    }

    /// Asks the client for a heartbeat (op 1).
    pub fn request_heartbeat(&self) {
        self.send_to_all(&serde_json::json!({ "op": 1, "t": null, "s": null, "d": null }));
    }

    /// Tells the client that its session is invalid (op 9); unless it is told that it can resume,
    /// the session is forgotten.
    pub fn invalidate_session(&self, resumable: bool) {
        self.change(|platform| {
            for id in platform.gateway.live() {
                platform.invalid_session(id, resumable);
            }
            if !resumable {
                platform.gateway.sessions.clear();
            }
        });
    }

    /// Closes the connections with this code. The session is kept, except with 4007 and 4009.
    pub fn close_connections(&self, code: u16) {
        self.change(|platform| {
            let all: Vec<u64> = platform.gateway.connections.keys().copied().collect();
            for id in all {
                platform.gateway.close(id, code, "As the test wants.");
            }
            if matches!(code, 4007 | 4009) {
                platform.gateway.sessions.clear();
            }
        });
    }

    /// Resets the connections: the client sees 1006.
    pub fn drop_connections(&self) {
        self.change(|platform| {
            for connection in platform.gateway.connections.values_mut() {
                connection.out.push_back(Frame::Drop);
            }
        });
    }

    /// The connections are half-open from now on: nothing is heard and nothing is said, and the
    /// client is not told. New connections are not concerned.
    pub fn freeze_connections(&self) {
        self.change(|platform| {
            for connection in platform.gateway.connections.values_mut() {
                connection.frozen = true;
            }
        });
    }

    /// An event of any kind with any content, to every session.
    pub fn push(&self, kind: &str, body: &Value) {
        self.change(|platform| platform.dispatch(kind, 0, |_| body.clone()));
    }

    /// A payload with any content, JSON or not, to every connection with a session. It is no event
    /// of the session: a resume does not bring it again.
    pub fn push_raw(&self, payload: &str) {
        self.change(|platform| {
            for id in platform.gateway.live() {
                if let Some(connection) = platform.gateway.connections.get_mut(&id) {
                    connection.out.push_back(Frame::Text(payload.to_owned()));
                }
            }
        });
    }

    fn send_to_all(&self, payload: &Value) {
        self.push_raw(&payload.to_string());
    }
}
