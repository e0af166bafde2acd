//! The JSON Schema of the channel protocol: `clients/schema/channel.json` is made from the types.

use std::fs;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use avocet_methods::{AttachParams, AttachResult};

use crate::attached::Typing;
use crate::file_pieces::ReadFilePiece;
use crate::wire::RpcError;
use crate::{
    AskResult, DeliveryChunk, FilePiece, GetFile, HealthReport, Hello, MoveCursor, PROTOCOL,
    PublishParams, Welcome,
};

pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/schema").join(name)
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings.with(|settings| settings.meta_schema = None).into_generator()
}

/// The types of what programs send and of what they receive. Of a type in both directions, optional
/// fields are those that a program may leave out.
pub(crate) struct Types {
    pub(crate) sent: SchemaGenerator,
    pub(crate) received: SchemaGenerator,
}

impl Types {
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12();
        let received = generator(settings.clone().for_serialize());
        Self { sent: generator(settings.for_deserialize()), received }
    }

    fn sent<T: JsonSchema>(&mut self) -> Value {
        self.sent.subschema_for::<T>().to_value()
    }

    fn received<T: JsonSchema>(&mut self) -> Value {
        self.received.subschema_for::<T>().to_value()
    }

    pub(crate) fn definitions(mut self) -> Map<String, Value> {
        let mut all = self.received.take_definitions(true);
        all.extend(self.sent.take_definitions(true));
        all
    }
}

fn schema() -> Value {
    let mut types = Types::new();
    let nothing = json!({ "type": "object" });
    let requests = json!({
        "attach": { "params": types.sent::<AttachParams>(), "result": types.received::<AttachResult>() },
        "cursor.move": { "params": types.sent::<MoveCursor>(), "result": nothing },
        "file.get": { "params": types.sent::<GetFile>(), "result": types.received::<FilePiece>() },
        "hello": { "params": types.sent::<Hello>(), "result": types.received::<Welcome>() },
        "publish": { "params": types.sent::<PublishParams>(), "result": types.received::<AskResult>() },
    });
    let from_daemon = json!({
        "deliver": {
            "params": types.received::<DeliveryChunk>(),
            "result": {
                "type": "object",
                "properties": {
                    "platform_id": {
                        "description": "The platform's name for the message.",
                        "type": ["string", "null"]
                    }
                }
            },
        },
        "file.read": { "params": types.received::<ReadFilePiece>(), "result": types.sent::<FilePiece>() },
    });
    let notifications = json!({
        "health": { "from": "program", "params": types.sent::<HealthReport>() },
        "typing": { "from": "daemon", "params": types.received::<Typing>() },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The channel protocol of Avocet",
        "description": "The messages between the daemon and a program that is a channel. Each is one line: a JSON-RPC 2.0 request, response or notification. The file is made from the Rust types by a test of avocet-gateway.",
        "x-protocol": PROTOCOL,
        "x-requests-of-the-program": requests,
        "x-requests-of-the-daemon": from_daemon,
        "x-notifications": notifications,
        "x-errors": {
            "refused for good": RpcError::NOT_ALLOWED,
            "gone": RpcError::NOT_FOUND,
            "try again later": RpcError::UNAVAILABLE,
        },
        "$defs": types.definitions(),
    })
}

#[expect(clippy::disallowed_methods, reason = "the person at the terminal decides this")]
fn updates_files() -> bool {
    std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1")
}

/// Fails if a schema differs from its file. `UPDATE_SCHEMAS=1` writes the file.
pub(crate) fn assert_is_fresh(name: &str, schema: &Value) {
    let path = file(name);
    let text = format!("{schema:#}\n");
    if updates_files() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|found| found == text),
        "clients/schema/{name} is out of date; run UPDATE_SCHEMAS=1 tests/run -p avocet-gateway \
         schema"
    );
}

#[test]
fn channel_schema_is_made_from_the_types() {
    assert_is_fresh("channel.json", &schema());
}
