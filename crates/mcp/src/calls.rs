//! The calls that run on one connection. A server's own requests belong to one of them: the protocol
//! does not say to which.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use avocet_protocol::access::{LeastTrust, Role};
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::TurnId;
use avocet_protocol::tool::ToolContext;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The shortest time between two progress reports of a call that are shown.
const PROGRESS_PAUSE: Duration = Duration::from_secs(1);

/// The calls that run on a connection.
#[derive(Debug, Default)]
pub(crate) struct RunningCalls(Mutex<Vec<Arc<RunningCall>>>);

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct RunningCall {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    /// The name of the tool in the registry.
    pub(crate) tool: String,
    /// The chat of its turn. `None` if nobody there waits for the turn.
    pub(crate) chat: Option<ChatAddress>,
    pub(crate) is_from_owner: bool,
    /// The least trust of everything that the call has read.
    pub(crate) read: LeastTrust,
    /// The tokens of its requests to the model.
    pub(crate) sampled_tokens: tokio::sync::Mutex<u64>,
    /// The number of requests to the model, also of those that wait.
    samples: AtomicU32,
    /// Cancelled when the call ends.
    pub(crate) over: CancellationToken,
    /// The number of requests to people and models that are open at present.
    open: AtomicU32,
    /// The number of questions so far.
    asked: AtomicU32,
    /// The time of the next progress report that may be shown.
    next_report: Mutex<Duration>,
}

impl RunningCalls {
    /// Lists a call for as long as the guard lives.
    pub(crate) fn enter_call(&self, context: &ToolContext, tool: String) -> EnteredCall<'_> {
        let ToolContext { session, chat, role, .. } = context;
        let is_awaited = session.schedule().is_none() && session.job().is_none();
        let call = Arc::new(RunningCall {
            session: session.clone(),
            turn: context.call.turn,
            tool,
            read: context.read.clone(),
            sampled_tokens: tokio::sync::Mutex::default(),
            samples: AtomicU32::new(0),
            chat: chat.clone().filter(|_| is_awaited),
            is_from_owner: *role == Role::Owner,
            over: context.cancel.child_token(),
            open: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            next_report: Mutex::default(),
        });
        self.0.lock().push(call.clone());
        EnteredCall { list: self, call }
    }

    /// Returns the call to which a request of the server belongs. `None` without a call, or if calls
    /// of several sessions run: a question must not reach the wrong chat.
    pub(crate) fn of_request(&self) -> Option<Arc<RunningCall>> {
        let calls = self.0.lock();
        let last = calls.last()?;
        calls.iter().all(|call| call.session == last.session).then(|| last.clone())
    }
}

impl RunningCall {
    /// Returns `true` while a person or a model is asked.
    pub(crate) fn is_asking(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Returns `true` if a progress report at the time `now` may be shown. A server that sends many
    /// must not displace other events.
    pub(crate) fn may_report(&self, now: Duration) -> bool {
        let mut next = self.next_report.lock();
        if now < *next {
            return false;
        }
        *next = now + PROGRESS_PAUSE;
        true
    }

    /// Counts a question, which is open as long as the guard lives. `None` if the call has had
    /// `most` questions.
    pub(crate) fn open_question(&self, most: u32) -> Option<OpenRequest<'_>> {
        (self.asked.fetch_add(1, Ordering::SeqCst) < most).then(|| self.open_request())
    }

    /// Counts a request to the model. `None` if the call has had `most`, with those that wait.
    pub(crate) fn count_sample(&self, most: u32) -> Option<CountedSample<'_>> {
        let counted = CountedSample { call: self, is_asked: false };
        (self.samples.fetch_add(1, Ordering::SeqCst) < most).then_some(counted)
    }

    /// Stops the timeout of the call for as long as the guard lives.
    pub(crate) fn open_request(&self) -> OpenRequest<'_> {
        self.open.fetch_add(1, Ordering::SeqCst);
        OpenRequest(self)
    }
}

/// An open request to a person or a model.
pub(crate) struct OpenRequest<'c>(&'c RunningCall);

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A counted request to the model. It stops counting if it is dropped before it was asked.
pub(crate) struct CountedSample<'c> {
    call: &'c RunningCall,
    pub(crate) is_asked: bool,
}

impl Drop for CountedSample<'_> {
    fn drop(&mut self) {
        if !self.is_asked {
            self.call.samples.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Ends the call when it is dropped.
pub(crate) struct EnteredCall<'l> {
    list: &'l RunningCalls,
    pub(crate) call: Arc<RunningCall>,
}

impl Drop for EnteredCall<'_> {
    fn drop(&mut self) {
        self.call.over.cancel();
        self.list.0.lock().retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

#[cfg(test)]
mod tests {
    use avocet_testkit::tool_context;

    use super::*;

    #[test]
    fn of_request_returns_no_call_if_calls_of_two_sessions_run() {
        let calls = RunningCalls::default();
        assert!(calls.of_request().is_none());
        let first = calls.enter_call(&tool_context(), String::new());
        let second = calls.enter_call(&tool_context(), String::new());
        assert!(Arc::ptr_eq(&calls.of_request().unwrap(), &second.call));
        let session = SessionId::parse("terminal:local:b").unwrap();
        let other = calls.enter_call(&ToolContext { session, ..tool_context() }, String::new());
        assert!(calls.of_request().is_none());
        drop((other, second));
        assert!(Arc::ptr_eq(&calls.of_request().unwrap(), &first.call));
        assert!(!first.call.over.is_cancelled());
    }

    #[test]
    fn enter_knows_no_chat_for_schedules_and_jobs() {
        let calls = RunningCalls::default();
        let chat = Some("terminal:local:a".parse().unwrap());
        for (session, has_chat) in
            [("terminal:local:a", true), ("schedule:local:1", false), ("job:local:1", false)]
        {
            let session = SessionId::parse(session).unwrap();
            let context = ToolContext { session, chat: chat.clone(), ..tool_context() };
            assert_eq!(
                calls.enter_call(&context, String::new()).call.chat.is_some(),
                has_chat,
                "{context:?}"
            );
        }
    }
}
