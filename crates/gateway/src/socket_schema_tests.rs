//! The JSON Schema of the socket: `clients/schema/socket.json` is made from the list of the methods and
//! their types. `clients/generate.py` makes the types of both client libraries from it.

use std::collections::BTreeMap;

use avocet_methods::{METHODS, NoParams, SocketMethod, with_all_methods};
use avocet_protocol::turn::TurnEvent;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::attached::{Delivered, Typing};
use crate::file_pieces::ReadFilePiece;
use crate::schema_tests::{Types, assert_is_fresh};
use crate::wire::RpcError;
use crate::{DeliveryChunk, EventBatch, FilePiece, HealthReport};

/// Returns `true` if a request of the method may leave the parameters out.
fn needs_no_params<M: SocketMethod>() -> bool {
    M::PARAMS_ARE_OPTIONAL && serde_json::from_value::<M::Params>(json!({})).is_ok()
}

macro_rules! all_that_need_no_params {
    ($($method:ident: $place:ident,)*) => {
        [$((avocet_methods::$method::NAME, needs_no_params::<avocet_methods::$method>())),*]
    };
}

fn methods_of_the_libraries(types: &mut Types) -> Map<String, Value> {
    let without_params = BTreeMap::from(with_all_methods!(all_that_need_no_params));
    let nothing = types.sent::<NoParams>();
    let mut methods = Map::new();
    for method in METHODS.iter().filter(|method| method.is_in_libraries) {
        let mut params = (method.params)(&mut types.sent).to_value();
        let result = (method.answer)(&mut types.received).to_value();
        let sides = if params == nothing {
            json!({ "result": result })
        } else {
            if without_params[method.name] {
                params["x-optional"] = json!(true);
            }
            json!({ "params": params, "result": result })
        };
        methods.insert(method.name.to_owned(), sides);
    }
    methods
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
