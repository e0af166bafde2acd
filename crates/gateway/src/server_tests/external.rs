//! Programs that are a channel: they publish the messages of people, and deliver the answers.

use avocet_protocol::access::ClientRole;
use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::{
    Attach, AttachPlatform, FetchError, ForClient, Handover, Health, PieceRequest, SendError,
};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatAddress, ChatKind, Content, Cursor, Delivery,
    LoadedFile, Quote, Receipt, Style, StyleRange,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::DeliveryId;
use avocet_protocol::store::StoreError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;

use super::world::World;
use crate::{ChatPatterns, ClientIdentity, Clients, NamedClient, RpcError};

/// The account `external:irc`.
#[derive(Debug, Default)]
pub(crate) struct FakePlatform {
    clients: Mutex<Vec<flume::Sender<ForClient>>>,
    max_text: Mutex<Option<usize>>,
    pub(crate) reported: Mutex<Vec<Health>>,
}

impl FakePlatform {
    fn add(&self) -> flume::Receiver<ForClient> {
        let (client, items) = flume::bounded(8);
        self.clients.lock().push(client);
        items
    }

    async fn hand_over(&self, delivery: Delivery) -> oneshot::Receiver<Result<Receipt, SendError>> {
        let client = self.clients.lock().last().unwrap().clone();
        let (receipt, outcome) = oneshot::channel();
        client
            .send_async(ForClient::Chunk(Box::new(Handover { delivery, receipt })))
            .await
            .unwrap();
        outcome
    }
}

impl Attach for FakePlatform {
    fn attach(&self, _: &ChatAddress) -> flume::Receiver<ForClient> {
        self.add()
    }

    fn platform(&self) -> Option<&dyn AttachPlatform> {
        Some(self)
    }
}

impl AttachPlatform for FakePlatform {
    fn attach_all(&self) -> flume::Receiver<ForClient> {
        self.add()
    }

    fn set_max_text(&self, chars: usize) -> Result<(), String> {
        if chars < 100 {
            return Err(format!("{chars} is too small"));
        }
        *self.max_text.lock() = Some(chars);
        Ok(())
    }

    fn report(&self, health: Health) {
        self.reported.lock().push(health);
    }

    fn explain_absence(&self, _: &str) {}
}

/// A program in another language, which reads and writes lines.
struct Program {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl Program {
    async fn start(world: &World) -> Self {
        let (reader, writer) = UnixStream::connect(&world.path).await.unwrap().into_split();
        Self { lines: BufReader::new(reader).lines(), writer }
    }

    async fn write(&mut self, line: Value) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value, (i64, String)> {
        self.write(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
        let mut answer = self.read().await;
        match &answer["error"] {
            Value::Null => Ok(answer["result"].take()),
            error => {
                let message = error["message"].as_str().unwrap().to_owned();
                Err((error["code"].as_i64().unwrap(), message))
            }
        }
    }
}

fn account() -> Value {
    json!({"channel": "external", "account": "irc"})
}

#[tokio::test]
async fn publish_commits_a_message_of_a_person_with_the_cursor() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    let message = json!({
        "chat": "external:irc:#team", "chat_kind": "group", "sender": "ann", "sender_name": "Ann",
        "key": "17", "text": "hi", "written_at": 1000, "cursor": {"scope": "#team", "position": "17"},
    });
    let published = program.call("publish", message.clone()).await.unwrap();
    assert_eq!(published, json!({"message": "m1", "duplicate": false}));
    let published = program.call("publish", message).await.unwrap();
    assert_eq!(published, json!({"message": "m1", "duplicate": true}));
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!((asked.sender.id.as_str(), asked.sender.name.as_deref()), ("ann", Some("Ann")));
    assert_eq!((asked.chat, asked.from_platform), (ChatKind::Group, true));
    assert_eq!((asked.key.as_str(), asked.written_at), ("17", Some(Timestamp(1000))));
    assert_eq!(asked.content, Content::text("hi"));
    let cursor = Cursor { scope: "#team".to_owned(), position: "17".to_owned() };
    assert_eq!(*world.daemon.cursors.lock(), [Some(cursor.clone()), Some(cursor)]);
}

#[tokio::test]
async fn publish_passes_the_parts_that_nobody_typed_and_limits_their_number() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    let message = |kind: &str, parts: Value| json!({"chat": "external:irc:a", "sender": "ann", "key": kind, "text": "hi", kind: parts});
    let part = || Quote { from: Some("Eve".to_owned()), text: "look".to_owned() };
    let unnamed = Quote { from: None, text: "card".to_owned() };
    let text = || Content::text("hi");
    let parts = json!([{"from": "Eve", "text": "look"}, {"text": "card"}, {"text": " "}]);
    let both = vec![part(), unnamed];
    for (kind, expected) in [
        ("forwarded", Content { forwarded: both.clone(), ..text() }),
        ("quotes", Content { quotes: both.clone(), ..text() }),
        ("untrusted", Content { untrusted: both.clone(), ..text() }),
    ] {
        program.call("publish", message(kind, parts.clone())).await.unwrap();
        assert_eq!(world.daemon.asked.lock().last().unwrap().content, expected);
        let many = Value::Array(vec![json!({"text": "x"}); 101]);
        let (code, why) = program.call("publish", message(kind, many)).await.unwrap_err();
        assert_eq!(code, RpcError::PARAMS);
        assert_eq!(
            why,
            format!("publish: {kind} has 101 parts; at most 100 are possible: join some of them")
        );
    }
}

