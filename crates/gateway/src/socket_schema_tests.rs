//! The JSON Schema of the socket: `clients/schema/socket.json` is made from the list of the methods and
//! their types. `clients/generate.py` makes the types of both client libraries from it.

use std::collections::BTreeMap;

use avocet_methods::{NoParams, SocketMethod, with_all_methods};
use avocet_protocol::turn::TurnEvent;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::attached::{Delivered, Typing};
use crate::file_pieces::ReadFilePiece;
use crate::schema_tests::{Types, assert_is_fresh};
use crate::wire::RpcError;
use crate::{DeliveryChunk, EventBatch, FilePiece, HealthReport};

/// Describes the two sides of a call of the method; `None` if the libraries do not have it.
fn describe_sides<M: SocketMethod>(types: &mut Types) -> Option<Value> {
    if !M::IS_IN_LIBRARIES {
        return None;
    }
    let (nothing, mut params) = (types.sent::<NoParams>(), types.sent::<M::Params>());
    let result = types.received::<M::Answer>();
    if params == nothing {
        return Some(json!({ "result": result }));
    }
    if M::PARAMS_ARE_OPTIONAL && serde_json::from_value::<M::Params>(json!({})).is_ok() {
        params["x-optional"] = json!(true);
    }
    Some(json!({ "params": params, "result": result }))
}

type DescribeSides = fn(&mut Types) -> Option<Value>;

macro_rules! sides {
    ($($method:ident: $place:ident,)*) => {
        [$((avocet_methods::$method::NAME, describe_sides::<avocet_methods::$method>)),*]
    };
}

fn methods_of_the_libraries(types: &mut Types) -> Map<String, Value> {
    let methods: &[(&str, DescribeSides)] = &with_all_methods!(sides);
    let sides = methods.iter().map(|(name, describe)| ((*name).to_owned(), describe(types)));
    sides.filter_map(|(name, sides)| Some((name, sides?))).collect()
}

fn schema() -> Value {
    let mut types = Types::new();
    let methods = methods_of_the_libraries(&mut types);
    let from_daemon = json!({
        "deliver": { "params": types.received::<DeliveryChunk>(), "result": types.sent::<Delivered>() },
        "event": { "params": types.received::<TurnEvent>() },
        // Any result confirms the batch.
        "events": { "params": types.received::<EventBatch>(), "result": {} },
        "file.read": { "params": types.received::<ReadFilePiece>(), "result": types.sent::<FilePiece>() },
        "typing": { "params": types.received::<Typing>() },
    });
    let errors: Map<String, Value> = RpcError::CODES
        .iter()
        .map(|(name, code, text)| {
            ((*name).to_owned(), json!({ "const": code, "description": text.trim() }))
        })
        .collect();
    let nothing = NoParams::schema_name();
    let from_program = json!({ "health": { "params": types.sent::<HealthReport>() } });
    // Sorted, so that a change of a method moves no type in the libraries.
    let mut definitions: BTreeMap<String, Value> = types.definitions().into_iter().collect();
    // Methods without parameters have none in the libraries, and no type for them.
    definitions.remove(nothing.as_ref());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The socket of Avocet",
        "description": "The methods of the socket that client libraries offer. The file is made from the Rust types by a test of avocet-gateway; the names in $defs are theirs.",
        "x-methods": methods,
        "x-from-daemon": from_daemon,
        "x-from-program": from_program,
        "x-errors": errors,
        "$defs": definitions,
    })
}

#[test]
fn socket_schema_is_made_from_the_types() {
    assert_is_fresh("socket.json", &schema());
}
