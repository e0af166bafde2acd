//! The state that all requests share, and their only way to the gateway.

use std::sync::Arc;

use avocet_gateway::{
    Caller, EventFeed, GatewayParts, ShowSession, SocketMethod, Subscribe, Wait,
    check_method_rights, check_rights,
};
use avocet_protocol::channel::ChannelWebhook;
use avocet_protocol::chat::SessionId;
use avocet_protocol::daemon::EventMeter;
use avocet_protocol::ignore_result;
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::TurnEvent;
use avocet_supervise::Group;
use avocet_text::plain_json;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use crate::caller::{HttpCaller, TokenDigest};
use crate::console::Console;
use crate::guard::HostGuard;
use crate::hooks::HookPlan;
use crate::metrics::MeteredLog;
use crate::problem::Problem;

/// The most connections at the same time. A further one gets the place of the longest idle one, or
/// waits while all are busy.
pub(crate) const CONNECTIONS: usize = 256;
/// The most requests that wait for an outcome or stream at the same time: half of the connections,
/// so that short requests find a place.
const LONG_REQUESTS: usize = CONNECTIONS / 2;
/// The most seconds that a request waits for an outcome.
pub(crate) const LONGEST_WAIT: u64 = 600;

/// The rules for access to the server.
#[derive(Debug)]
pub(crate) struct HttpAccess {
    pub(crate) guard: HostGuard,
    pub(crate) tokens: Vec<TokenDigest>,
    pub(crate) hooks: Vec<HookPlan>,
    pub(crate) console: Arc<Console>,
    pub(crate) webhooks: Vec<ChannelWebhook>,
}

/// The state of the server.
#[derive(Debug)]
pub(crate) struct HttpState {
    pub(crate) parts: GatewayParts,
    pub(crate) access: HttpAccess,
    /// The tasks of requests.
    pub(crate) group: Group,
    /// Fires when the daemon's intake ends: streams end then.
    pub(crate) stop: CancellationToken,
    long: Arc<Semaphore>,
    /// The events of `/metrics`.
    pub(crate) metered: Mutex<MeteredLog>,
}

impl HttpState {
    pub(crate) fn new(
        parts: GatewayParts,
        access: HttpAccess,
        group: Group,
        stop: CancellationToken,
    ) -> Self {
        let long = Arc::new(Semaphore::new(LONG_REQUESTS));
        let metered = Mutex::new(MeteredLog {
            meter: EventMeter::new(parts.providers.clone()),
            at: *parts.event_log.newest_event().borrow(),
        });
        Self { parts, access, group, stop, long, metered }
    }

    /// Calls a method of the socket in the name of a client. The method runs to its end even if the
    /// client disconnects, so that a commit is followed by its wake-up.
    ///
    /// # Errors
    /// The method's error as a response.
    pub(crate) async fn call<M: SocketMethod>(
        self: &Arc<Self>,
        caller: &HttpCaller,
        params: Value,
    ) -> Result<Value, Problem> {
        let (state, caller) = (self.clone(), caller.0.clone());
        let answering =
            async move { avocet_gateway::answer::<M>(&state.parts, &caller, params).await };
        Ok(self.complete(M::NAME, answering).await??)
    }

    /// Runs work to its end even if the client disconnects.
    ///
    /// # Errors
    /// The work ended without a result.
    pub(crate) async fn complete<T: Send + 'static>(
        &self,
        name: &str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Problem> {
        let (result, received) = oneshot::channel();
        self.group.spawn(&format!("request-{name}"), async move {
            ignore_result(result.send(work.await), "the client may be gone");
        });
        let ended = |_| Problem::unavailable(format!("{name} ended without an answer"));
        received.await.map_err(ended)
    }

    /// Waits at most `seconds` for the outcome of a message, and returns its status. Ends with the
    /// client.
    ///
    /// # Errors
    /// The error of the method `wait`.
    pub(crate) async fn wait(
        &self,
        caller: &HttpCaller,
        message: &str,
        seconds: u64,
    ) -> Result<Value, Problem> {
        let params = json!({ "message": message, "seconds": seconds });
        Ok(avocet_gateway::answer::<Wait>(&self.parts, &caller.0, params).await?)
    }

    /// Works as [`Self::wait`], with the status in its type.
    ///
    /// # Errors
    /// The error of the method `wait`, or its result has another form than this version expects.
    pub(crate) async fn wait_for_status(
        &self,
        caller: &HttpCaller,
        message: &str,
        seconds: u64,
    ) -> Result<MessageStatus, Problem> {
        let status = self.wait(caller, message, seconds).await?;
        serde_json::from_value(status).map_err(|error| Problem::unavailable(plain_json(&error)))
    }

    /// Follows the turns of a session from now on.
    ///
    /// # Errors
    /// The session id is malformed, or the client may not read the session.
    pub(crate) async fn follow(
        &self,
        caller: &HttpCaller,
        session: &str,
    ) -> Result<flume::Receiver<TurnEvent>, Problem> {
        let session =
            SessionId::parse(session).map_err(|error| Problem::bad_request(error.to_string()))?;
        let show = ShowSession::new(session);
        check_rights::<ShowSession>(&self.parts, &caller.0, &show).await?;
        Ok(self.parts.events.subscribe(&show.session))
    }

    /// Follows the event log from `subscribe.from`, or from the newest event.
    ///
    /// # Errors
    /// A kind is unknown, the client may not follow events, or the log cannot be read.
    pub(crate) async fn open_event_feed(
        &self,
        caller: &Caller,
        subscribe: &Subscribe,
    ) -> Result<EventFeed, Problem> {
        check_method_rights::<Subscribe>(caller)?;
        let from = match subscribe.from {
            Some(from) => from,
            None => {
                let range = self.parts.event_log.event_range().await;
                range.map_err(|error| Problem::unavailable(error.to_string()))?.newest
            }
        };
        Ok(EventFeed::open(&self.parts, caller, subscribe, from)?)
    }

    /// Returns the session of messages to a session's chat, which may be linked into another.
    pub(crate) fn linked_session(&self, session: &SessionId) -> SessionId {
        let (chat, links) = (session.address(), self.parts.access.links());
        let link = links.into_iter().find(|link| link.chat == chat);
        link.map_or_else(|| session.clone(), |link| link.session)
    }

    /// Takes a place for a request that takes long.
    ///
    /// # Errors
    /// All places are taken.
    pub(crate) fn long_request(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.long.clone().try_acquire_owned().map_err(|_| {
            Problem::unavailable(format!(
                "{LONG_REQUESTS} requests wait or stream already; try again later"
            ))
        })
    }
}
