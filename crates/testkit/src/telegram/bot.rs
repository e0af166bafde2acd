//! The platform's state of the bot, and the answers to its requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use avocet_protocol::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::chats::Chats;
use super::faults::{Fault, Faults};
use super::files::Files;
use super::limits::{self, Limits};
use super::updates::{Poll, Updates};
use super::wire::{self, ApiError, Call, Target};
use crate::START;
use crate::http::{HttpRequest, Later, Piece};

/// A call that the fake refused because it breaks a rule of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The method in lower case, or the path of a request without a valid method.
    pub method: String,
    /// The answer.
    pub error: ApiError,
}

/// A received call.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiCall {
    /// The method, in lower case.
    pub method: String,
    /// The parameters, without uploaded files.
    pub args: Value,
}

/// The bot, shared between the server and the test.
#[derive(Debug)]
pub(super) struct Shared {
    bot: Mutex<Bot>,
    /// Notified after every change.
    pub(super) changed: watch::Sender<()>,
}

impl Shared {
    pub(super) fn new(token: &str) -> Arc<Self> {
        Arc::new(Self { bot: Mutex::new(Bot::new(token)), changed: watch::Sender::new(()) })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Bot> {
        // A test that has failed must not cause a second panic.
        self.bot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the bot and notifies the waiting tasks.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Bot) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.send_replace(());
        result
    }

    /// Answers a request.
    pub(super) fn answer(self: &Arc<Self>, request: &HttpRequest) -> Vec<Piece> {
        self.change(|bot| bot.answer(request, &Arc::downgrade(self)))
    }
}

/// A poll that waits for an update.
#[derive(Debug)]
struct HeldPoll {
    number: u64,
    poll: Poll,
    until: Timestamp,
    answer: flume::Sender<Vec<Piece>>,
}

/// Dropped when the client disconnects or the poll is answered.
struct Held {
    shared: Weak<Shared>,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.change(|bot| {
            bot.held.take_if(|held| held.number == self.number);
        });
    }
}

/// The platform's state of a bot.
#[derive(Debug)]
pub(super) struct Bot {
    pub(super) token: String,
    pub(super) revoked: bool,
    pub(super) webhook: bool,
    pub(super) now: Timestamp,
    pub(super) updates: Updates,
    pub(super) chats: Chats,
    pub(super) files: Files,
    pub(super) faults: Faults,
    pub(super) limits: Limits,
    /// Messages of users, by chat and id.
    pub(super) heard: BTreeMap<(i64, i64), Value>,
    /// Pressed buttons without an answer, with the time of the press.
    pub(super) pressed: BTreeMap<String, Timestamp>,
    pub(super) presses: u64,
    pub(super) commands: Vec<Value>,
    pub(super) calls: Vec<ApiCall>,
    pub(super) refusals: Vec<Refusal>,
    held: Option<HeldPoll>,
    polls: u64,
}

