//! Faults, and settings that differ from the real platform.

use std::time::Duration;

use serde_json::Value;

use super::DiscordFake;
use super::content_access::MESSAGE_CONTENT;
use super::faults::{InjectedFault, On};
use super::gateway::{GatewayFault, OutgoingFrame};

/// Faults of requests.
impl DiscordFake {
    /// Applies this fault to the next `times` requests that match `on`. `usize::MAX` stands for
    /// all.
    pub fn inject(&self, on: On, times: usize, fault: InjectedFault) {
        self.change(|platform| platform.faults.add(on, times, fault));
    }

    /// Removes all pending faults of requests and connections.
    pub fn clear_faults(&self) {
        self.change(|platform| {
            platform.faults.clear();
            platform.gateway.faults.clear();
        });
    }

    /// Makes links to files point below this URL, which the fake does not serve.
    pub fn files_at(&self, url: &str) {
        self.change(|platform| platform.files_at = Some(url.to_owned()));
    }

    /// Revokes the token: 401, and 4004 on the gateway.
    pub fn revoke(&self) {
        self.change(super::PlatformState::revoke);
    }

    /// Makes the token valid again, as if the bot had received this one again.
    pub fn reinstate(&self) {
        self.change(|platform| platform.revoked = false);
    }

    /// Sets whether requests and payloads count against the rate limits. The windows end by the
    /// platform's time, which only the test moves.
    pub fn limit_rates(&self, on: bool) {
        self.change(|platform| {
            platform.limits.on = on;
            platform.gateway.limited = on;
        });
    }

    /// Sets whether messages and edits without `allowed_mentions` are refused. The real platform
    /// accepts them. Default: `true`.
    pub fn require_allowed_mentions(&self, on: bool) {
        self.change(|platform| platform.rules.allowed_mentions = on);
    }

    /// Sets the maximum size in bytes of an uploaded file. Boosts of a guild can raise it.
    pub fn limit_uploads(&self, bytes: usize) {
        self.change(|platform| platform.rules.file_size = bytes);
    }
}

/// Faults of the gateway.
impl DiscordFake {
    /// Applies this fault to the next `times` connections. `usize::MAX` stands for all.
    pub fn inject_gateway(&self, times: usize, fault: GatewayFault) {
        self.change(|platform| platform.gateway.faults.push_back((times, fault)));
    }

    /// Sets the interval in further HELLOs.
    pub fn set_heartbeat_interval(&self, interval: Duration) {
        self.change(|platform| platform.gateway.heartbeat_interval = interval);
    }

    /// Sets whether heartbeats are acknowledged.
    pub fn acknowledge_heartbeats(&self, on: bool) {
        self.change(|platform| platform.gateway.acks = on);
    }

    /// Sets the lifetime of a session without a connection, in the platform's time.
    pub fn keep_sessions(&self, time: Duration) {
        self.change(|platform| platform.gateway.session_kept = time);
    }

    /// Forgets all sessions without a connection, so that their clients must identify again.
    pub fn forget_sessions(&self) {
        self.change(|platform| {
            platform.gateway.sessions.retain(|_, session| session.connection.is_some());
        });
    }

    /// Sets whether a RESUME is accepted only at `resume_gateway_url`.
    pub fn resume_only_at_its_url(&self, on: bool) {
        self.change(|platform| platform.gateway.resume_anywhere = !on);
    }

    /// Sets whether the bot may read the content of messages in guilds (the message content intent
    /// in the developer portal). Default: `true`.
    pub fn grant_message_content(&self, on: bool) {
        let granted = if on { MESSAGE_CONTENT } else { 0 };
        self.change(|platform| platform.gateway.granted = granted);
    }

    /// Sets the number of IDENTIFYs per day before the token is reset.
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

    /// Tells the client that its session is invalid (op 9). The session is forgotten unless it is
    /// resumable.
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
                connection.out.push_back(OutgoingFrame::Drop);
            }
        });
    }

    /// Makes the current connections half-open, without notice: input is ignored and nothing is
    /// sent. New connections are unaffected.
    pub fn freeze_connections(&self) {
        self.change(|platform| {
            for connection in platform.gateway.connections.values_mut() {
                connection.frozen = true;
            }
        });
    }

    /// Sends an event of any kind with any content to every session.
    pub fn push(&self, kind: &str, body: &Value) {
        self.change(|platform| platform.dispatch(kind, 0, |_| body.clone()));
    }

    /// Sends any text, JSON or not, to every connection with a session. It is outside of the
    /// session's events, so a resume does not repeat it.
    pub fn push_raw(&self, payload: &str) {
        self.change(|platform| {
            for id in platform.gateway.live() {
                if let Some(connection) = platform.gateway.connections.get_mut(&id) {
                    connection.out.push_back(OutgoingFrame::Text(payload.to_owned()));
                }
            }
        });
    }

    fn send_to_all(&self, payload: &Value) {
        self.push_raw(&payload.to_string());
    }
}
