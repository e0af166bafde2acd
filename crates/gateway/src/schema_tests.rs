//! The JSON Schema of the channel protocol: `clients/schema/channel.json` is made from the types.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use avocet_methods::{AttachParams, AttachResult};

use crate::attached::{Delivered, Typing};
use crate::file_pieces::ReadFilePiece;
use crate::wire::RpcError;
use crate::{
    AskResult, DeliveryChunk, FilePiece, GetFile, HealthReport, Hello, MoveCursor, PROTOCOL,
    PublishParams, Welcome, WithdrawMessage,
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/schema").join(name)
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings
        .with(|settings| settings.meta_schema = None)
        .with_transform(RecursiveTransform(write_description))
        .into_generator()
}

/// The types of what programs send and of what they receive.
pub(crate) struct Types {
    pub(crate) sent: SchemaGenerator,
    pub(crate) received: SchemaGenerator,
}

impl Types {
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12();
        let received = settings
            .clone()
            .for_serialize()
            .with_transform(RecursiveTransform(make_details_fields))
            .with_transform(RecursiveTransform(leave_out_null));
        Self { sent: generator(settings.for_deserialize()), received: generator(received) }
    }

    pub(crate) fn sent<T: JsonSchema>(&mut self) -> Value {
        self.sent.subschema_for::<T>().to_value()
    }

    pub(crate) fn received<T: JsonSchema>(&mut self) -> Value {
        self.received.subschema_for::<T>().to_value()
    }

    /// Takes the definitions. A type that is sent and received in different forms has two of them: what
    /// the daemon always sends, a program may leave out.
    pub(crate) fn definitions(mut self) -> Map<String, Value> {
        let sent = self.sent.take_definitions(true);
        let mut all = Map::new();
        let received = self.received.take_definitions(true);
        let differs =
            |name: &str, schema: &Value| sent.get(name).is_some_and(|sent| sent != schema);
        let twice: BTreeSet<String> = received
            .iter()
            .filter(|(name, schema)| differs(name, schema))
            .map(|(name, _)| name.clone())
            .collect();
        for (name, mut schema) in received {
            refer_to_answers(&mut schema, &twice);
            let name = if twice.contains(&name) { format!("{name}InAnswer") } else { name };
            all.insert(name, schema);
        }
        all.extend(sent);
        all
    }
}

/// Changes the references to types that have a second definition for answers.
fn refer_to_answers(value: &mut Value, twice: &BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref")
                && twice.contains(target.trim_start_matches("#/$defs/"))
            {
                target.push_str("InAnswer");
            }
            fields.values_mut().for_each(|field| refer_to_answers(field, twice));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer_to_answers(item, twice)),
        _ => {}
    }
}

/// Makes fields that can be missing of a record inside of an optional `flatten`ed enumeration: readers of
/// a `LogEvent` ask for `event.message`, and need no name for each of the nine forms.
fn make_details_fields(schema: &mut Schema) {
    let Some(Value::Array(forms)) = schema.get("anyOf").cloned() else { return };
    let [details, Value::Object(nothing)] = forms.as_slice() else { return };
    let Some(details) = details["oneOf"].as_array().filter(|_| nothing.is_empty()) else { return };
    let fields = details.iter().flat_map(|detail| {
        let text = &detail["description"];
        let fields = detail["properties"].as_object().unwrap();
        fields.iter().map(|(name, field)| {
            let mut field = field.clone();
            field["description"] = text.clone();
            (name.clone(), field)
        })
    });
    let fields: Map<String, Value> = fields.collect();
    assert_eq!(fields.len(), details.len(), "each form has one field");
    schema.remove("anyOf");
    schema.get_mut("properties").and_then(Value::as_object_mut).unwrap().extend(fields);
}

/// Removes null from the fields that can be missing: the daemon leaves them out instead.
fn leave_out_null(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (_, field) in fields.iter_mut().filter(|(name, _)| !is_required(name)) {
        let Some(field) = field.as_object_mut() else { continue };
        if let Some(Value::Array(kinds)) = field.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [kind] = kinds.as_slice() {
                let kind = kind.clone();
                field.insert("type".to_owned(), kind);
            }
        }
        if let Some(Value::Array(mut forms)) = field.remove("anyOf") {
            forms.retain(|form| form["type"] != "null");
            match forms.as_slice() {
                [Value::Object(form)] => field.extend(form.clone()),
                _ => _ = field.insert("anyOf".to_owned(), Value::Array(forms)),
            }
        }
        if field.get("default").is_some_and(Value::is_null) {
            field.remove("default");
        }
        if let Some(Value::String(text)) = field.get_mut("description") {
            *text = text.replace(". `None`", ". Absent").replace("`None`", "absent");
        }
    }
}

/// Turns a comment for readers of Rust into a description for readers of JSON.
fn write_description(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    *text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("`None`", "null");
    while let Some((before, name, after)) = text.split_once("[`").and_then(|(before, link)| {
        let (name, after) = link.split_once("`]")?;
        let after = after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'))
            .map_or(after, |(_, after)| after);
        Some((before, name, after))
    }) {
        *text = format!("{before}`{name}`{after}");
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
        "message.withdraw": { "params": types.sent::<WithdrawMessage>(), "result": nothing },
        "publish": { "params": types.sent::<PublishParams>(), "result": types.received::<AskResult>() },
    });
    let from_daemon = json!({
        "deliver": {
            "params": types.received::<DeliveryChunk>(),
            "result": types.sent::<Delivered>(),
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
