//! OpenAI's API "Chat Completions".

use std::sync::Arc;

use avocet_protocol::bus::ProgramRequest;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use super::chat_reply::ChatReply;
use super::conversation::{ApiSession, NamedConversation};
use super::error::OpenAiError;
use super::items::{ApiItem, RequestMessages, read_messages};
use super::models::{AGENT, profile_of_model};
use super::parameters::{CHAT, ReadRequest};
use super::stream::stream_answer;
use super::tools::{ApiTool, instruction_of_choice, read_format, read_tools};
use super::turn::{ApiQuestion, AskedTurn};
use crate::caller::HttpCaller;
use crate::input::IdempotencyKey;
use crate::problem::Problem;
use crate::state::HttpState;

/// The parameters that have an effect. Others are listed in the book.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ChatRequest {
    /// The last one is the user's, or the result of a call.
    #[cfg_attr(test, schema(value_type = Vec<Object>, min_items = 1, example = json!([{ "role": "user", "content": "count to 1" }])))]
    messages: Vec<ApiItem>,
    /// `avocet`, or the name of a profile.
    model: Option<String>,
    stream: Option<bool>,
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    stream_options: Option<StreamOptions>,
    /// Continues the conversation of this user.
    user: Option<String>,
    #[cfg_attr(test, schema(value_type = Option<Vec<Object>>))]
    tools: Option<Vec<ApiTool>>,
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    tool_choice: Option<Value>,
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    response_format: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// Ask the agent as OpenAI's API "Chat Completions" does. The conversation is that of the header
/// `X-Avocet-Session` or of `user`; else it is the request's own, with the messages of the request.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/chat/completions", tag = "openai", request_body = ChatRequest,
    params(
        ("X-Avocet-Session" = Option<String>, Header, description = "The session. Default: one for `user`, else one for the request"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same message"),
    ),
    responses(
        (status = 200, description = "The reply; with `stream`, as server-sent events", content((Object = "application/json"), (Object = "text/event-stream"))),
        OpenAiError,
    ),
))]
pub(crate) async fn complete(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    key: Result<IdempotencyKey, Problem>,
    headers: HeaderMap,
    body: Result<ReadRequest, Problem>,
) -> Result<Response, OpenAiError> {
    let IdempotencyKey(key) = key?;
    let request: ChatRequest = body?.parse(CHAT)?;
    let model = request.model.unwrap_or_else(|| AGENT.to_owned());
    let agent = profile_of_model(&state, &caller, &model)?;
    let named = NamedConversation {
        user: request.user.as_deref(),
        key: key.as_deref(),
        ..Default::default()
    };
    let session = ApiSession::find(&state, &caller, &headers, named).await?;
    let RequestMessages { instructions, earlier, text, files } =
        read_messages(request.messages, "messages", session.is_kept)?;
    let choice = request.tool_choice.as_ref().filter(|choice| !choice.is_null());
    let tools = read_tools(request.tools, choice)?;
    let choice = instruction_of_choice(choice, &tools);
    let instructions: Vec<String> = instructions.into_iter().chain(choice).collect();
    let program = ProgramRequest {
        agent,
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
        earlier,
        tools,
        answer_schema: read_format(request.response_format.as_ref(), "response_format")?,
    };
    let turn =
        AskedTurn::begin(state, caller, ApiQuestion { session, text, files, program, key }).await?;
    let reply = ChatReply {
        id: format!("chatcmpl-{}", turn.message),
        created: turn.created,
        model,
        has_usage: request.stream_options.is_some_and(|options| options.include_usage),
    };
    if request.stream == Some(true) {
        return Ok(stream_answer(turn, reply));
    }
    let answer = turn.finish().await?;
    Ok(Json(reply.whole_answer(&answer)).into_response())
}
