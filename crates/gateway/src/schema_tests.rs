//! The JSON Schema of the channel protocol: `clients/schema/channel.json` is made from the types, and
//! the schema of the clients agrees with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::attached::{AttachParams, AttachResult, Typing};
use crate::file_pieces::ReadFilePiece;
use crate::wire::RpcError;
use crate::{
    AskResult, DeliveryChunk, FilePiece, GetFile, HealthReport, Hello, MoveCursor, PROTOCOL,
    PublishParams, Welcome,
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/schema").join(name)
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings.with(|settings| settings.meta_schema = None).into_generator()
}

/// The types of what programs send and of what they receive. Of a type in both directions, optional
/// fields are those that a program may leave out.
struct Types {
    sent: SchemaGenerator,
    received: SchemaGenerator,
}

impl Types {
    fn new() -> Self {
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

    fn definitions(mut self) -> Map<String, Value> {
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

#[test]
fn channel_schema_is_made_from_the_types() {
    let path = file("channel.json");
    let text = format!("{:#}\n", schema());
    if fs::read_to_string(&path).is_ok_and(|found| found == text) {
        return;
    }
    fs::write(&path, text).unwrap();
    panic!("clients/schema/channel.json was out of date and has been written anew; commit it");
}

/// The names of the fields of a record, and those that are required.
fn fields(schema: &Value) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let names = schema["properties"].as_object().into_iter().flatten();
    let required = schema["required"].as_array().into_iter().flatten();
    (names.map(|(name, _)| name.as_str()).collect(), required.filter_map(Value::as_str).collect())
}

#[test]
fn socket_schema_has_the_same_fields_as_the_types() {
    let socket: Value =
        serde_json::from_str(&fs::read_to_string(file("socket.json")).unwrap()).unwrap();
    let own = schema();
    let mut compared = 0;
    for (name, types) in own["$defs"].as_object().unwrap() {
        let of_clients = &socket["$defs"][name];
        if types.get("properties").is_none() || of_clients.get("properties").is_none() {
            continue;
        }
        compared += 1;
        let ((names, required), (found, also)) = (fields(types), fields(of_clients));
        assert_eq!(names, found, "the fields of {name} in clients/schema/socket.json");
        assert!(required.is_subset(&also), "{name}: {required:?} are required, not {also:?}");
    }
    assert!(compared >= 10, "only {compared} records are in both schemas");
}
