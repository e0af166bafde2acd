//! The gateway: connections, sessions that outlive them, and limits (Gateway, API reference).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use serde_json::Value;

use super::content_access::{ContentAccess, MESSAGE_CONTENT};

/// Default interval between the heartbeats of a client.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(41_250);
/// Default lifetime of a session without a connection.
pub const SESSION_KEPT: Duration = Duration::from_secs(3 * 60);
/// Default maximum number of IDENTIFYs in [`START_WINDOW`]. A further one resets the token.
pub const START_LIMIT: usize = 1000;
/// See [`START_LIMIT`].
pub const START_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// The application flag that allows a bot in few guilds to read content. Bots in many guilds have
/// `1 << 18`.
const CONTENT_FLAG: u64 = 1 << 19;

/// A fault of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayFault {
    /// The connection is reset before the WebSocket is open.
    Reset,
    /// The WebSocket never opens: the connection is accepted without an answer.
    Hang,
    /// The WebSocket opens, but the platform sends nothing, not even HELLO.
    NoHello,
    /// IDENTIFY or RESUME is answered with this close code.
    Close(u16),
    /// IDENTIFY or RESUME is answered with "invalid session" (op 9).
    InvalidSession {
        /// `true` if the answer allows a resume.
        resumable: bool,
    },
}

/// An accepted IDENTIFY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identify {
    /// The number of the connection, from 1.
    pub connection: u64,
    /// The platform's time.
    pub at: Timestamp,
    /// The requested intents.
    pub intents: u64,
    /// The new session.
    pub session: String,
}

/// A RESUME, accepted or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The number of the connection, from 1.
    pub connection: u64,
    /// The platform's time.
    pub at: Timestamp,
    /// The requested session.
    pub session: String,
    /// The number of the last event that the client has received.
    pub seq: u64,
    /// `true` if it came to `resume_gateway_url` instead of the ordinary address.
    pub at_resume_url: bool,
    /// `true` if the session continues.
    pub taken: bool,
}

/// Data that waits to be sent on a connection.
#[derive(Debug)]
pub(super) enum OutgoingFrame {
    Text(String),
    Close(u16, String),
    /// The TCP connection is reset: the client sees 1006.
    Drop,
}

#[derive(Debug, Default)]
pub(super) struct GatewayConnection {
    pub(super) at_resume_url: bool,
    pub(super) session: Option<String>,
    pub(super) out: VecDeque<OutgoingFrame>,
    /// Half-open: input is ignored and nothing is sent.
    pub(super) frozen: bool,
    pub(super) fault: Option<GatewayFault>,
    /// The times of the client's payloads within the window of the rate limit.
    pub(super) heard: VecDeque<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) intents: u64,
    pub(super) seq: u64,
    /// Every sent event of the session, from number 1.
    pub(super) events: Vec<String>,
    pub(super) connection: Option<u64>,
    pub(super) lost_at: Option<Timestamp>,
}

/// The limit of IDENTIFYs.
#[derive(Debug)]
pub(super) struct StartLimit {
    pub(super) total: usize,
    used: usize,
    until: Timestamp,
}

/// The gateway of one bot.
#[derive(Debug)]
pub(super) struct FakeGateway {
    pub(super) url: String,
    pub(super) resume_url: String,
    pub(super) heartbeat_interval: Duration,
    pub(super) acks: bool,
    pub(super) session_kept: Duration,
    pub(super) resume_anywhere: bool,
    /// The privileged intents of the bot.
    pub(super) granted: u64,
    /// `true` if the payloads of clients count against the rate limit.
    pub(super) limited: bool,
    pub(super) start_limit: StartLimit,
    pub(super) faults: VecDeque<(usize, GatewayFault)>,
    pub(super) connections: BTreeMap<u64, GatewayConnection>,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) opened: u64,
    pub(super) identifies: Vec<Identify>,
    pub(super) resumes: Vec<Resume>,
    pub(super) heartbeats: usize,
    /// The presences of the bot, with their times.
    pub(super) presences: Vec<(Timestamp, Value)>,
    /// The close codes of ended connections: the client's, or 1006 if there was none.
    pub(super) closes: Vec<(u64, u16)>,
}

