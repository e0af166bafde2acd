//! The platform's state of the bot, and the answers to its requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use avocet_protocol::clock::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::chat_reactions::Reactions;
use super::chats::Chats;
use super::faults::{Faults, InjectedFault};
use super::files::BotFiles;
use super::limits::{self, EnforcedLimits};
use super::set_webhook::SetWebhook;
use super::shown_drafts::ShownDrafts;
use super::shown_ephemeral::EphemeralMessages;
use super::updates::{Poll, Updates};
use super::wire::{self, ApiError, MethodCall, OddBytes, PathTarget};
use crate::START;
use crate::http::{HttpRequest, Later, Piece};

/// A call that the fake refused because it breaks a rule of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCall {
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
pub(super) struct SharedBot {
    bot: Mutex<BotState>,
    /// Notified after every change.
    pub(super) changed: watch::Sender<()>,
}

impl SharedBot {
    pub(super) fn new(token: &str) -> Arc<Self> {
        Arc::new(Self { bot: Mutex::new(BotState::new(token)), changed: watch::Sender::new(()) })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BotState> {
        // A test that has failed must not cause a second panic.
        self.bot.lock()
    }

    /// Changes the bot and notifies the waiting tasks.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut BotState) -> T) -> T {
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
struct PollGuard {
    shared: Weak<SharedBot>,
    number: u64,
}

impl Drop for PollGuard {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.change(|bot| {
            bot.held.take_if(|held| held.number == self.number);
        });
    }
}

/// The platform's state of a bot.
#[derive(Debug)]
pub(super) struct BotState {
    pub(super) token: String,
    pub(super) revoked: bool,
    pub(super) webhook: Option<SetWebhook>,
    /// The server that stands for the host of the webhook.
    pub(super) webhook_server: Option<SocketAddr>,
    pub(super) now: Timestamp,
    pub(super) updates: Updates,
    pub(super) chats: Chats,
    pub(super) files: BotFiles,
    pub(super) faults: Faults,
    pub(super) odd_bytes: OddBytes,
    pub(super) limits: EnforcedLimits,
    pub(super) reactions: Reactions,
    pub(super) drafts: ShownDrafts,
    pub(super) ephemeral: EphemeralMessages,
    /// `true` for a server that knows rich messages.
    pub(super) knows_rich: bool,
    /// Messages of users, by chat and id.
    pub(super) heard: BTreeMap<(i64, i64), Value>,
    /// Pressed buttons without an answer, with the time of the press.
    pub(super) pressed: BTreeMap<String, Timestamp>,
    pub(super) presses: u64,
    /// Number of albums of the bot.
    pub(super) albums: u64,
    pub(super) commands: Vec<Value>,
    pub(super) calls: Vec<ApiCall>,
    pub(super) refusals: Vec<RefusedCall>,
    held: Option<HeldPoll>,
    polls: u64,
}

impl BotState {
    fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            revoked: false,
            webhook: None,
            webhook_server: None,
            now: START,
            updates: Updates::default(),
            chats: Chats::default(),
            files: BotFiles::default(),
            faults: Faults::default(),
            odd_bytes: OddBytes::default(),
            limits: EnforcedLimits::default(),
            reactions: Reactions::default(),
            drafts: ShownDrafts::default(),
            ephemeral: EphemeralMessages::default(),
            knows_rich: false,
            heard: BTreeMap::new(),
            pressed: BTreeMap::new(),
            presses: 0,
            albums: 0,
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
            self.end_poll(self.odd_bytes.success(&Value::Array(updates)));
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
        self.refusals.push(RefusedCall { method: method.to_owned(), error });
        pieces
    }

    fn answer(&mut self, request: &HttpRequest, shared: &Weak<SharedBot>) -> Vec<Piece> {
        match self.admit(request) {
            Ok(Admitted::Call(call)) => self.answer_call(&call, shared),
            Ok(Admitted::File(bytes)) => self.files.pieces(&bytes),
            Err(error) => self.refuse(&request.path, error),
        }
    }

    /// Checks the path and the token, and parses the request.
    fn admit(&self, request: &HttpRequest) -> Result<Admitted, ApiError> {
        let target = wire::target(&request.path)?;
        let (PathTarget::Method { token, .. } | PathTarget::File { token, .. }) = &target;
        if self.revoked || *token != self.token {
            return Err(ApiError::unauthorized());
        }
        match target {
            PathTarget::File { path, .. } => {
                Ok(Admitted::File(self.files.download(&path, self.now)?))
            }
            PathTarget::Method { method, .. } => {
                Ok(Admitted::Call(MethodCall::read(&method, request)?))
            }
        }
    }

    fn answer_call(&mut self, call: &MethodCall, shared: &Weak<SharedBot>) -> Vec<Piece> {
        let args = Value::Object(call.args.clone());
        self.calls.push(ApiCall { method: call.method.clone(), args });
        let fault = self.faults.take(&call.method, call.int("chat_id"));
        match &fault {
            Some(InjectedFault::Refuse(error)) => return error.pieces(),
            Some(InjectedFault::Page(status)) => return wire::page(*status),
            Some(InjectedFault::ResetBefore) => return vec![Piece::Reset],
            Some(InjectedFault::Hang) => return vec![Piece::Hang],
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
            Ok(result) => self.odd_bytes.success(result),
            // The bot cannot know what an older server knows.
            Err(error) if error.code == 404 && call.is_probe() => error.pieces(),
            Err(error) => self.refuse(&call.method, error.clone()),
        };
        match fault {
            Some(InjectedFault::PageAfter(status)) => wire::page(status),
            Some(InjectedFault::ResetAfter) => vec![Piece::Reset],
            Some(InjectedFault::HangAfter) => vec![Piece::Hang],
            Some(InjectedFault::CutAnswer) => wire::half(&result.unwrap_or_default()),
            Some(InjectedFault::HoldAnswer(permits)) => {
                [Piece::Permit(permits)].into_iter().chain(pieces).collect()
            }
            _ => pieces,
        }
    }

    fn limit(&mut self, call: &MethodCall) -> Result<(), ApiError> {
        match call.int("chat_id").filter(|_| limits::counts(&call.method)) {
            Some(chat) => self.limits.take(chat, self.now),
            None => Ok(()),
        }
    }

    /// Answers a poll, or leaves it open. An older open poll ends with a conflict. The real
    /// platform spares it if the new poll can be answered at once; here every overlap is reported.
    fn poll(
        &mut self,
        call: &MethodCall,
        shared: &Weak<SharedBot>,
        may_wait: bool,
    ) -> Result<Polled, ApiError> {
        if self.webhook.is_some() {
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
        Ok(Polled::Later(Later::new(pieces, PollGuard { shared: shared.clone(), number })))
    }
}

enum Admitted {
    Call(MethodCall),
    File(Arc<[u8]>),
}

enum Polled {
    Updates(Vec<Value>),
    Later(Later),
}
