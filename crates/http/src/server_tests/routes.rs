//! Each route answers, and the OpenAPI document describes each.

use std::collections::BTreeSet;

use avocet_gateway::testing::{BUSY, KEY, session};
use avocet_protocol::daemon::DaemonStatus;
use serde_json::{Value, json};

use super::world::World;
use crate::openapi::{DOCUMENT, document_of_handlers};

/// A request with its body, the status of its answer, and a text of the answer.
pub(super) type Case = (&'static str, &'static str, u16, &'static str);

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    ("GET /v1/approvals", "", 200, r#""id":"w7""#),
    ("GET /v1/approvals?limit=1&after=w7", "", 200, "[]"),
    ("GET /v1/approvals?after=x", "", 400, "approval.list"),
    ("POST /v1/approvals/w7", r#"{"decision": "for_session"}"#, 204, ""),
    ("POST /v1/approvals/w7", r#"{"decision": "denied", "why": "too late"}"#, 404, "no call waits for approval as w7"),
    ("POST /v1/approvals/w7", r#"{"decision": "perhaps"}"#, 400, "approval.decide"),
    ("GET /v1/config", "", 200, r#""path":"/etc/avocet/config.toml""#),
    ("POST /v1/config/check", r#"{"text": "x\nfault"}"#, 200, r#""line":2"#),
    ("POST /v1/config/check", r#"{"text": "x", "digest": "0"}"#, 400, "digest"),
    ("POST /v1/config/form", r#"{"text": "", "edits": [{"key": "a", "value": 5}]}"#, 200, r#""text":"a = 5\n""#),
    ("POST /v1/config/form", r#"{"text": "", "edits": [{"key": "fault"}]}"#, 400, "it is a fault"),
    ("PUT /v1/config", r#"{"text": "new", "digest": "7"}"#, 409, "has changed since it was read"),
    ("PUT /v1/config", r#"{"text": "x\nfault", "digest": "0"}"#, 400, "line 2: `key`: it is a fault"),
    ("PUT /v1/config", r#"{"text": "read-only", "digest": "0"}"#, 503, "read-only"),
    ("PUT /v1/config", r#"{"text": "new", "digest": "0"}"#, 200, r#"{"digest":"3"}"#),
    ("GET /v1/dead-letters", "", 200, r#""id":"o7""#),
    ("GET /v1/dead-letters/o7", "", 200, r#""reason":"refused""#),
    ("GET /v1/dead-letters/o8", "", 404, "there is no dead letter o8"),
    ("POST /v1/dead-letters/o7/retry", "", 204, ""),
    ("POST /v1/dead-letters/o8/retry", "", 404, "there is no dead letter o8"),
    ("DELETE /v1/dead-letters/o7", "", 204, ""),
    ("GET /v1/events", "", 200, r#""log":"log1""#),
    ("GET /v1/events?after=0&limit=1&session=terminal:local:a&kinds=message,turn.done", "", 200, r#""kind":"message.queued""#),
    ("GET /v1/events?kinds=talk", "", 400, "there is no kind"),
    ("GET /v1/events?after=x", "", 400, "after"),
    ("GET /v1/events?after=-9223372036854775808", "", 400, "is not the number of an event: 0 or more"),
    ("GET /v1/events/stream?from=-1", "", 400, "-1 is not the number of an event: 0 or more"),
    ("GET /v1/events/stream?kinds=talk", "", 400, "there is no kind"),
    ("GET /v1/events/stream?session=nowhere", "", 400, "session id"),
    ("GET /v1/memories", "", 200, r#""id":"m1""#),
    ("GET /v1/memories?words=key&limit=1", "", 200, "the key is [secret]"),
    ("GET /v1/memories?scope=chat%20terminal:local:b", "", 200, "[]"),
    ("GET /v1/memories?scope=x", "", 400, "memory.list"),
    ("GET /v1/memories?limit=0", "", 400, "limit is 0; it must be from 1 to 500"),
    ("POST /v1/memories", r#"{"text": "", "scope": "everyone"}"#, 400, "the text is empty"),
    ("POST /v1/memories", r#"{"text": "new", "scope": "everyone"}"#, 201, r#""is_new":true"#),
    ("POST /v1/memories", r#"{"text": "known", "scope": "everyone"}"#, 200, r#""is_new":false"#),
    ("GET /v1/memories/m1", "", 200, r#""changes":[{"#),
    ("GET /v1/memories/m2", "", 404, "there is no memory m2"),
    ("DELETE /v1/memories/m1", "", 204, ""),
    ("DELETE /v1/memories/m2", "", 404, "there is no memory m2"),
    ("GET /v1/memory-changes?memory=m1", "", 200, r#""id":"c2""#),
    ("GET /v1/memory-changes?memory=m2&scope=everyone&limit=1", "", 200, "[]"),
    ("POST /v1/memory-changes/c1/undo", "", 400, "undo c2 before c1"),
    ("POST /v1/memory-changes/c2/undo", "", 200, r#""revision":2"#),
    ("POST /v1/memory-changes/c3/undo", "", 404, "there is no change c3"),
    ("GET /v1/messages/m1/trace", "", 200, r#""type":"received""#),
    ("GET /v1/messages/m9/trace", "", 404, "there are no events of m9"),
    ("GET /v1/jobs", "", 200, r#""id":"j3""#),
    ("GET /v1/jobs?before=j3", "", 200, "[]"),
    ("GET /v1/jobs/j3", "", 200, r#""state":"running""#),
    ("GET /v1/jobs/j4", "", 404, "there is no job j4"),
    ("POST /v1/jobs", r#"{"task": "x"}"#, 400, "job.submit: `agent` is missing"),
    ("POST /v1/jobs/j3/cancel", "", 409, "j3 is running and cannot be cancelled"),
    ("POST /v1/jobs/j4/cancel", "", 404, "there is no job j4"),
    ("GET /v1/schedules", "", 200, "[]"),
    ("GET /v1/schedules?ended=true", "", 200, "[]"),
    ("GET /v1/schedules/s2", "", 400, "there is no s2"),
    ("POST /v1/schedules", r#"{"chat": "terminal:local:a"}"#, 400, "schedule.add"),
    ("POST /v1/schedules/s1/run", "", 204, ""),
    ("POST /v1/schedules/s1/pause", "", 204, ""),
    ("POST /v1/schedules/s1/resume", "", 204, ""),
    ("DELETE /v1/schedules/s1", "", 204, ""),
    ("DELETE /v1/schedules/s2", "", 503, "the log is closed"),
    ("GET /v1/search?words=password", "", 200, "the password is [secret]"),
    ("GET /v1/search?words=password&limit=501", "", 400, "limit is 501"),
    ("GET /v1/search?words=%3F", "", 400, "contains no word"),
    ("GET /v1/search", "", 400, "missing field `words`"),
    ("GET /v1/sessions/terminal:local:a/sent?limit=1", "", 200, r#""delivery":"o8""#),
    ("GET /v1/sessions/terminal:local:a/sent?before=o8", "", 200, "[]"),
    ("GET /v1/sessions/terminal:local:a/sent?before=x", "", 400, "sessions.sent"),
    ("GET /v1/sessions?limit=1", "", 200, r#""session":"terminal:local:0""#),
    ("GET /v1/sessions?limit=1&after=0/terminal:local:0", "", 200, r#""session":"terminal:local:1""#),
    ("GET /v1/sessions?limit=0", "", 400, "limit is 0; it must be from 1 to 500"),
    ("GET /v1/sessions?after=x", "", 400, "after: "),
    ("GET /v1/sessions?page=2", "", 400, "unknown field `page`"),
    ("GET /v1/sessions?limit=many", "", 400, "limit"),
    ("GET /v1/sessions?only=pinned&limit=1", "", 200, r#""is_pinned":true"#),
    ("GET /v1/sessions?only=archived", "", 200, "[]"),
    ("GET /v1/sessions?only=x", "", 400, "sessions.list"),
    ("PATCH /v1/sessions/terminal:local:a", r#"{"title": "The garden", "is_pinned": true}"#, 204, ""),
    ("PATCH /v1/sessions/terminal:local:none", "{}", 404, "there is no session terminal:local:none"),
    ("PATCH /v1/sessions/terminal:local:a", r#"{"name": "x"}"#, 400, "unknown key `name`"),
    ("PATCH /v1/sessions/terminal:local:a", " [null, null]", 400, "send a JSON object, not a list"),
    ("POST /v1/sessions/terminal:local:a/branches", r#"{"into": "web:console:b", "before": "t2"}"#, 201, r#"{"turns":2}"#),
    ("POST /v1/sessions/terminal:local:a/branches", r#"{"into": "terminal:local:busy"}"#, 409, "choose another name"),
    ("POST /v1/sessions/terminal:local:a/branches", "{}", 400, "into"),
    ("GET /v1/sessions/terminal:local:a", "", 200, r#""id":"t1""#),
    ("GET /v1/sessions/terminal%3Alocal%3Aa?before=t1", "", 200, "[]"),
    ("GET /v1/sessions/nowhere", "", 400, "sessions.show: "),
    ("DELETE /v1/sessions/terminal:local:a", "", 200, r#"{"turns":3}"#),
    ("DELETE /v1/sessions/terminal:local:busy", "", 409, "has an open turn"),
    ("DELETE /v1/sessions/terminal:local:none", "", 404, "there is no session"),
    ("GET /v1/sessions/terminal:local:a/options", "", 200, r#""option":"model""#),
    ("PUT /v1/sessions/terminal:local:a/options/model", r#"{"value": "a/b"}"#, 200, r#""value":"a/b""#),
    ("PUT /v1/sessions/terminal:local:a/options/model", r#"{"value": "c"}"#, 400, "is no value of model"),
    ("PUT /v1/sessions/terminal:local:a/options/model", r#"{"value": "owner"}"#, 403, "only owners choose its model"),
    ("GET /v1/sessions/nowhere/stream", "", 400, "session id"),
    ("GET /v1/usage", "", 200, r#""of":"model since 0""#),
    ("GET /v1/usage?by=day&since=5&limit=7&skip=1", "", 200, r#""of":"day since 5""#),
    ("GET /v1/usage?by=moon", "", 400, "`moon` is not a possible value"),
    ("GET /v1/messages/m7", "", 404, "there is no message m7"),
    ("GET /v1/messages/x", "", 400, "wait: "),
    ("GET /v1/messages/m1?wait=601", "", 400, "it must be from 0 to 600 seconds"),
    ("POST /v1/messages", r#"{"session": "terminal:local:a"}"#, 400, "`text` is missing"),
    ("POST /v1/messages", r#"{"session": "terminal:local:a", "text": "x", "sender": "me"}"#, 400, "`sender`"),
    ("POST /v1/messages", r#"{"session": "../x", "text": "x"}"#, 400, "ask: session id"),
    ("POST /v1/messages", "{oops", 400, "line 1"),
    ("POST /v1/messages", "", 400, ""),
    ("POST /v1/sends", r#"{"chat": "x", "text": "x"}"#, 400, "send: "),
    ("POST /v1/web/login", r#"{"code": "0123"}"#, 401, "run `avocet web` again"),
    ("POST /v1/web/login", r#"{"token": "0123"}"#, 400, "unknown key `token`"),
    ("GET /v1/web/login", "", 405, "the header Allow lists them"),
    ("GET /v1/status", "", 200, r#""version":"1.2.3""#),
    ("GET /openapi.json", "", 200, r#""openapi":"3.1.0""#),
    ("GET /v1/dance", "", 404, "there is no such path; see /openapi.json"),
    ("PUT /v1/messages", "", 405, "the header Allow lists them"),
    ("OPTIONS /v1/messages", "", 405, "the header Allow lists them"),
];

pub(super) fn status() -> DaemonStatus {
    serde_json::from_value(json!({
        "version": "1.2.3", "pid": 7, "uptime_seconds": 5, "data_dir": "/d", "model": "a/b",
        "channels": [],
        "log": {
            "epoch": 1, "sessions": 2, "messages": 3, "queued": 4, "running": 5, "waiting": 6,
            "pending": 7, "unconfirmed": 8, "dead": 9, "ignored": [],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn routes_answer_with_the_result_of_their_method_or_a_problem() {
    assert_eq!((session().as_str(), BUSY), ("terminal:local:a", "terminal:local:busy"));
    let world = World::new();
    *world.daemon.status.lock() = Some(status());
    world.daemon.log.add(session().as_str(), "hi");
    for (line, body, status, says) in CASES {
        let answer = world.ask(line, body).await;
        assert_eq!(answer.status, *status, "{line}: {answer:?}");
        assert!(answer.body.contains(says), "{line}: {answer:?}");
        assert!(!answer.body.contains(KEY), "{line} shows a secret");
        let media = answer.header("content-type").unwrap_or_default();
        let expected = match status {
            200..300 if answer.body.is_empty() => "",
            200..300 => "application/json",
            _ => "application/problem+json",
        };
        assert_eq!(media, expected, "{line}: {answer:?}");
    }
}

#[tokio::test]
async fn answers_about_the_configuration_are_not_stored() {
    let world = World::new();
    *world.daemon.config.lock() = format!("key = {KEY}");
    for (line, body, says) in [
        ("GET /v1/config", "", KEY),
        ("POST /v1/config/check", r#"{"text": ""}"#, "faults"),
        ("POST /v1/config/form", r#"{"text": ""}"#, "tables"),
        ("PUT /v1/config", r#"{"text": "", "digest": "x"}"#, "409"),
    ] {
        let answer = world.ask(line, body).await;
        assert!(answer.body.contains(says), "{line}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{line}");
    }
}

#[tokio::test]
async fn method_not_allowed_names_the_methods_of_the_path() {
    let answer = World::new().ask("PUT /v1/jobs", "").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET,HEAD,POST")));
}

/// Writes each operation and each schema of the document on a line of its own.
fn write_document(value: &Value, levels: usize) -> String {
    match value.as_object().filter(|_| levels > 0) {
        Some(fields) => {
            let fields = fields.iter().map(|(name, field)| {
                format!("{}:{}", Value::from(name.as_str()), write_document(field, levels - 1))
            });
            format!("{{\n{}\n}}", fields.collect::<Vec<_>>().join(",\n"))
        }
        None => value.to_string(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the person at the terminal decides this")]
fn updates_files() -> bool {
    std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1")
}

#[test]
fn openapi_file_is_the_document_of_the_handlers() {
    let text = write_document(&document_of_handlers(), 3) + "\n";
    if updates_files() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/openapi.json");
        std::fs::write(path, &text).unwrap();
        return;
    }
    assert!(
        text == DOCUMENT,
        "crates/http/src/openapi.json is out of date; run UPDATE_SCHEMAS=1 tests/run -p avocet-http openapi"
    );
}

#[test]
fn openapi_document_describes_every_route_once() {
    let document = document_of_handlers();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    // The page of the web console is for browsers, and is left out.
    let routes = crate::routes::routes();
    let served: BTreeSet<&str> = routes.iter().map(|(path, _)| *path).collect();
    assert_eq!(described, served);
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let names: Vec<&str> =
        operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

/// Answers without a schema of their own, and the reason.
const UNTYPED: [(&str, &str); 4] = [
    ("get /openapi.json", "the specification of OpenAPI describes it"),
    ("post /v1/chat/completions", "OpenAI's reference describes it"),
    ("post /v1/responses", "OpenAI's reference describes it"),
    ("get /v1/responses/{id}", "OpenAI's reference describes it"),
];

/// Returns `true` if values of the schema may have the type.
fn has_type(schema: &Value, name: &str) -> bool {
    let types = schema["type"].as_array();
    schema["type"] == name || types.is_some_and(|types| types.iter().any(|one| one == name))
}

/// Returns `true` for a schema that says no more than that there is an object or a value.
fn is_bare(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return true };
    let tells = ["properties", "$ref", "oneOf", "anyOf", "allOf", "additionalProperties", "enum"];
    match schema.get("items") {
        Some(items) => is_bare(items),
        None if has_type(schema, "string") || has_type(schema, "boolean") => false,
        None => !tells.iter().any(|key| fields.contains_key(*key)),
    }
}

#[test]
fn openapi_requests_have_the_schemas_of_their_types() {
    let document = document_of_handlers();
    let mut bare = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let content = operation["requestBody"]["content"].as_object();
            if content.into_iter().flatten().any(|(_, content)| is_bare(&content["schema"])) {
                bare.insert(format!("{method} {path}"));
            }
        }
    }
    // The program that calls a hook decides the form of its body.
    assert_eq!(bare, ["post /hooks/{name}".to_owned()].into());
    let job = &document["components"]["schemas"]["SubmitJob"]["properties"];
    assert_eq!(job["agent"]["type"], "string", "{job}");
}

#[test]
fn openapi_answers_have_the_schemas_of_their_types() {
    let document = document_of_handlers();
    let mut bare = BTreeSet::new();
    let mut typed = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (_, response) in operation["responses"].as_object().unwrap() {
                for (_, content) in response["content"].as_object().into_iter().flatten() {
                    if is_bare(&content["schema"]) {
                        bare.insert(format!("{method} {path}"));
                    } else {
                        typed += 1;
                    }
                }
            }
        }
    }
    let untyped = UNTYPED.iter().map(|(operation, _)| (*operation).to_owned());
    assert_eq!(bare, untyped.collect());
    assert!(typed > 80, "{typed}");
    let schemas = &document["components"]["schemas"];
    let field = &schemas["DaemonStatus"]["properties"]["uptime_seconds"];
    assert_eq!((&field["type"], field["description"].is_string()), (&json!("integer"), true));
    // Every reference leads to a definition.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(schemas.get(name).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn openapi_operations_are_served_and_tell_their_problem() {
    let world = World::new();
    let document = document_of_handlers();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let problem = &operation["responses"]["default"]["content"]["application/problem+json"];
            assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{path}");
            if path.ends_with("/stream") {
                continue;
            }
            let path = path.replace("{session}", "terminal:local:none").replace("{id}", "x");
            let path = path.replace("{turn}", "t7").replace("{index}", "0");
            let path = path.replace("{message}", "m7").replace("{option}", "model");
            let line = format!("{} {path}", method.to_uppercase());
            let answer = world.ask(&line, "").await;
            assert!(![0, 405].contains(&answer.status), "{line}: {answer:?}");
            assert!(!answer.body.contains("there is no such path"), "{line}: {answer:?}");
        }
    }
    let is_open = |path: &str| document["paths"][path]["get"]["security"] == json!([{}]);
    let open = ["/healthz", "/metrics", "/readyz"].map(is_open);
    let login = &document["paths"]["/v1/web/login"]["post"]["security"];
    assert_eq!(*login, json!([{}]));
    assert_eq!((open, &document["security"]), ([true; 3], &json!([{"token": []}])));
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], Value::from("bearer"));
}