#[tokio::test]
async fn publish_moves_the_cursor_over_a_refused_message_but_not_if_the_log_fails() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    let message = json!({
        "chat": "external:irc:ann", "sender": "ann", "key": "1", "text": "hi",
        "cursor": {"position": "1"},
    });
    let cursor = Cursor { scope: String::new(), position: "1".to_owned() };
    let not_allowed =
        PublishError::NotAllowed { channel: "external".to_owned(), sender: "ann".to_owned() };
    for (refusal, code, moved) in [
        (PublishError::Stopping, RpcError::UNAVAILABLE, vec![]),
        (PublishError::Log(StoreError::Closed), RpcError::UNAVAILABLE, vec![]),
        (not_allowed, RpcError::NOT_ALLOWED, vec![Some(cursor)]),
    ] {
        *world.daemon.refusal.lock() = Some(refusal);
        assert_eq!(program.call("publish", message.clone()).await.unwrap_err().0, code);
        assert_eq!(*world.daemon.cursors.lock(), moved);
    }
}

#[tokio::test]
async fn publish_and_attach_refuse_what_is_not_of_a_program_with_the_correction() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    let message = |chat: &str, sender: &str| json!({"chat": chat, "sender": sender, "key": "1", "text": "hi"});
    for (method, params, code, why) in [
        (
            "publish",
            message("terminal:local:a", "ann"),
            RpcError::NOT_FOUND,
            "terminal:local is not served by a program; configure a channel that is: [channels.external.NAME]",
        ),
        (
            "publish",
            message("external:sms:a", "ann"),
            RpcError::NOT_FOUND,
            "external:sms is not served",
        ),
        (
            "publish",
            message("external:irc:a", "uid:0"),
            RpcError::PARAMS,
            "the sender uid:0 is a process of this system",
        ),
        ("publish", message("external:irc:a", "client:x"), RpcError::PARAMS, "people have ids"),
        ("publish", message("external:irc:a", "hook:x"), RpcError::PARAMS, "people have ids"),
        (
            "attach",
            json!({"channel": "terminal", "account": "local"}),
            RpcError::NOT_FOUND,
            "terminal:local is not served by a program",
        ),
        (
            "attach",
            json!({"channel": "external", "account": "sms"}),
            RpcError::NOT_FOUND,
            "no client can attach to external:sms; the accounts with clients are external:irc, terminal:local",
        ),
        ("attach", json!({"channel": "external"}), RpcError::PARAMS, "give either `chat` with"),
        (
            "attach",
            json!({"chat": "external:irc:a", "channel": "external", "account": "irc"}),
            RpcError::PARAMS,
            "give either `chat` with",
        ),
        (
            "attach",
            json!({"channel": "external", "account": "irc", "max_text": 7}),
            RpcError::PARAMS,
            "attach: `max_text`: 7 is too small",
        ),
    ] {
        let (got, message) = program.call(method, params.clone()).await.unwrap_err();
        assert_eq!(got, code, "{params}: {message}");
        assert!(message.contains(why), "{message}");
    }
    assert!(world.platform.clients.lock().is_empty());
}

