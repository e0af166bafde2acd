//! OpenAI's API "Responses".

use std::sync::Arc;

use avocet_protocol::bus::ProgramRequest;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use super::conversation::{ApiSession, ConversationName, NamedConversation};
use super::error::OpenAiError;
use super::items::{ApiItem, RequestMessages, read_messages};
use super::models::{AGENT, profile_of_model};
use super::parameters::{RESPONSES, ReadRequest};
use super::response_object::ResponseObject;
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
pub(crate) struct ResponsesRequest {
    #[cfg_attr(test, schema(value_type = Object, example = json!("count to 1")))]
    input: ResponsesInput,
    /// `avocet`, or the name of a profile.
    model: Option<String>,
    instructions: Option<String>,
    stream: Option<bool>,
    /// Continues the conversation of this user.
    user: Option<String>,
    /// Continues the conversation with this name.
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    conversation: Option<ConversationName>,
    /// Continues the conversation of this response.
    previous_response_id: Option<String>,
    #[cfg_attr(test, schema(value_type = Option<Vec<Object>>))]
    tools: Option<Vec<ApiTool>>,
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    tool_choice: Option<Value>,
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    text: Option<TextOptions>,
}

/// A text, or items of which the last is the user's or the result of a call.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ResponsesInput {
    Text(String),
    Items(Vec<ApiItem>),
}

#[derive(Debug, Deserialize)]
struct TextOptions {
    format: Option<Value>,
}

/// Ask the agent as OpenAI's API "Responses" does. The conversation is that of the header
/// `X-Avocet-Session`, of `previous_response_id`, `conversation` or `user`; else it is the
/// request's own, with the items of the request.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/responses", tag = "openai", request_body = ResponsesRequest,
    params(
        ("X-Avocet-Session" = Option<String>, Header, description = "The session. Default: that of the parameters, else one for the request"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies repetitions of the same message"),
    ),
    responses(
        (status = 200, description = "The response; with `stream`, as server-sent events", content((Object = "application/json"), (Object = "text/event-stream"))),
        OpenAiError,
    ),
))]
pub(crate) async fn create(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    key: Result<IdempotencyKey, Problem>,
    headers: HeaderMap,
    body: Result<ReadRequest, Problem>,
) -> Result<Response, OpenAiError> {
    let IdempotencyKey(key) = key?;
    let request: ResponsesRequest = body?.parse(RESPONSES)?;
    let model = request.model.unwrap_or_else(|| AGENT.to_owned());
    let agent = profile_of_model(&state, &caller, &model)?;
    let named = NamedConversation {
        user: request.user.as_deref(),
        conversation: request.conversation.as_ref(),
        previous_response: request.previous_response_id.as_deref(),
        key: key.as_deref(),
    };
    let session = ApiSession::find(&state, &caller, &headers, named).await?;
    let items = match request.input {
        ResponsesInput::Text(text) => vec![ApiItem::user(text)],
        ResponsesInput::Items(items) => items,
    };
    let RequestMessages { instructions, earlier, text, files } =
        read_messages(items, "input", session.is_kept)?;
    let choice = request.tool_choice.as_ref().filter(|choice| !choice.is_null());
    let tools = read_tools(request.tools, choice)?;
    let choice = instruction_of_choice(choice, &tools);
    let instructions: Vec<String> =
        request.instructions.into_iter().chain(instructions).chain(choice).collect();
    let format = request.text.and_then(|text| text.format);
    let program = ProgramRequest {
        agent,
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
        earlier,
        tools,
        answer_schema: read_format(format.as_ref(), "text.format")?,
    };
    let turn =
        AskedTurn::begin(state, caller, ApiQuestion { session, text, files, program, key }).await?;
    let previous = request.previous_response_id;
    let response = ResponseObject::new(turn.message, turn.created, model, previous);
    if request.stream == Some(true) {
        return Ok(stream_answer(turn, response));
    }
    let answer = turn.finish().await?;
    Ok(Json(response.whole_answer(&answer)).into_response())
}
