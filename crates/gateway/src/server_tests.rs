use std::sync::Mutex;

use async_trait::async_trait;
use avocet_protocol::{
    Accepted, AcceptedAs, AccessControl, AccessError, AccountName, ApprovalDecision, Approvals,
    Attach, ChannelName, ChatAddress, ChatLink, Content, Cursor, DaemonStatus, DedupeKey, Delivery,
    DeliveryId, Enqueued, Handover, Inbound, LogStatus, MessageId, MessageStatus, OpenApproval,
    Outbound, Outcome, Pairing, Person, PersonId, Publish, PublishError, Query, Receipt, Redactor,
    Report, Role, Secret, SessionId, SessionRow, SessionStatus, SessionSummary, StoreError,
    Timestamp, Total, TranscriptPage, TurnEvent, TurnEvents, TurnId, TurnRecord, UsageBy, UsageRow,
    WaitId,
};
use avocet_testkit::{FakeDestinations, ManualClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;

use super::*;
use crate::{
    Approve, Ask, AskResult, Attached, Client, ClientError, Decide, Incoming, MAX_LINE_BYTES, Wait,
};

/// A fake daemon behind a real gateway.
#[derive(Debug, Default)]
struct FakeDaemon {
    asked: Mutex<Vec<Inbound>>,
    /// If set, publishing signals its start and waits for permission.
    slow: Mutex<Option<(flume::Sender<()>, flume::Receiver<()>)>>,
    refusal: Mutex<Option<PublishError>>,
    outcome: Mutex<Option<Outcome>>,
    listeners: Mutex<Vec<flume::Sender<TurnEvent>>>,
    attached: Mutex<Vec<flume::Sender<Handover>>>,
    heard: Mutex<Vec<SessionId>>,
}

#[async_trait]
impl Publish for FakeDaemon {
    async fn publish(&self, one: Inbound, _: Option<Cursor>) -> Result<Accepted, PublishError> {
        if let Some(refusal) = self.refusal.lock().unwrap().clone() {
            return Err(refusal);
        }
        let slow = self.slow.lock().unwrap().clone();
        if let Some((began, go_on)) = slow {
            began.send_async(()).await.unwrap();
            go_on.recv_async().await.unwrap();
        }
        let mut asked = self.asked.lock().unwrap();
        let known = asked.iter().position(|known| known.key == one.key);
        let what = if known.is_some() { AcceptedAs::Duplicate } else { AcceptedAs::Queued };
        let place = known.unwrap_or(asked.len());
        asked.push(one);
        Ok(Accepted { id: MessageId(place as i64 + 1), what })
    }

    async fn decline(&self, _: Inbound, _: Content) -> Result<(), PublishError> {
        Ok(())
    }

    async fn ignore(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: &str,
        _: Option<Cursor>,
    ) -> Result<(), PublishError> {
        Ok(())
    }

    async fn cursors(&self, _: &ChannelName, _: &AccountName) -> Result<Vec<Cursor>, PublishError> {
        Ok(Vec::new())
    }

    async fn move_cursor(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: Cursor,
    ) -> Result<(), PublishError> {
        Ok(())
    }

    async fn send(&self, _: Outbound, _: DedupeKey) -> Result<Enqueued, PublishError> {
        Ok(Enqueued { id: DeliveryId(9), duplicate: false, key_taken: false })
    }
}

#[async_trait]
impl Approvals for FakeDaemon {
    async fn open(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError> {
        self.open_approvals(limit, after).await
    }
    async fn decide(&self, wait: WaitId, decision: ApprovalDecision) -> Result<bool, StoreError> {
        Ok(wait == WaitId(7) && decision == ApprovalDecision::ForSession)
    }
}

#[async_trait]
impl Query for FakeDaemon {
    async fn open_approvals(
        &self,
        _: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError> {
        if after.is_some() {
            return Ok(Vec::new());
        }
        let command = format!("curl -H 'key: {KEY}'");
        Ok(vec![OpenApproval {
            id: WaitId(7),
            session: session(),
            chat: None,
            tool: "exec_shell".to_owned(),
            arguments: serde_json::Map::from_iter([("command".to_owned(), json!(command))]),
            grant: None,
            expires_at: Timestamp(5),
        }])
    }
    async fn log_status(&self) -> Result<LogStatus, StoreError> {
        Ok(LogStatus::default())
    }
    async fn sessions(
        &self,
        limit: u32,
        after: Option<&SessionRow>,
    ) -> Result<Vec<SessionSummary>, StoreError> {
        let first = after.map_or(0, |row| row.used_at.0 + 1);
        let one = |used_at| SessionSummary {
            session: SessionId::parse(&format!("terminal:local:{used_at}")).unwrap(),
            turns: 1,
            used_at: Timestamp(used_at),
            open: None,
        };
        Ok((first..1200).take(limit as usize).map(one).collect())
    }
    async fn transcript_page(
        &self,
        session: &SessionId,
        page: TranscriptPage,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let turn = TurnRecord {
            id: TurnId(1),
            session: session.clone(),
            state: avocet_protocol::TurnState::Done,
            started_at: Timestamp(0),
            origin: avocet_protocol::Origin::Messages(Vec::new()),
            steps: Vec::new(),
            notice: Some(format!("{KEY} {}", "x".repeat(3 * 1024 * 1024))),
            undelivered: avocet_protocol::Undelivered::default(),
        };
        Ok(if page.before.is_some() { Vec::new() } else { vec![turn] })
    }
    async fn message(&self, id: MessageId) -> Result<Option<MessageStatus>, StoreError> {
        let outcome = *self.outcome.lock().unwrap();
        let reply = outcome.map(|_| "the reply".to_owned());
        let status = MessageStatus { id, session: session(), turn: None, outcome, reply };
        Ok((id == MessageId(1)).then_some(status))
    }
    async fn session_status(&self, _: &SessionId) -> Result<SessionStatus, StoreError> {
        Err(StoreError::Closed)
    }
    async fn usage_page(
        &self,
        by: UsageBy,
        since: Timestamp,
        _: u32,
        _: u32,
    ) -> Result<Vec<UsageRow>, StoreError> {
        let of = format!("{} since {}", by.word(), since.0);
        Ok(vec![UsageRow { of, answers: 3, total: Total { unpriced: 7, ..Total::default() } }])
    }
}

#[async_trait]
impl Report for FakeDaemon {
    async fn report(&self) -> Result<DaemonStatus, StoreError> {
        Err(StoreError::Closed)
    }
}

/// Has no people, and knows the codes `K7QX-M2PA` and `HUGE`.
#[async_trait]
impl AccessControl for FakeDaemon {
    fn pairings(&self) -> Vec<Pairing> {
        Vec::new()
    }
    async fn approve(&self, code: &str, role: Role) -> Result<Person, AccessError> {
        let id = "telegram:main:8".parse().unwrap();
        match code {
            "K7QX-M2PA" => Ok(Person { id, name: None, role, since: None }),
            "HUGE" => Ok(Person { id, name: Some("x".repeat(MAX_LINE_BYTES)), role, since: None }),
            other => Err(AccessError::UnknownCode(other.parse()?)),
        }
    }
    async fn deny(&self, code: &str) -> Result<Pairing, AccessError> {
        Err(AccessError::UsedCode(code.parse()?, "approved"))
    }
    fn people(&self) -> Vec<Person> {
        Vec::new()
    }
    async fn remove_person(&self, _: &PersonId) -> Result<(), AccessError> {
        Ok(())
    }
    fn links(&self) -> Vec<ChatLink> {
        let chat = "terminal:local:linked".parse().unwrap();
        vec![ChatLink { chat, session: session() }]
    }
    async fn link(&self, _: &ChatAddress, _: &ChatAddress) -> Result<ChatLink, AccessError> {
        Err(AccessError::Log(StoreError::Closed))
    }
    async fn unlink(&self, chat: &ChatAddress) -> Result<ChatLink, AccessError> {
        Err(AccessError::NotLinked(chat.clone()))
    }
}

impl TurnEvents for FakeDaemon {
    fn emit(&self, _: &SessionId, event: TurnEvent) {
        let listeners = self.listeners.lock().unwrap();
        listeners.iter().for_each(|listener| drop(listener.try_send(event.clone())));
    }
    fn subscribe(&self, to: &SessionId) -> flume::Receiver<TurnEvent> {
        self.heard.lock().unwrap().push(to.clone());
        let (listener, events) = flume::bounded(8);
        self.listeners.lock().unwrap().push(listener);
        events
    }
}

impl Attach for FakeDaemon {
    fn attach(&self, _: &ChatAddress) -> flume::Receiver<Handover> {
        let (sender, handovers) = flume::bounded(1);
        self.attached.lock().unwrap().push(sender);
        handovers
    }
}

struct World {
    daemon: Arc<FakeDaemon>,
    places: Arc<FakeDestinations>,
    clock: Arc<ManualClock>,
    group: Group,
    path: PathBuf,
    gateway: Gateway,
    _directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("run/avocet.sock");
        let (daemon, places, clock) =
            <(Arc<FakeDaemon>, Arc<FakeDestinations>, Arc<ManualClock>)>::default();
        let group = Group::new("test");
        let parts = GatewayParts {
            publish: daemon.clone(),
            access: daemon.clone(),
            query: daemon.clone(),
            report: daemon.clone(),
            events: daemon.clone(),
            deliveries: places.clone(),
            approvals: daemon.clone(),
            clock: clock.clone(),
            redactor: Arc::new(Redactor::new([Secret::new("correct horse".to_owned())])),
            attach: [("terminal".parse().unwrap(), daemon.clone() as Arc<dyn Attach>)].into(),
        };
        let gateway = Gateway::open(&path, parts, &group).unwrap();
        Self { daemon, places, clock, group, path, gateway, _directory: directory }
    }

    async fn client(&self) -> Client {
        Client::connect(&self.path, &self.group).await.unwrap()
    }

    /// Writes raw bytes, and reads `answers` lines.
    async fn raw(&self, bytes: &[u8], answers: usize) -> Vec<Value> {
        let (reader, mut writer) = UnixStream::connect(&self.path).await.unwrap().into_split();
        let write = async {
            writer.write_all(bytes).await.unwrap();
            writer
        };
        let read = async {
            let mut lines = BufReader::new(reader).lines();
            let mut read = Vec::new();
            while read.len() < answers {
                let line = lines.next_line().await.unwrap().unwrap();
                read.push(serde_json::from_str(&line).unwrap());
            }
            read
        };
        tokio::join!(write, read).1
    }
}

/// A secret in the arguments of a call, which lists have to hide.
const KEY: &str = "correct horse";

fn session() -> SessionId {
    SessionId::parse("terminal:local:a").unwrap()
}

fn ask(text: &str) -> Ask {
    Ask { session: session(), text: text.to_owned(), key: Some("k1".parse().unwrap()) }
}

fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (i64, String) {
    match result.unwrap_err() {
        ClientError::Refused(error) => (error.code, error.message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn people_pair_and_link_methods_reach_the_daemon_and_return_its_refusals() {
    let world = World::new();
    let client = world.client().await;
    let approve = Approve { code: "K7QX-M2PA".to_owned(), owner: true };
    let person: Person = client.call("pair.approve", &approve).await.unwrap();
    assert_eq!((person.id.to_string().as_str(), person.role), ("telegram:main:8", Role::Owner));
    let remove = json!({ "person": "telegram:main:8" });
    assert_eq!(client.call::<Value>("people.remove", &remove).await, Ok(json!(null)));
    let (into, chat) = ("terminal:local:a", "terminal:local:b");
    let table = [
        ("pair.approve", json!({ "code": "2222-2222" }), -32002),
        ("pair.approve", json!({ "code": "please" }), -32602),
        ("pair.deny", json!({ "code": "2222-2222" }), -32602),
        ("people.remove", json!({ "person": "telegram" }), -32602),
        ("link.add", json!({ "into": into, "chat": chat }), -32003),
        ("link.remove", json!({ "chat": chat }), -32002),
    ];
    for (method, params, code) in table {
        let (refused, message) = refused(client.call::<Value>(method, &params).await);
        assert_eq!(refused, code, "{method}: {message}");
    }
    for method in ["pair.list", "people.list"] {
        assert_eq!(client.call::<Value>(method, &json!({})).await, Ok(json!([])));
    }
}

#[tokio::test]
async fn attach_to_a_linked_chat_receives_the_events_of_its_session() {
    let world = World::new();
    let attached = Attached { chat: "terminal:local:linked".parse().unwrap() };
    world.client().await.call::<Value>("attach", &attached).await.unwrap();
    assert_eq!(*world.daemon.heard.lock().unwrap(), [session()]);
}

#[tokio::test]
async fn ask_is_answered_after_the_commit_and_absorbs_a_repeated_key() {
    let world = World::new();
    let client = world.client().await;
    let first: AskResult = client.call("ask", &ask("hello")).await.unwrap();
    assert_eq!(first, AskResult { message: MessageId(1), duplicate: false });
    let again: AskResult = client.call("ask", &ask("hello")).await.unwrap();
    assert_eq!(again, AskResult { message: MessageId(1), duplicate: true });
    let asked = world.daemon.asked.lock().unwrap()[0].clone();
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(asked.sender.id.as_str(), format!("uid:{uid}"));
    assert_eq!((asked.content, asked.address), (Content::text("hello"), session().address()));
}

#[tokio::test]
async fn ask_without_a_key_gets_a_generated_one() {
    let world = World::new();
    let line = r#"{"id":1,"method":"ask","params":{"session":"terminal:local:a","text":"hi"}}"#;
    world.raw(format!("{line}\n{line}\n").as_bytes(), 2).await;
    let asked = world.daemon.asked.lock().unwrap();
    assert_ne!(asked[0].key, asked[1].key);
}

#[tokio::test]
async fn server_errors_name_the_reason() {
    let world = World::new();
    let client = world.client().await;
    let table = [
        (PublishError::Stopping, -32003, "the daemon is stopping; send it again when it is back"),
        (
            PublishError::Empty,
            -32602,
            "the message is empty after control and invisible characters were removed",
        ),
        (
            PublishError::Log(StoreError::Full { path: "db".to_owned() }),
            -32003,
            "the disk that holds db is full; free some space, nothing was lost",
        ),
    ];
    for (refusal, code, message) in table {
        *world.daemon.refusal.lock().unwrap() = Some(refusal);
        let refusal = refused(client.call::<AskResult>("ask", &ask("hi")).await);
        assert_eq!(refusal, (code, message.to_owned()));
    }
    let table = [
        (
            "ask",
            json!({"session": "terminal:local:../x", "text": "hi"}),
            -32602,
            "ask: session id \"terminal:local:../x\" contains `/`, which is not allowed in an id",
        ),
        ("ask", json!({"session": "terminal:local:a"}), -32602, "ask: `text` is missing"),
        (
            "dance",
            json!({}),
            -32601,
            "there is no method \"dance\"; there are approval.decide, approval.list, ask, attach, doctor, link.add, link.list, \
             link.remove, pair.approve, pair.deny, pair.list, people.list, people.remove, ping, send, \
             sessions.list, sessions.show, status, usage, wait",
        ),
        (
            "attach",
            json!({"chat": "telegram:work:1"}),
            -32002,
            "no client can attach to telegram:work:1; the channels with clients are terminal",
        ),
        ("wait", json!({"message": "m7"}), -32002, "there is no message m7"),
        ("status", json!({}), -32003, "the log is closed"),
        (
            "usage",
            json!({"by": "moon"}),
            -32602,
            "usage: `moon` is not possible here; possible are `model`, `session`, `day`",
        ),
    ];
    for (method, params, code, message) in table {
        let refusal = refused(client.call::<Value>(method, &params).await);
        assert_eq!(refusal, (code, message.to_owned()), "{method}");
    }
}

#[tokio::test]
async fn server_refuses_bad_lines_and_serves_the_next() {
    let world = World::new();
    let mut bytes = vec![b'x'; 10 * MAX_LINE_BYTES];
    bytes.extend(b"\n{\"a\": \"\xff\"}\n{oops\n[]\n\n");
    bytes.extend(br#"{"id": "last", "method": "people.list"}"#);
    bytes.push(b'\n');
    let answers = world.raw(&bytes, 5).await;
    let codes: Vec<Value> = answers.iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(-32600), json!(-32700), json!(-32700), json!(-32600), Value::Null]);
    assert_eq!(
        answers[0]["error"]["message"],
        "the line is 10485760 bytes long; at most 1048576 are taken. Send large texts as files"
    );
    assert_eq!((&answers[4]["id"], &answers[4]["result"]), (&json!("last"), &json!([])));
}

#[tokio::test]
async fn wait_ends_with_the_outcome() {
    let world = World::new();
    let client = world.client().await;
    let wait = Wait { message: MessageId(1) };
    let ended = TurnEvent::Ended {
        turn: Some(TurnId(1)),
        messages: vec![MessageId(1)],
        outcome: Outcome::Replied,
    };
    for missed in [false, true] {
        *world.daemon.outcome.lock().unwrap() = None;
        let (status, ()) = tokio::join!(client.call::<MessageStatus>("wait", &wait), async {
            world.clock.sleeper(Duration::from_secs(1)).await;
            *world.daemon.outcome.lock().unwrap() = Some(Outcome::Replied);
            if missed {
                world.clock.advance(Duration::from_mins(1));
            } else {
                world.daemon.emit(&session(), ended.clone());
            }
        });
        assert_eq!(status.unwrap().reply.as_deref(), Some("the reply"));
    }
}

/// Hands a chunk to the attached client.
async fn hand_over(world: &World, text: &str) -> oneshot::Receiver<Receipt> {
    let (receipt, received) = oneshot::channel();
    let delivery = Delivery {
        turn: Some(TurnId(1)),
        repeat: true,
        ..Delivery::new(DeliveryId(7), session().address(), Content::text(text))
    };
    let attached = world.daemon.attached.lock().unwrap()[0].clone();
    attached.send_async(Handover { delivery, receipt }).await.unwrap();
    received
}

#[tokio::test]
async fn attached_client_receives_events_and_acknowledges_deliveries() {
    let world = World::new();
    let client = world.client().await;
    let chat = session().address();
    let _: Value = client.call("attach", &Attached { chat: chat.clone() }).await.unwrap();
    assert_eq!(world.places.woken(), [chat]);

    world.daemon.emit(&session(), TurnEvent::Thinking { step: 3 });
    let heard = client.incoming().recv_async().await.unwrap();
    assert!(matches!(heard, Incoming::Event(TurnEvent::Thinking { step: 3 })));

    let received = hand_over(&world, "hello").await;
    let Incoming::Deliver { chunk, shown } = client.incoming().recv_async().await.unwrap() else {
        panic!()
    };
    assert_eq!((chunk.id, chunk.text.as_str(), chunk.repeat), (DeliveryId(7), "hello", true));
    shown.tell().await;
    assert_eq!(received.await.unwrap(), Receipt { platform_id: None });
}

#[tokio::test]
async fn attached_client_that_disconnects_leaves_the_delivery_outcome_unknown() {
    let world = World::new();
    let clients = Group::new("clients");
    let client = Client::connect(&world.path, &clients).await.unwrap();
    let chat = session().address();
    let _: Value = client.call("attach", &Attached { chat }).await.unwrap();
    let received = hand_over(&world, "hello").await;
    clients.abort();
    assert!(received.await.is_err());
    let attached = world.daemon.attached.lock().unwrap()[0].clone();
    while !attached.is_disconnected() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn client_calls_fail_if_the_daemon_disconnects() {
    let world = World::new();
    let clients = Group::new("clients");
    let client = Client::connect(&world.path, &clients).await.unwrap();
    let wait = Wait { message: MessageId(1) };
    let (waited, ()) = tokio::join!(client.call::<Value>("wait", &wait), async {
        world.clock.sleeper(Duration::from_secs(1)).await;
        world.gateway.close();
    });
    assert_eq!(waited, Err(ClientError::Lost));
    assert!(!world.path.exists());
    assert!(client.incoming().recv_async().await.is_err());
}

#[test]
fn admit_accepts_only_the_daemons_user_and_root() {
    assert_eq!(admit(1000, 1000).unwrap().as_str(), "uid:1000");
    assert_eq!(admit(0, 1000).unwrap().as_str(), "uid:0");
    assert_eq!(
        admit(1001, 1000).unwrap_err(),
        "user 1001 may not use this socket; it belongs to user 1000. Run the command as that user"
    );
}

#[tokio::test]
async fn listen_creates_a_private_socket_and_refuses_an_unsafe_path() {
    let world = World::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(world.path.parent().unwrap()), 0o700);
    assert_eq!(mode(&world.path), 0o600);

    let directory = TempDir::new().unwrap();
    let open = directory.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o750)).unwrap();
    let error = listen(&open.join("avocet.sock")).unwrap_err().to_string();
    assert!(error.contains("is open to others (mode 750); chmod 700 it"), "{error}");

    let error = listen(&world.path).unwrap_err().to_string();
    assert!(error.starts_with("another process listens on "), "{error}");
    let long = directory.path().join("x".repeat(100)).join("avocet.sock");
    let error = listen(&long).unwrap_err().to_string();
    assert!(error.contains("a socket's path has at most 107"), "{error}");
}

#[tokio::test]
async fn listen_replaces_a_leftover_socket() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run/avocet.sock");
    drop(listen(&path).unwrap());
    assert!(path.exists());
    listen(&path).unwrap();
}

#[tokio::test]
async fn ask_is_completed_although_the_client_disconnected() {
    let world = World::new();
    let ((began, begins), (go, go_on)) = (flume::bounded(1), flume::bounded(1));
    *world.daemon.slow.lock().unwrap() = Some((began, go_on));
    let mut client = UnixStream::connect(&world.path).await.unwrap();
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "ask", "params": ask("hello")});
    client.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
    begins.recv_async().await.unwrap();
    drop(client);
    while world.gateway.group.live().iter().any(|task| task.contains("connection-")) {
        tokio::task::yield_now().await;
    }
    go.send_async(()).await.unwrap();
    while world.daemon.asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn usage_returns_the_cost_of_models() {
    let world = World::new();
    let client = world.client().await;
    let table = [
        (json!({}), "model since 0"),
        (json!({"by": "day", "since": 1_767_225_600_000_i64}), "day since 1767225600000"),
    ];
    for (params, of) in table {
        let rows: Value = client.call("usage", &params).await.unwrap();
        let row = json!({
            "of": of, "answers": 3, "input": 0, "output": 0, "cached": 0, "cache_written": 0,
            "cost": 0, "unpriced": 7,
        });
        assert_eq!(rows, json!([row]));
    }
}

#[tokio::test]
async fn approval_decide_allows_a_call_once() {
    let world = World::new();
    let client = world.client().await;
    let open: Value = client.call("approval.list", &json!({})).await.unwrap();
    let expected = json!([{
        "id": "w7",
        "session": session().to_string(),
        "chat": null,
        "tool": "exec_shell",
        "arguments": { "command": "curl -H 'key: [secret]'" },
        "grant": null,
        "expires_at": 5,
    }]);
    assert_eq!(open, expected);
    let decide = |id| Decide { id: WaitId(id), decision: ApprovalDecision::ForSession };
    let done: Result<Value, _> = client.call("approval.decide", &decide(7)).await;
    assert_eq!(done.unwrap(), Value::Null);
    let error = client.call::<Value>("approval.decide", &decide(8)).await.unwrap_err().to_string();
    assert!(error.contains("nothing waits to be allowed as w8"), "{error}");
}

#[path = "server_lists_tests.rs"]
mod lists;
#[path = "server_places_tests.rs"]
mod places;