impl Default for FakeGateway {
    fn default() -> Self {
        Self {
            url: String::new(),
            resume_url: String::new(),
            heartbeat_interval: HEARTBEAT_INTERVAL,
            acks: true,
            session_kept: SESSION_KEPT,
            resume_anywhere: true,
            granted: MESSAGE_CONTENT,
            limited: true,
            start_limit: StartLimit { total: START_LIMIT, used: 0, until: Timestamp(0) },
            faults: VecDeque::new(),
            connections: BTreeMap::new(),
            sessions: BTreeMap::new(),
            opened: 0,
            identifies: Vec::new(),
            resumes: Vec::new(),
            heartbeats: 0,
            presences: Vec::new(),
            closes: Vec::new(),
        }
    }
}

impl StartLimit {
    pub(super) fn remaining(&self, now: Timestamp) -> usize {
        let used = if self.until <= now { 0 } else { self.used };
        self.total.saturating_sub(used)
    }

    pub(super) fn reset_after(&self, now: Timestamp) -> Duration {
        now.until(self.until)
    }

    /// Counts one more IDENTIFY. Returns `false` if the limit is exceeded.
    pub(super) fn take(&mut self, now: Timestamp) -> bool {
        if self.until <= now {
            (self.used, self.until) = (0, now.after(START_WINDOW));
        }
        self.used += 1;
        self.used <= self.total
    }
}

impl FakeGateway {
    pub(super) fn content_access(&self) -> ContentAccess {
        if self.granted & MESSAGE_CONTENT == 0 {
            ContentAccess::Denied
        } else {
            ContentAccess::Granted
        }
    }

    pub(super) fn application_flags(&self) -> u64 {
        match self.content_access() {
            ContentAccess::Granted => CONTENT_FLAG,
            ContentAccess::Denied => 0,
        }
    }

    /// Accepts a connection and returns its number and its fault.
    pub(super) fn accept(&mut self) -> (u64, Option<GatewayFault>) {
        self.opened += 1;
        let fault = self.faults.front_mut().map(|(times, fault)| {
            *times = times.saturating_sub(1);
            (*times, *fault)
        });
        if let Some((0, _)) = fault {
            self.faults.pop_front();
        }
        let fault = fault.map(|(_, fault)| fault);
        let connection = GatewayConnection { fault, ..GatewayConnection::default() };
        self.connections.insert(self.opened, connection);
        (self.opened, fault)
    }

    /// Returns the next data to send.
    pub(super) fn next_frame(&mut self, connection: u64) -> Option<OutgoingFrame> {
        let connection = self.connections.get_mut(&connection)?;
        if connection.frozen {
            connection.out.retain(|frame| !matches!(frame, OutgoingFrame::Text(_)));
        }
        connection.out.pop_front()
    }

    pub(super) fn send(&mut self, connection: u64, payload: &Value) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.out.push_back(OutgoingFrame::Text(payload.to_string()));
        }
    }

    pub(super) fn close(&mut self, connection: u64, code: u16, why: &str) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.out.push_back(OutgoingFrame::Close(code, why.to_owned()));
        }
    }

    /// Removes a connection. The client's codes 1000 and 1001 also end its session.
    pub(super) fn disconnect(&mut self, id: u64, code: u16, now: Timestamp) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.closes.push((id, code));
        let Some(name) = connection.session else { return };
        let Some(session) = self.sessions.get_mut(&name) else { return };
        if session.connection != Some(id) {
            return;
        }
        (session.connection, session.lost_at) = (None, Some(now));
        if matches!(code, 1000 | 1001) {
            self.sessions.remove(&name);
        }
    }

    /// Forgets sessions whose client has been away for too long.
    pub(super) fn forget(&mut self, now: Timestamp) {
        let kept = self.session_kept;
        let is_kept = |session: &Session| session.lost_at.is_none_or(|lost| lost.until(now) < kept);
        self.sessions.retain(|_, session| is_kept(session));
    }

    /// Returns the connections with a session.
    pub(super) fn live(&self) -> Vec<u64> {
        self.sessions.values().filter_map(|session| session.connection).collect()
    }
}

#[cfg(test)]
#[path = "gateway_tests.rs"]
mod tests;