impl Bot {
    fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            revoked: false,
            webhook: false,
            now: START,
            updates: Updates::default(),
            chats: Chats::default(),
            files: Files::default(),
            faults: Faults::default(),
            limits: Limits::default(),
            heard: BTreeMap::new(),
            pressed: BTreeMap::new(),
            presses: 0,
            commands: Vec::new(),
            calls: Vec::new(),
            refusals: Vec::new(),
            held: None,
            polls: 0,
        }
    }

    /// Returns the date for messages, in seconds since 1970.
    pub(super) fn date(&self) -> i64 {
        self.now.0 / 1000
    }

    /// Returns the bot's description of itself.
    pub(super) fn me(&self) -> Value {
        json!({ "id": self.id(), "is_bot": true, "first_name": "Avocet",
            "username": super::USERNAME })
    }

    /// Returns the number before the colon of the token.
    pub(super) fn id(&self) -> i64 {
        self.token.split(':').next().and_then(|id| id.parse().ok()).unwrap_or(1)
    }

    /// Queues an update and ends an open poll.
    pub(super) fn push(&mut self, kind: &str, body: Value) -> Option<i64> {
        let id = self.updates.push(kind, body, self.now);
        self.wake();
        id
    }

    /// Queues an update of any kind, requested or not.
    pub(super) fn push_unasked(&mut self, kind: &str, body: Value) -> i64 {
        let id = self.updates.push_unasked(kind, body, self.now);
        self.wake();
        id
    }

    /// Queues this update unchanged.
    pub(super) fn push_whole(&mut self, update: Value) -> i64 {
        let id = self.updates.push_whole(update, self.now);
        self.wake();
        id
    }

    /// Ends the open poll if there are updates, or after its timeout.
    pub(super) fn wake(&mut self) {
        let Some(HeldPoll { poll, until, .. }) = self.held else { return };
        let updates = self.updates.read(poll.offset, poll.limit, self.now);
        if !updates.is_empty() || self.now >= until {
            self.end_poll(wire::success(&Value::Array(updates)));
        }
    }

    /// Ends the open poll with these bytes. Returns `false` if there is none.
    pub(super) fn end_poll(&mut self, pieces: Vec<Piece>) -> bool {
        // The client may have disconnected just now.
        self.held.take().is_some_and(|held| held.answer.try_send(pieces).is_ok())
    }

    pub(super) fn is_polled(&self) -> bool {
        self.held.is_some()
    }

    pub(super) fn refuse(&mut self, method: &str, error: ApiError) -> Vec<Piece> {
        let pieces = error.pieces();
        self.refusals.push(Refusal { method: method.to_owned(), error });
        pieces
    }

    fn answer(&mut self, request: &HttpRequest, shared: &Weak<Shared>) -> Vec<Piece> {
        match self.admit(request) {
            Ok(Admitted::Call(call)) => self.answer_call(&call, shared),
            Ok(Admitted::File(bytes)) => self.files.pieces(&bytes),
            Err(error) => self.refuse(&request.path, error),
        }
    }

    /// Checks the path and the token, and parses the request.
    fn admit(&self, request: &HttpRequest) -> Result<Admitted, ApiError> {
        let target = wire::target(&request.path)?;
        let (Target::Method { token, .. } | Target::File { token, .. }) = &target;
        if self.revoked || *token != self.token {
            return Err(ApiError::unauthorized());
        }
        match target {
            Target::File { path, .. } => Ok(Admitted::File(self.files.download(&path, self.now)?)),
            Target::Method { method, .. } => Ok(Admitted::Call(Call::read(&method, request)?)),
        }
    }

    fn answer_call(&mut self, call: &Call, shared: &Weak<Shared>) -> Vec<Piece> {
        let args = Value::Object(call.args.clone());
        self.calls.push(ApiCall { method: call.method.clone(), args });
        let fault = self.faults.take(&call.method, call.int("chat_id"));
        match &fault {
            Some(Fault::Refuse(error)) => return error.pieces(),
            Some(Fault::ResetBefore) => return vec![Piece::Reset],
            Some(Fault::Hang) => return vec![Piece::Hang],
            _ => {}
        }
        let result = if call.method == "getupdates" {
            match self.poll(call, shared, fault.is_none()) {
                Ok(Polled::Updates(updates)) => Ok(Value::Array(updates)),
                Ok(Polled::Later(later)) => return vec![Piece::Later(later)],
                Err(error) => Err(error),
            }
        } else {
            self.limit(call).and_then(|()| self.run(call))
        };
        let pieces = match &result {
            Ok(result) => wire::success(result),
            Err(error) => self.refuse(&call.method, error.clone()),
        };
        match fault {
            Some(Fault::ResetAfter) => vec![Piece::Reset],
            Some(Fault::HangAfter) => vec![Piece::Hang],
            Some(Fault::CutAnswer) => wire::half(&result.unwrap_or_default()),
            Some(Fault::HoldAnswer(permits)) => {
                [Piece::Permit(permits)].into_iter().chain(pieces).collect()
            }
            _ => pieces,
        }
    }

    fn limit(&mut self, call: &Call) -> Result<(), ApiError> {
        match call.int("chat_id").filter(|_| limits::counts(&call.method)) {
            Some(chat) => self.limits.take(chat, self.now),
            None => Ok(()),
        }
    }

    /// Answers a poll, or leaves it open. An older open poll ends with a conflict. The real
    /// platform spares it if the new poll can be answered at once; here every overlap is reported.
    fn poll(
        &mut self,
        call: &Call,
        shared: &Weak<Shared>,
        may_wait: bool,
    ) -> Result<Polled, ApiError> {
        if self.webhook {
            let why = "Conflict: can't use getUpdates method while webhook is active; use \
                       deleteWebhook to delete the webhook first";
            return Err(ApiError::new(409, why));
        }
        if self.end_poll(ApiError::conflict().pieces()) {
            self.refuse("getupdates", ApiError::conflict());
        }
        if let Some(Value::Array(kinds)) = call.json("allowed_updates")? {
            self.updates.allow(&kinds);
        }
        let poll = Poll::new(call.int("offset"), call.int("limit"), call.int("timeout"));
        let updates = self.updates.read(poll.offset, poll.limit, self.now);
        if !updates.is_empty() || poll.timeout.is_zero() || !may_wait {
            return Ok(Polled::Updates(updates));
        }
        self.polls += 1;
        let (answer, pieces) = flume::bounded(1);
        let (number, until) = (self.polls, self.now.after(poll.timeout));
        self.held = Some(HeldPoll { number, poll, until, answer });
        Ok(Polled::Later(Later::new(pieces, Held { shared: shared.clone(), number })))
    }
}

enum Admitted {
    Call(Call),
    File(Arc<[u8]>),
}

enum Polled {
    Updates(Vec<Value>),
    Later(Later),
}
