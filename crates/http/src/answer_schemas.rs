//! The schemas of the answers that the gateway gives, made from the types with which it writes them.
//!
//! The handlers pass these answers on as JSON, so utoipa sees none of their types. Each row of
//! [`ANSWERS`] names the type of one answer. Its schema replaces the empty one in the OpenAPI document,
//! which has the same dialect (OpenAPI 3.1, "Schema Object": JSON Schema 2020-12).

use avocet_gateway::{EventList, FoundText, MemoryDetails, SavedConfig};
use avocet_protocol::{
    ConfigCheck, DaemonStatus, DeadLetter, DeliveredText, JobStatus, Memory, MemoryChange,
    OpenApproval, SessionSummary, ShownConfig, ShownSchedule, SubmittedJob, TraceSpan, TurnRecord,
    UsageRow, WrittenMemory,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// An answer, and the generator of its schema.
struct TypedAnswer {
    /// The method in lower case, and the path.
    operation: (&'static str, &'static str),
    status: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

const fn answer<T: JsonSchema>(
    method: &'static str,
    path: &'static str,
    status: &'static str,
) -> TypedAnswer {
    TypedAnswer { operation: (method, path), status, schema: SchemaGenerator::subschema_for::<T> }
}

const ANSWERS: &[TypedAnswer] = &[
    answer::<Vec<OpenApproval>>("get", "/v1/approvals", "200"),
    answer::<ShownConfig>("get", "/v1/config", "200"),
    answer::<SavedConfig>("put", "/v1/config", "200"),
    answer::<ConfigCheck>("post", "/v1/config/check", "200"),
    answer::<Vec<DeadLetter>>("get", "/v1/dead-letters", "200"),
    answer::<DeadLetter>("get", "/v1/dead-letters/{id}", "200"),
    answer::<EventList>("get", "/v1/events", "200"),
    answer::<Vec<JobStatus>>("get", "/v1/jobs", "200"),
    answer::<SubmittedJob>("post", "/v1/jobs", "200"),
    answer::<SubmittedJob>("post", "/v1/jobs", "202"),
    answer::<JobStatus>("get", "/v1/jobs/{id}", "200"),
    answer::<Vec<Memory>>("get", "/v1/memories", "200"),
    answer::<WrittenMemory>("post", "/v1/memories", "200"),
    answer::<WrittenMemory>("post", "/v1/memories", "201"),
    answer::<MemoryDetails>("get", "/v1/memories/{id}", "200"),
    answer::<Vec<MemoryChange>>("get", "/v1/memory-changes", "200"),
    answer::<Memory>("post", "/v1/memory-changes/{id}/undo", "200"),
    answer::<Vec<TraceSpan>>("get", "/v1/messages/{id}/trace", "200"),
    answer::<Vec<ShownSchedule>>("get", "/v1/schedules", "200"),
    answer::<ShownSchedule>("post", "/v1/schedules", "201"),
    answer::<ShownSchedule>("get", "/v1/schedules/{id}", "200"),
    answer::<Vec<FoundText>>("get", "/v1/search", "200"),
    answer::<Vec<SessionSummary>>("get", "/v1/sessions", "200"),
    answer::<Vec<TurnRecord>>("get", "/v1/sessions/{session}", "200"),
    answer::<Vec<DeliveredText>>("get", "/v1/sessions/{session}/sent", "200"),
    answer::<DaemonStatus>("get", "/v1/status", "200"),
    answer::<Vec<UsageRow>>("get", "/v1/usage", "200"),
];

/// Puts the schemas of all answers into an OpenAPI document, with the types that they use.
pub(crate) fn add_answer_schemas(document: &mut Value) {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    for TypedAnswer { operation: (method, path), status, schema } in ANSWERS {
        let response = &mut document["paths"][path][method]["responses"][status];
        response["content"]["application/json"]["schema"] = schema(&mut generator).to_value();
    }
    let known = &mut document["components"]["schemas"];
    for (name, schema) in generator.take_definitions(true) {
        if known.get(&name).is_none() {
            known[name] = schema;
        }
    }
}
