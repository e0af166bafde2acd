//! Helpers for the tests of all HTTP providers: a request, and ways to ask while the clock
//! advances.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::model::{
    Arguments, Delta, Image, ImageRef, Message, Model, ModelError, ModelReply, ModelRequest,
    SentCall, ToolCall,
};
use avocet_protocol::tool::ToolSpec;
use avocet_testkit::http::{Later, Piece};
use avocet_testkit::{ManualClock, ModelAnswer};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::{ConfiguredModel, KnownModel, ProviderConfig, SourcedFacts};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn sample_request() -> ModelRequest {
    let call = SentCall {
        id: "t1s0c0".to_owned(),
        name: "read_file".to_owned(),
        arguments: Map::from_iter([("path".to_owned(), json!("a"))]),
    };
    let text = |text: &str| text.to_owned();
    ModelRequest {
        messages: vec![
            Message::System { text: text("be kind") },
            Message::user("hi"),
            Message::assistant("hello", Vec::new()),
            Message::user("read a"),
            Message::assistant("", vec![call]),
            Message::ToolResult { call: text("t1s0c0"), ok: true, result: text("content") },
        ]
        .into(),
        tools: Arc::new([ToolSpec {
            name: text("read_file"),
            aliases: Vec::new(),
            group: String::new(),
            description: text("reads"),
            parameters: json!({
                "type": "object",
                "properties": { "path": { "type": "string", "x-aliases": ["file"] } },
            }),
        }]),
        deferred: [].into(),
        images: BTreeMap::new(),
        ..ModelRequest::default()
    }
}

/// A request with a core, with `use_tools`, with these loaded tools, and with other tools that are
/// deferred. Each call is a separate step, with the id `c` and its number, and is said to succeed
/// or to fail.
pub(crate) fn grouped_request(calls: &[(&str, Value, bool)], loaded: &[&str]) -> ModelRequest {
    const OTHERS: [(&str, &str); 3] =
        [("job_list", "job"), ("git_status", "git"), ("git_log", "git")];
    let spec = |(name, group): (&str, &str)| ToolSpec {
        name: name.to_owned(),
        aliases: Vec::new(),
        group: group.to_owned(),
        description: format!("does {name}"),
        parameters: json!({ "type": "object", "properties": {} }),
    };
    let (core, loader) = (spec(("read_file", "files")), spec(("use_tools", "use_tools")));
    let tools = [core, loader]
        .into_iter()
        .chain(loaded.iter().map(|name| spec((name, name.split('_').next().unwrap()))));
    let others = OTHERS.into_iter().filter(|(name, _)| !loaded.contains(name));
    let mut messages = vec![Message::user("hi")];
    for (number, (name, arguments, ok)) in calls.iter().enumerate() {
        let (id, name) = (format!("c{number}"), (*name).to_owned());
        let arguments = arguments.as_object().unwrap().clone();
        let call = SentCall { id: id.clone(), name, arguments };
        messages.push(Message::assistant("", vec![call]));
        let result = "You can call: tools".to_owned();
        messages.push(Message::ToolResult { call: id, ok: *ok, result });
    }
    let (tools, deferred) = (tools.collect(), others.map(spec).collect());
    let messages = messages.into();
    ModelRequest { messages, tools, deferred, ..ModelRequest::default() }
}

/// The model `provider/model` behind a server, with the operator's facts about it.
pub(crate) fn serve_model(
    config: impl ProviderConfig,
    name: &str,
    facts: SourcedFacts,
    clock: Arc<ManualClock>,
) -> Arc<KnownModel> {
    let (provider, model) = name.split_once('/').unwrap();
    match config.create_model(provider, model, facts, clock).unwrap() {
        ConfiguredModel::Served(model) => model,
        ConfiguredModel::Embedded(model) => panic!("{model:?} has no server"),
    }
}

/// The result of a request, and the text that was shown; `<` marks a restart, which voids
/// the text before it.
pub(crate) struct ShownReply {
    pub(crate) reply: Result<ModelReply, ModelError>,
    pub(crate) shown: String,
    pub(crate) thoughts: String,
}

pub(crate) async fn ask_model(model: &dyn Model) -> ShownReply {
    let (shown, thoughts) = (Mutex::new(String::new()), Mutex::new(String::new()));
    let deltas = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().push_str(text),
        Delta::Thought(text) => thoughts.lock().push_str(text),
        Delta::Restart => shown.lock().push('<'),
        Delta::Retry(_) | Delta::Lost(_) => {}
    };
    let reply = model.complete(&sample_request(), &deltas).await;
    let (shown, thoughts) = (shown.into_inner(), thoughts.into_inner());
    ShownReply { reply, shown, thoughts }
}