#[tokio::test]
async fn client_of_an_account_delivers_its_chats_and_reports_each_outcome() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    let attach = json!({"channel": "external", "account": "irc", "max_text": 400});
    let attached = program.call("attach", attach).await.unwrap();
    assert_eq!(attached, json!({"cursors": {"#team": "16"}}));
    assert_eq!(*world.platform.max_text.lock(), Some(400));
    assert_eq!(world.places.woken_accounts(), ["external:irc"]);

    let chat: ChatAddress = "external:irc:#team".parse().unwrap();
    let styles = Some(vec![StyleRange::new(0..5, Style::Bold)]);
    let reply_to = Some("17".parse().unwrap());
    let content = Content { styles, reply_to, ..Content::text("hello") };
    let unknown = None;
    for (answer, expected) in [
        (
            json!({"result": {"platform_id": "p9"}}),
            Some(Ok(Receipt { platform_id: Some("p9".parse().unwrap()) })),
        ),
        (json!({"result": {}}), Some(Ok(Receipt { platform_id: None }))),
        (
            json!({"error": {"code": -32003, "message": "busy"}}),
            Some(Err(SendError::Failed("busy".to_owned()))),
        ),
        (
            json!({"error": {"code": -32001, "message": "kicked"}}),
            Some(Err(SendError::Refused("kicked".to_owned()))),
        ),
        (json!({"error": {"code": 1, "message": "?"}}), unknown),
    ] {
        let delivery = Delivery::new(DeliveryId(7), chat.clone(), content.clone());
        let outcome = world.platform.hand_over(delivery).await;
        let mut request = program.read().await;
        assert_eq!(request["method"], "deliver");
        let expected_params = json!({
            "id": "o7", "nonce": "o7", "turn": null, "chat": "external:irc:#team", "text": "hello",
            "styles": [{"start": 0, "end": 5, "style": "bold"}], "reply_to": "17", "repeat": false,
        });
        assert_eq!(request["params"], expected_params);
        let mut line = answer;
        line["jsonrpc"] = json!("2.0");
        line["id"] = request["id"].take();
        program.write(line).await;
        assert_eq!(outcome.await.ok(), expected);
    }
    let typing = ForClient::Typing(chat);
    world.platform.clients.lock()[0].send(typing).unwrap();
    let shown = program.read().await;
    assert_eq!(
        (&shown["method"], &shown["params"]["chat"]),
        (&json!("typing"), &json!("external:irc:#team"))
    );
}

#[tokio::test]
async fn publish_of_a_client_of_one_chat_refuses_the_cursor_of_the_account() {
    let chats = ChatPatterns::new(vec!["external:irc:#team".to_owned()]);
    let role = ClientRole::Channel;
    let one = NamedClient::new("one", ClientIdentity::default(), role, chats, None).unwrap();
    let world = World::with(Clients::new(vec![one]));
    let mut program = Program::start(&world).await;
    program.call("hello", json!({"client": "one"})).await.unwrap();
    let message = |cursor: Value| {
        let mut message =
            json!({"chat": "external:irc:#team", "sender": "ann", "key": "1", "text": "hi"});
        message["cursor"] = cursor;
        message
    };
    let (code, why) = program.call("publish", message(json!({"position": "9"}))).await.unwrap_err();
    assert_eq!(code, RpcError::NOT_ALLOWED);
    assert!(why.contains("a cursor is for all chats of external:irc"), "{why}");
    assert_eq!(world.daemon.asked.lock().len(), 0);
    program.call("publish", message(Value::Null)).await.unwrap();
}

