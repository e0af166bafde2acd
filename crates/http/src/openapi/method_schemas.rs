//! The schemas of the bodies that the gateway reads and writes, made from the types of its methods.
//!
//! The handlers pass these bodies on as JSON, so utoipa sees none of their types. A row of [`ANSWERS`]
//! names the method behind an answer, and a row of [`REQUESTS`] the method that reads a whole body. Their
//! schemas are put into the OpenAPI document, which has the same dialect (OpenAPI 3.1, "Schema Object":
//! JSON Schema 2020-12).

use avocet_gateway::{
    AddMemory, AddSchedule, CheckConfig, FormConfig, ListApprovals, ListDeadLetters, ListEvents,
    ListJobs, ListMemories, ListMemoryChanges, ListSchedules, ListSent, ListSessions, ListUsage,
    SaveConfig, SearchSessions, SetSessionOption, ShowConfig, ShowDeadLetter, ShowJob, ShowMemory,
    ShowOptions, ShowSchedule, ShowSession, ShowStatus, SocketMethod, SubmitJob, Trace,
    UndoMemoryChange,
};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// A body of the type of a method, and the generator of its schema.
struct TypedBody {
    /// The method in lower case, and the path.
    operation: (&'static str, &'static str),
    /// The status of an answer; empty for the body of a request.
    status: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

const fn answer<M: SocketMethod>(
    method: &'static str,
    path: &'static str,
    status: &'static str,
) -> TypedBody {
    let schema = SchemaGenerator::subschema_for::<M::Answer>;
    TypedBody { operation: (method, path), status, schema }
}

const fn request<M: SocketMethod>(method: &'static str, path: &'static str) -> TypedBody {
    let schema = SchemaGenerator::subschema_for::<M::Params>;
    TypedBody { operation: (method, path), status: "", schema }
}

const ANSWERS: &[TypedBody] = &[
    answer::<ListApprovals>("get", "/v1/approvals", "200"),
    answer::<ShowConfig>("get", "/v1/config", "200"),
    answer::<SaveConfig>("put", "/v1/config", "200"),
    answer::<CheckConfig>("post", "/v1/config/check", "200"),
    answer::<FormConfig>("post", "/v1/config/form", "200"),
    answer::<ListDeadLetters>("get", "/v1/dead-letters", "200"),
    answer::<ShowDeadLetter>("get", "/v1/dead-letters/{id}", "200"),
    answer::<ListEvents>("get", "/v1/events", "200"),
    answer::<ListJobs>("get", "/v1/jobs", "200"),
    answer::<SubmitJob>("post", "/v1/jobs", "200"),
    answer::<SubmitJob>("post", "/v1/jobs", "202"),
    answer::<ShowJob>("get", "/v1/jobs/{id}", "200"),
    answer::<ListMemories>("get", "/v1/memories", "200"),
    answer::<AddMemory>("post", "/v1/memories", "200"),
    answer::<AddMemory>("post", "/v1/memories", "201"),
    answer::<ShowMemory>("get", "/v1/memories/{id}", "200"),
    answer::<ListMemoryChanges>("get", "/v1/memory-changes", "200"),
    answer::<UndoMemoryChange>("post", "/v1/memory-changes/{id}/undo", "200"),
    answer::<Trace>("get", "/v1/messages/{id}/trace", "200"),
    answer::<ListSchedules>("get", "/v1/schedules", "200"),
    answer::<AddSchedule>("post", "/v1/schedules", "201"),
    answer::<ShowSchedule>("get", "/v1/schedules/{id}", "200"),
    answer::<SearchSessions>("get", "/v1/search", "200"),
    answer::<ListSessions>("get", "/v1/sessions", "200"),
    answer::<ShowSession>("get", "/v1/sessions/{session}", "200"),
    answer::<ShowOptions>("get", "/v1/sessions/{session}/options", "200"),
    answer::<SetSessionOption>("put", "/v1/sessions/{session}/options/{option}", "200"),
    answer::<ListSent>("get", "/v1/sessions/{session}/sent", "200"),
    answer::<ShowStatus>("get", "/v1/status", "200"),
    answer::<ListUsage>("get", "/v1/usage", "200"),
];

const REQUESTS: &[TypedBody] =
    &[request::<SubmitJob>("post", "/v1/jobs"), request::<AddSchedule>("post", "/v1/schedules")];

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
    });
    settings.into_generator()
}

/// Puts the schemas of these bodies into an OpenAPI document, with the types that they use.
pub(crate) fn add_method_schemas(document: &mut Value) {
    let mut written = generator(SchemaSettings::draft2020_12().for_serialize());
    for TypedBody { operation: (method, path), status, schema } in ANSWERS {
        let response = &mut document["paths"][path][method]["responses"][status];
        response["content"]["application/json"]["schema"] = schema(&mut written).to_value();
    }
    let mut read = generator(SchemaSettings::draft2020_12().for_deserialize());
    for TypedBody { operation: (method, path), schema, .. } in REQUESTS {
        let content = json!({ "application/json": { "schema": schema(&mut read).to_value() } });
        document["paths"][path][method]["requestBody"] =
            json!({ "content": content, "required": true });
    }
    let known = &mut document["components"]["schemas"];
    let written = written.take_definitions(true);
    for (name, schema) in written.into_iter().chain(read.take_definitions(true)) {
        if known.get(&name).is_none() {
            known[name] = schema;
        }
    }
}