/// Asks, and lets the retry delays pass. The timeouts of a request are longer.
pub(crate) async fn ask_with_retries(
    model: &dyn Model,
    clock: &ManualClock,
    waits: usize,
) -> ShownReply {
    let passing = async {
        for _ in 0..waits {
            clock.sleeper_within(..45 * SECOND).await;
            clock.advance(45 * SECOND);
        }
    };
    tokio::join!(ask_model(model), passing).0
}

/// Asks, and lets one delay of this length pass.
pub(crate) async fn ask_through(
    model: &dyn Model,
    clock: &ManualClock,
    wait: Duration,
) -> ShownReply {
    let passing = async {
        clock.sleeper_within(wait..=wait).await;
        clock.advance(wait);
    };
    tokio::join!(ask_model(model), passing).0
}

/// Asks, and lets every timeout for more data expire at once.
pub(crate) async fn ask_for_ever(model: &dyn Model, clock: &ManualClock) -> ShownReply {
    let passing = pin!(async {
        loop {
            clock.sleeper_within(SECOND..=60 * SECOND).await;
            clock.advance(60 * SECOND);
        }
    });
    match select(pin!(ask_model(model)), passing).await {
        Either::Left((asked, _)) => asked,
        Either::Right(((), _)) => unreachable!("time has no end"),
    }
}

/// A server that reports when it has written its pieces.
pub(crate) struct WritingServer(flume::Sender<Vec<Piece>>);

impl WritingServer {
    /// Starts an answer with these pieces.
    pub(crate) fn begin_answer(pieces: Vec<Piece>) -> (ModelAnswer, Self) {
        let (pieces, next) = Self::and_then(pieces);
        (ModelAnswer::Raw(pieces), Self(next))
    }

    /// Sends more pieces.
    pub(crate) async fn write_more(&mut self, pieces: Vec<Piece>) {
        let (pieces, next) = Self::and_then(pieces);
        // The client may be gone.
        drop(std::mem::replace(&mut self.0, next).send_async(pieces).await);
    }

    /// Waits until everything is written, and gives other tasks time to read it.
    pub(crate) async fn write_all(&mut self) {
        self.write_more(Vec::new()).await;
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }

    fn and_then(mut pieces: Vec<Piece>) -> (Vec<Piece>, flume::Sender<Vec<Piece>>) {
        let (next, later) = flume::bounded(0);
        pieces.push(Piece::Later(Later::new(later, ())));
        (pieces, next)
    }
}

/// The status line and headers of a stream.
pub(crate) fn stream_head(media_type: &str) -> Piece {
    Piece::head(200, &[("content-type", media_type)])
}

/// An answer that begins with `head`, with one permit for each piece and one for its end.
pub(crate) fn dripping_answer(head: Piece, events: &[String]) -> (ModelAnswer, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let mut pieces = vec![head];
    for event in events {
        pieces.extend([Piece::Permit(permits.clone()), Piece::chunk(event.as_bytes())]);
    }
    pieces.push(Piece::end());
    (ModelAnswer::Raw(pieces), permits)
}

/// Asks a model with a gap timeout of 60 s, while a piece arrives every `seconds` seconds.
pub(crate) async fn ask_through_drops(
    model: &dyn Model,
    clock: &ManualClock,
    permits: &Semaphore,
    seconds: u32,
    drops: usize,
) -> ShownReply {
    let dropping = async {
        for _ in 0..drops {
            // The timeout restarts with each piece.
            clock.sleeper_within(60 * SECOND..=60 * SECOND).await;
            clock.advance(seconds * SECOND);
            permits.add_permits(1);
        }
        permits.add_permits(2);
    };
    tokio::join!(ask_model(model), dropping).0
}

/// A stream that the network divides into pieces of these lengths, repeatedly, after `head`.
pub(crate) fn cut_up(head: Piece, stream: &[u8], lengths: &[usize]) -> ModelAnswer {
    let mut pieces = vec![head];
    let (mut rest, mut lengths) = (stream, lengths.iter().cycle());
    while let Some(length) = lengths.next().filter(|_| !rest.is_empty()) {
        let (piece, more) = rest.split_at((*length).min(rest.len()));
        pieces.push(Piece::chunk(piece));
        rest = more;
    }
    pieces.push(Piece::end());
    ModelAnswer::Raw(pieces)
}

pub(crate) fn tool_call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::parse(&arguments.to_string()) }
}

pub(crate) fn with_image(bytes: &[u8]) -> ModelRequest {
    let shown = ImageRef { path: "inbox/m1-0.jpg".to_owned() };
    let old = ImageRef { path: "inbox/m0-0.jpg".to_owned() };
    let images = vec![old, shown.clone()];
    let image = Image { media_type: "image/jpeg", bytes: bytes.into() };
    ModelRequest {
        messages: vec![Message::User { text: "look".to_owned(), images }].into(),
        tools: Arc::new([]),
        deferred: [].into(),
        images: BTreeMap::from([(shown, image)]),
        ..ModelRequest::default()
    }
}
