//! OpenAI's API "Chat Completions".

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::error::{OpenAiError, error_body};
use super::models::AGENT;
use super::question::{ApiMessage, ApiSession, last_text, refuse_if_set};
use super::stream::{WriteEvents, event, stream_answer};
use super::turn::AskedTurn;
use crate::caller::HttpCaller;
use crate::input::{IdempotencyKey, JsonBody};
use crate::problem::Problem;
use crate::routes::messages::MessageProgress;
use crate::state::HttpState;

/// The parts of a request that count. Others, such as the temperature, are those of the agent's
/// configuration.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// The last one is the user's.
    #[schema(min_items = 1, example = json!([{ "role": "user", "content": "count to 1" }]))]
    messages: Vec<ApiMessage>,
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    user: Option<String>,
    n: Option<u32>,
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Value>,
    #[schema(value_type = Option<Vec<Object>>)]
    functions: Option<Value>,
    #[schema(value_type = Option<Object>)]
    audio: Option<Value>,
    #[schema(value_type = Option<Object>)]
    response_format: Option<Value>,
}

impl ChatRequest {
    fn check(&self) -> Result<(), Problem> {
        refuse_if_set("tools", self.tools.as_ref())?;
        refuse_if_set("functions", self.functions.as_ref())?;
        refuse_if_set("audio", self.audio.as_ref())?;
        refuse_if_set("n", self.n.filter(|n| *n != 1).map(Value::from).as_ref())?;
        let format = self.response_format.as_ref().filter(|format| format["type"] != "text");
        refuse_if_set("response_format", format)
    }
}

/// Ask the agent as OpenAI's API "Chat Completions" does. Only the last message counts: the agent
/// keeps the conversation of `user`, or of the header `X-Avocet-Session`.
#[utoipa::path(
    post, path = "/v1/chat/completions", tag = "openai", request_body = ChatRequest,
    params(
        ("X-Avocet-Session" = Option<String>, Header, description = "The session. Default: one for `user`, else one for the client"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same message"),
    ),
    responses(
        (status = 200, description = "The reply; with `stream`, as server-sent events", content((Object = "application/json"), (Object = "text/event-stream"))),
        OpenAiError,
    ),
)]
pub(crate) async fn complete(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    key: Result<IdempotencyKey, Problem>,
    headers: HeaderMap,
    body: Result<JsonBody<ChatRequest>, Problem>,
) -> Result<Response, OpenAiError> {
    let IdempotencyKey(key) = key?;
    let JsonBody(request) = body?;
    request.check()?;
    let session = ApiSession::of(&headers, &caller, request.user.as_deref())?;
    let text = last_text(request.messages)?;
    let turn = AskedTurn::begin(state, caller, session, text, key).await?;
    let model = request.model.unwrap_or_else(|| AGENT.to_owned());
    let reply =
        ChatReply { id: format!("chatcmpl-{}", turn.message), created: turn.created, model };
    if request.stream == Some(true) {
        return Ok(stream_answer(turn, reply));
    }
    let ended = turn.finish().await.map_err(OpenAiError::after_acceptance)?;
    Ok(Json(reply.whole(&ended)).into_response())
}

/// The parts that all objects of a response share.
#[derive(Debug)]
struct ChatReply {
    id: String,
    created: i64,
    model: String,
}

impl ChatReply {
    fn object(&self, kind: &str, choice: &Value) -> Value {
        json!({
            "id": self.id, "object": kind, "created": self.created, "model": self.model,
            "choices": [choice],
        })
    }

    fn whole(&self, ended: &MessageProgress) -> Value {
        let content = ended.reply.as_deref().unwrap_or_default();
        let choice = json!({
            "index": 0, "finish_reason": "stop", "logprobs": null,
            "message": { "role": "assistant", "content": content, "refusal": null },
        });
        let mut object = self.object("chat.completion", &choice);
        object["avocet"] = json!({ "message": ended.id, "outcome": ended.outcome });
        object
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Event {
        let choice =
            json!({ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null });
        event(&self.object("chat.completion.chunk", &choice))
    }
}

impl WriteEvents for ChatReply {
    fn start(&mut self) -> Vec<Event> {
        vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn text(&mut self, delta: &str) -> Vec<Event> {
        vec![self.chunk(&json!({ "content": delta }), None)]
    }

    fn done(&mut self, _: &MessageProgress) -> Vec<Event> {
        vec![self.chunk(&json!({}), Some("stop")), Event::default().data("[DONE]")]
    }

    fn failed(&mut self, problem: &Problem) -> Vec<Event> {
        vec![event(&error_body(problem))]
    }
}