#[tokio::test]
async fn attach_to_a_channel_of_people_needs_the_role_channel_and_all_its_chats() {
    let client = |name: &str, role, chats: &str| {
        let chats = ChatPatterns::new(vec![chats.to_owned()]);
        NamedClient::new(name, ClientIdentity::default(), role, chats, None).unwrap()
    };
    let world = World::with(Clients::new(vec![
        client("sender", ClientRole::Sender, "*"),
        client("one", ClientRole::Channel, "external:irc:#team"),
        client("irc", ClientRole::Channel, "external:irc:*"),
    ]));
    let chat = || json!({"chat": "external:irc:#team"});
    for (name, params, refusal) in [
        ("sender", account(), Some("needs the role channel, and its role is sender")),
        ("sender", chat(), Some("needs the role channel, and its role is sender")),
        (
            "one",
            account(),
            Some("not all of external:irc:* are its chats; to permit it, set chats"),
        ),
        ("one", chat(), None),
        ("irc", account(), None),
        ("irc", chat(), None),
    ] {
        let mut program = Program::start(&world).await;
        program.call("hello", json!({"client": name})).await.unwrap();
        let attached = program.call("attach", params.clone()).await;
        match refusal {
            None => assert!(attached.is_ok(), "{name} {params}: {attached:?}"),
            Some(why) => {
                let (code, message) = attached.unwrap_err();
                assert_eq!(code, RpcError::NOT_ALLOWED);
                assert!(message.contains(why), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn program_reads_the_files_of_a_chunk_piece_by_piece_until_it_answers() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    program.call("attach", account()).await.unwrap();
    let bytes: Vec<u8> = (0..700_000_u32).map(|byte| (byte % 251) as u8).collect();
    let source = AttachmentSource::Workspace("out/report.pdf".to_owned());
    let media_type = Some("application/pdf".to_owned());
    let report = Attachment { media_type, ..Attachment::new(AttachmentKind::Document, source) };
    let content = Content { attachments: vec![report], ..Content::text("Done.") };
    let file = LoadedFile { name: "report.pdf".to_owned(), bytes: bytes.clone().into() };
    let chat = "external:irc:ann".parse().unwrap();
    let delivery = Delivery { files: vec![file], ..Delivery::new(DeliveryId(7), chat, content) };
    let outcome = world.platform.hand_over(delivery).await;
    let request = program.read().await;
    let described = json!([{
        "kind": "document", "name": "report.pdf", "media_type": "application/pdf", "bytes": 700_000,
    }]);
    assert_eq!(
        (&request["params"]["text"], &request["params"]["attachments"]),
        (&json!("Done."), &described)
    );

    let get = |file: usize, offset: usize| json!({"delivery": request["id"], "file": file, "offset": offset});
    let mut read = Vec::new();
    loop {
        let piece = program.call("file.get", get(0, read.len())).await.unwrap();
        let piece = BASE64.decode(piece["data"].as_str().unwrap()).unwrap();
        if piece.is_empty() {
            break;
        }
        read.extend(piece);
    }
    assert!(read == bytes);
    assert_eq!(program.call("file.get", get(1, 0)).await.unwrap_err().0, RpcError::NOT_FOUND);
    let mut other = Program::start(&world).await;
    assert_eq!(other.call("file.get", get(0, 0)).await.unwrap_err().0, RpcError::NOT_FOUND);
    program.write(json!({"jsonrpc": "2.0", "id": request["id"], "result": {}})).await;
    assert_eq!(outcome.await.unwrap(), Ok(Receipt { platform_id: None }));
    let (code, message) = program.call("file.get", get(0, 0)).await.unwrap_err();
    assert_eq!(code, RpcError::NOT_FOUND);
    assert!(message.contains("read files before you answer the delivery"), "{message}");
}

#[tokio::test]
async fn publish_keeps_the_reference_of_a_file_and_the_daemon_reads_it_from_the_program() {
    let world = World::new();
    let mut program = Program::start(&world).await;
    program.call("attach", account()).await.unwrap();
    let file = json!({"reference": "f1", "kind": "image", "name": "cat.png", "bytes": 5});
    let message = json!({
        "chat": "external:irc:ann", "sender": "ann", "key": "1", "attachments": [file],
    });
    program.call("publish", message).await.unwrap();
    let kept = world.daemon.asked.lock()[0].content.attachments[0].clone();
    assert_eq!(kept.source, AttachmentSource::Platform("external:irc:ann\nf1".to_owned()));
    assert_eq!((kept.kind, kept.name.as_deref()), (AttachmentKind::Image, Some("cat.png")));
    let long = json!({
        "chat": "external:irc:ann", "sender": "ann", "key": "2",
        "attachments": [{"reference": "x".repeat(2000)}],
    });
    assert_eq!(program.call("publish", long).await.unwrap_err().0, RpcError::PARAMS);

    for (answer, expected) in [
        (json!({"result": {"data": "aGVsbG8="}}), Ok(b"hello".to_vec())),
        (json!({"result": {"data": ""}}), Ok(Vec::new())),
        (
            json!({"error": {"code": -32002, "message": "deleted"}}),
            Err(FetchError::Gone("deleted".to_owned())),
        ),
        (
            json!({"error": {"code": -32003, "message": "busy"}}),
            Err(FetchError::Failed("busy".to_owned())),
        ),
        (
            json!({"result": {}}),
            Err(FetchError::Failed("cannot read the piece: `data` is missing".to_owned())),
        ),
    ] {
        let (piece, received) = oneshot::channel();
        let request = PieceRequest { reference: "f1".to_owned(), offset: 3, piece };
        let client = world.platform.clients.lock()[0].clone();
        client.send_async(ForClient::Piece(request)).await.unwrap();
        let mut request = program.read().await;
        assert_eq!(request["method"], "file.read");
        let params = json!({"reference": "f1", "offset": 3, "length": 512 * 1024});
        assert_eq!(request["params"], params);
        let mut line = answer;
        line["id"] = request["id"].take();
        program.write(line).await;
        assert_eq!(received.await.unwrap(), expected);
    }
}
