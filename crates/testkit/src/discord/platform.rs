//! The platform's state for one bot, and the answers to its requests.

use std::collections::BTreeSet;
use std::sync::Arc;

use avocet_protocol::clock::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::watch;

use super::draft::MessageRules;
use super::error::ApiError;
use super::faults::{Faults, InjectedFault};
use super::gateway::FakeGateway;
use super::limits::{EnforcedLimits, Standing};
use super::messages::Messages;
use super::open_interactions::Interactions;
use super::rest::{ParsedRequest, Route};
use super::snowflake::Snowflakes;
use super::world::{User, World};
use crate::START;
use crate::http::{HttpRequest, Piece, whole_bytes};

/// A request that the fake refused because it breaks a rule of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRequest {
    /// The route, or `None` for an unknown path.
    pub route: Option<Route>,
    /// Method and path.
    pub request: String,
    /// The answer.
    pub error: ApiError,
}

/// A received request.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiCall {
    /// The route.
    pub route: Route,
    /// The channel in the path.
    pub channel: Option<u64>,
    /// Method, path and query.
    pub request: String,
    /// The JSON body, without uploaded files.
    pub body: Value,
}

/// The answer to a request, or the refusal.
pub(super) type MethodResult = Result<ApiReply, ApiError>;

/// The answer to a successful request.
#[derive(Debug)]
pub(super) enum ApiReply {
    Json(Value),
    Nothing,
    File(Arc<[u8]>),
}

/// The reactions of all messages: message, emoji, user.
pub(super) type Reactions = BTreeSet<(u64, String, u64)>;

/// The platform, shared between the server and the test.
#[derive(Debug)]
pub(super) struct SharedPlatform {
    platform: Mutex<PlatformState>,
    /// Notified after every change.
    pub(super) changed: watch::Sender<()>,
}

impl SharedPlatform {
    pub(super) fn new(token: &str) -> Arc<Self> {
        let platform = Mutex::new(PlatformState::new(token));
        Arc::new(Self { platform, changed: watch::Sender::new(()) })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PlatformState> {
        // A test that has failed must not cause a second panic.
        self.platform.lock()
    }

    /// Changes the platform and notifies the waiting tasks.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut PlatformState) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.send_replace(());
        result
    }
}

/// The state of the platform.
#[derive(Debug)]
pub(super) struct PlatformState {
    pub(super) token: String,
    /// `true` if the token is invalid.
    pub(super) revoked: bool,
    pub(super) now: Timestamp,
    pub(super) ids: Snowflakes,
    pub(super) world: World,
    pub(super) messages: Messages,
    pub(super) interactions: Interactions,
    pub(super) reactions: Reactions,
    pub(super) commands: Vec<Value>,
    pub(super) gateway: FakeGateway,
    pub(super) limits: EnforcedLimits,
    pub(super) rules: MessageRules,
    pub(super) faults: Faults,
    pub(super) calls: Vec<ApiCall>,
    pub(super) refusals: Vec<RefusedRequest>,
    /// The server: `http://ADDRESS`.
    pub(super) base_url: String,
    /// The address in links to files. Default: `base_url`.
    pub(super) files_at: Option<String>,
}

impl PlatformState {
    fn new(token: &str) -> Self {
        let mut ids = Snowflakes::default();
        let me = User { id: ids.next(START), name: super::USERNAME.to_owned(), is_bot: true };
        Self {
            token: token.to_owned(),
            revoked: false,
            now: START,
            ids,
            world: World::new(me),
            messages: Messages::default(),
            interactions: Interactions::default(),
            reactions: Reactions::new(),
            commands: Vec::new(),
            gateway: FakeGateway::default(),
            limits: EnforcedLimits::default(),
            rules: MessageRules { file_size: super::UPLOAD_LIMIT, allowed_mentions: true },
            faults: Faults::default(),
            calls: Vec::new(),
            refusals: Vec::new(),
            base_url: String::new(),
            files_at: None,
        }
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.ids.next(self.now)
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, request: &HttpRequest) -> Vec<Piece> {
        let name = format!("{} {}", request.method, request.path);
        let mut call = match ParsedRequest::read(request) {
            Ok(call) => call,
            Err(error) => return self.refuse(None, name, error, None),
        };
        let route = call.route;
        if let Err(error) = self.admit(&mut call, request) {
            return self.refuse(Some(route), name, error, None);
        }
        let (channel, body) = (call.channel(), call.body.clone());
        self.calls.push(ApiCall { route, channel, request: name.clone(), body });
        let fault = self.faults.take(&call);
        match &fault {
            Some(InjectedFault::Refuse(error)) => return refusal(error, None),
            Some(InjectedFault::ResetBefore) => return vec![Piece::Reset],
            Some(InjectedFault::Hang) => return vec![Piece::Hang],
            _ => {}
        }
        let (standing, taken) = self.limits.take(&call, self.now);
        let pieces = match taken.and_then(|()| self.run(&call)) {
            Ok(reply) => success(&reply, &standing),
            Err(error) => self.refuse(Some(route), name, error, Some(&standing)),
        };
        broken(pieces, fault)
    }

    /// Checks the token and parses the body.
    fn admit(&self, call: &mut ParsedRequest, request: &HttpRequest) -> Result<(), ApiError> {
        let given = request.header("authorization").and_then(|given| given.strip_prefix("Bot "));
        if !call.route.is_open() && (self.revoked || given != Some(&self.token)) {
            return Err(ApiError::unauthorized());
        }
        call.read_body(request)
    }

    fn refuse(
        &mut self,
        route: Option<Route>,
        request: String,
        error: ApiError,
        standing: Option<&Standing>,
    ) -> Vec<Piece> {
        let pieces = refusal(&error, standing);
        self.refusals.push(RefusedRequest { route, request, error });
        pieces
    }
}

fn success(reply: &ApiReply, standing: &Standing) -> Vec<Piece> {
    let headers = standing.headers();
    match reply {
        ApiReply::Json(body) => {
            answer(200, "application/json", &headers, body.to_string().as_bytes())
        }
        ApiReply::File(bytes) => answer(200, "application/octet-stream", &[], bytes),
        ApiReply::Nothing => {
            // An answer without a body has no transfer coding (RFC 9112, 6.1).
            let headers: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let head = format!("HTTP/1.1 204 No Content\r\n{headers}\r\n");
            vec![Piece::Bytes(head.into_bytes())]
        }
    }
}

fn refusal(error: &ApiError, standing: Option<&Standing>) -> Vec<Piece> {
    let mut headers = standing.map(Standing::headers).unwrap_or_default();
    headers.extend(error.headers());
    answer(error.status, error.media_type(), &headers, error.body().as_bytes())
}

fn answer(
    status: u16,
    media_type: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> Vec<Piece> {
    let mut all = vec![("content-type", media_type)];
    all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
    whole_bytes(status, &all, body)
}

/// Applies a fault to an answer.
fn broken(mut pieces: Vec<Piece>, fault: Option<InjectedFault>) -> Vec<Piece> {
    match fault {
        Some(InjectedFault::ResetAfter) => vec![Piece::Reset],
        Some(InjectedFault::HangAfter) => vec![Piece::Hang],
        Some(InjectedFault::CutAnswer) => {
            pieces.truncate(2);
            if let Some(Piece::Bytes(bytes)) = pieces.last_mut() {
                bytes.truncate(bytes.len() / 2);
            }
            pieces.push(Piece::Close);
            pieces
        }
        Some(InjectedFault::HoldAnswer(permits)) => {
            [Piece::Permit(permits)].into_iter().chain(pieces).collect()
        }
        _ => pieces,
    }
}
