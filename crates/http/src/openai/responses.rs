//! OpenAI's API "Responses".

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::error::{OpenAiError, error_object};
use super::models::AGENT;
use super::question::{ApiMessage, ApiSession, last_text, refuse_if_set};
use super::stream::{WriteEvents, stream_answer};
use super::turn::AskedTurn;
use crate::caller::HttpCaller;
use crate::input::{IdempotencyKey, JsonBody};
use crate::problem::Problem;
use crate::routes::messages::MessageProgress;
use crate::state::HttpState;

/// The parts of a request that count.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponsesRequest {
    #[schema(example = json!("count to 1"))]
    input: ResponsesInput,
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    user: Option<String>,
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Value>,
    #[schema(value_type = Option<Object>)]
    text: Option<Map<String, Value>>,
    background: Option<bool>,
}

/// A text, or messages of which the last is the user's.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
enum ResponsesInput {
    Text(String),
    Messages(Vec<ApiMessage>),
}

impl ResponsesRequest {
    fn check(&self) -> Result<(), Problem> {
        refuse_if_set("tools", self.tools.as_ref())?;
        let background = self.background.filter(|background| *background).map(Value::from);
        refuse_if_set("background", background.as_ref())?;
        let format = self.text.as_ref().and_then(|text| text.get("format"));
        refuse_if_set("text.format", format.filter(|format| format["type"] != "text"))
    }
}

/// Ask the agent as OpenAI's API "Responses" does. Only the last message counts: the agent keeps the
/// conversation of `user`, or of the header `X-Avocet-Session`.
#[utoipa::path(
    post, path = "/v1/responses", tag = "openai", request_body = ResponsesRequest,
    params(
        ("X-Avocet-Session" = Option<String>, Header, description = "The session. Default: one for `user`, else one for the client"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same message"),
    ),
    responses(
        (status = 200, description = "The reply; with `stream`, as server-sent events", content((Object = "application/json"), (Object = "text/event-stream"))),
        OpenAiError,
    ),
)]
pub(crate) async fn create(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    key: Result<IdempotencyKey, Problem>,
    headers: HeaderMap,
    body: Result<JsonBody<ResponsesRequest>, Problem>,
) -> Result<Response, OpenAiError> {
    let IdempotencyKey(key) = key?;
    let JsonBody(request) = body?;
    request.check()?;
    let session = ApiSession::of(&headers, &caller, request.user.as_deref())?;
    let text = match request.input {
        ResponsesInput::Text(text) => text,
        ResponsesInput::Messages(messages) => last_text(messages)?,
    };
    let turn = AskedTurn::begin(state, caller, session, text, key).await?;
    let mut reply = ResponsesReply {
        message: turn.message.clone(),
        created: turn.created,
        model: request.model.unwrap_or_else(|| AGENT.to_owned()),
        written: String::new(),
        next: 0,
    };
    if request.stream == Some(true) {
        return Ok(stream_answer(turn, reply));
    }
    let ended = turn.finish().await.map_err(OpenAiError::after_acceptance)?;
    reply.written = ended.reply.unwrap_or_default();
    Ok(Json(reply.object("completed")).into_response())
}

/// A response, as far as it is known.
#[derive(Debug)]
struct ResponsesReply {
    message: String,
    created: i64,
    model: String,
    written: String,
    /// The number of the next event.
    next: u64,
}

impl ResponsesReply {
    fn item_id(&self) -> String {
        format!("msg_{}", self.message)
    }

    fn part(&self) -> Value {
        json!({ "type": "output_text", "text": self.written, "annotations": [] })
    }

    fn item(&self, status: &str) -> Value {
        let content = if status == "completed" { vec![self.part()] } else { Vec::new() };
        json!({
            "type": "message", "id": self.item_id(), "status": status, "role": "assistant",
            "content": content,
        })
    }

    fn object(&self, status: &str) -> Value {
        let output = if status == "completed" { vec![self.item("completed")] } else { Vec::new() };
        json!({
            "id": format!("resp_{}", self.message), "object": "response",
            "created_at": self.created, "status": status, "model": self.model,
            "output": output, "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "parallel_tool_calls": false, "previous_response_id": null,
            "temperature": null, "tool_choice": "auto", "tools": [], "top_p": null,
        })
    }

    /// Makes an event of this type with the next number.
    fn event(&mut self, kind: &str, mut fields: Value) -> Event {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.next.into();
        self.next += 1;
        Event::default().event(kind).data(fields.to_string())
    }

    /// Makes an event about the only content.
    fn about_text(&mut self, kind: &str, mut fields: Value) -> Event {
        fields["item_id"] = self.item_id().into();
        fields["output_index"] = 0.into();
        fields["content_index"] = 0.into();
        self.event(kind, fields)
    }
}

impl WriteEvents for ResponsesReply {
    fn start(&mut self) -> Vec<Event> {
        let (open, item, part) =
            (self.object("in_progress"), self.item("in_progress"), self.part());
        vec![
            self.event("response.created", json!({ "response": open })),
            self.event("response.in_progress", json!({ "response": open })),
            self.event("response.output_item.added", json!({ "output_index": 0, "item": item })),
            self.about_text("response.content_part.added", json!({ "part": part })),
        ]
    }

    fn text(&mut self, delta: &str) -> Vec<Event> {
        self.written.push_str(delta);
        let fields = json!({ "delta": delta, "logprobs": [] });
        vec![self.about_text("response.output_text.delta", fields)]
    }

    fn done(&mut self, _: &MessageProgress) -> Vec<Event> {
        let (text, part) = (self.written.clone(), self.part());
        let (item, whole) = (self.item("completed"), self.object("completed"));
        vec![
            self.about_text("response.output_text.done", json!({ "text": text, "logprobs": [] })),
            self.about_text("response.content_part.done", json!({ "part": part })),
            self.event("response.output_item.done", json!({ "output_index": 0, "item": item })),
            self.event("response.completed", json!({ "response": whole })),
        ]
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Event> {
        let error = error_object(problem);
        let mut response = self.object("failed");
        response["error"] = json!({ "code": "server_error", "message": error["message"] });
        vec![self.event("response.failed", json!({ "response": response }))]
    }
}
