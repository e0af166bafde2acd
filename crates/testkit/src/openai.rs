//! OpenAI's chat completions API on loopback. It refuses the requests that the real one refuses.

mod content;
mod quirks;
pub mod responses;
mod state;

use avocet_protocol::model::without_marks;
use serde_json::{Value, json};

use crate::answer::Spoken;
use crate::http::{HttpRequest, Piece, whole};
use crate::model_fake::{ModelApi, ModelFake, lists_models, results_at_end};
use crate::request_log::{FakeRefusal, RequestLog};

pub use crate::answer::{ModelAnswer, event, stream_head};
pub use quirks::Insists;
pub use state::InsistsOnState;

/// A server at `http://ADDRESS/v1`.
pub type OpenAiFake = ModelFake<ChatCompletionsApi>;

/// The key of a fake that requires one.
pub const KEY: &str = "sk-test-1234567890";

/// The API with any model. By default it has no list of models, and its model refuses images.
#[derive(Debug, Default)]
pub struct ChatCompletionsApi {
    insists: Option<Insists>,
    /// If set, the API requires the key, too.
    models: Option<&'static [&'static str]>,
    /// `true` if the list of models needs no key, as OpenRouter's.
    is_list_public: bool,
    images: ImageInput,
}

/// The answer of a model to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ImageInput {
    Accepted,
    #[default]
    Refused,
}

impl ModelApi for ChatCompletionsApi {
    const BASE_PATH: &'static str = "/v1";
    type Refusal = OpenAiRefusal;

    fn check(&self, request: &HttpRequest) -> Result<Value, OpenAiRefusal> {
        if self.models.is_some() {
            require_key(request)?;
        }
        let body = check(request, self.images)?;
        self.insists.map_or(Ok(()), |on| quirks::check(on, request, &body))?;
        Ok(body)
    }

    /// Lists the models (OpenAI API reference, "List models").
    fn aside(&self, request: &HttpRequest) -> Option<Vec<Piece>> {
        lists_models(request).then(|| match self.models {
            Some(models) if self.is_list_public => model_list(models),
            Some(models) => listed(request, models),
            None => whole(404, &[], ""),
        })
    }

    fn adapt(&self, request: &Value, answer: ModelAnswer) -> ModelAnswer {
        if self.insists.is_some() { quirks::unstreamed(request, answer) } else { answer }
    }

    fn events(spoken: &Spoken) -> Vec<String> {
        events(spoken)
    }
}

impl OpenAiFake {
    /// Starts like [`Self::start`], with its own requirement.
    pub async fn start_insisting(
        on: Insists,
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let api = ChatCompletionsApi { insists: Some(on), ..ChatCompletionsApi::default() };
        Self::start_with(api, RequestLog::default(), answer).await
    }

    /// Starts like [`Self::start`], requires [`KEY`] and lists its models.
    pub async fn start_listing(
        models: &'static [&'static str],
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let api = ChatCompletionsApi { models: Some(models), ..ChatCompletionsApi::default() };
        Self::start_with(api, RequestLog::default(), answer).await
    }

    /// Starts like [`Self::start_listing`], with a list that needs no key.
    pub async fn start_with_public_list(
        models: &'static [&'static str],
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let (models, is_list_public) = (Some(models), true);
        let api = ChatCompletionsApi { models, is_list_public, ..ChatCompletionsApi::default() };
        Self::start_with(api, RequestLog::default(), answer).await
    }

    /// Starts like [`Self::start`], with a model that accepts images.
    pub async fn start_with_eyes(
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let images = ImageInput::Accepted;
        let api = ChatCompletionsApi { images, ..ChatCompletionsApi::default() };
        Self::start_with(api, RequestLog::default(), answer).await
    }

    /// Starts like [`Self::start`], without recording the requests, so that memory stays constant
    /// under load.
    pub async fn start_forgetful(
        answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(ChatCompletionsApi::default(), RequestLog::of_refusals(), answer).await
    }
}

/// Returns the last user message of a request, without the agent's notes about the moment and the
/// marks that name the author in a group.
#[must_use]
pub fn last_user_text(request: &Value) -> &str {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.iter().rev().find(|message| message["role"] == "user");
    last.map(content::text).map(without_marks).unwrap_or_default()
}

/// Returns the results of the calls at the end of a request, in order.
#[must_use]
pub fn last_results(request: &Value) -> Vec<&str> {
    results_at_end(&request["messages"], |message| {
        (message["role"] == "tool").then(|| &message["content"])
    })
}

/// Returns the events of an answer.
fn events(spoken: &Spoken) -> Vec<String> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    deltas.extend(spoken.thinking().map(|word| json!({ "reasoning_content": word })));
    deltas.extend(spoken.words().map(|word| json!({ "content": word })));
    deltas.extend(call_deltas(&spoken.calls));
    let finish = if spoken.calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "fake", "choices": [], "usage": { "prompt_tokens": 12, "completion_tokens": 3 } });
    let mut events: Vec<String> = deltas.iter().map(|delta| delta_event(delta, None)).collect();
    events.push(delta_event(&json!({}), Some(finish)));
    events.push(event(&usage.to_string()));
    events.push(event("[DONE]"));
    events
}

/// Returns an event with a delta of the first choice.
#[must_use]
pub fn delta_event(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let chunk = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "fake", "choices": [choice] });
    event(&chunk.to_string())
}

/// Sends name and id first, then the arguments in two halves, like the real API.
fn call_deltas(calls: &[(String, Value)]) -> Vec<Value> {
    let mut deltas = Vec::new();
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let text = arguments.to_string();
        let (start, end) = text.split_at(text.floor_char_boundary(text.len() / 2));
        let of = |function: Value| json!({ "index": index, "function": function });
        let mut first = of(json!({ "name": name, "arguments": "" }));
        first["id"] = json!(format!("call_{index}"));
        first["type"] = json!("function");
        for call in [first, of(json!({ "arguments": start })), of(json!({ "arguments": end }))] {
            deltas.push(json!({ "tool_calls": [call] }));
        }
    }
    deltas
}

/// A refusal in the words of the real API.
#[derive(Debug)]
pub struct OpenAiRefusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The body of servers with another form of errors.
    pub(crate) body: Option<Value>,
}

impl From<OpenAiRefusal> for FakeRefusal {
    fn from(refusal: OpenAiRefusal) -> Self {
        let OpenAiRefusal { status, message, body } = refusal;
        let body = body.unwrap_or_else(|| {
            let error = json!({ "message": message, "type": "invalid_request_error",
                "param": null, "code": null });
            json!({ "error": error })
        });
        Self::new(status, "application/json", &body.to_string(), message)
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> OpenAiRefusal {
    OpenAiRefusal { status: 400, message: message.into(), body: None }
}

fn unauthorized(message: impl Into<String>) -> OpenAiRefusal {
    OpenAiRefusal { status: 401, message: message.into(), body: None }
}

pub(crate) fn wrong_url(request: &HttpRequest) -> OpenAiRefusal {
    let message = format!("Invalid URL ({} {})", request.method, request.path);
    OpenAiRefusal { status: 404, message, body: None }
}

/// Checks a request as the real API does.
fn check(request: &HttpRequest, images: ImageInput) -> Result<Value, OpenAiRefusal> {
    if request.method != "POST" || !request.path.ends_with("/v1/chat/completions") {
        return Err(wrong_url(request));
    }
    check_key(request)?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| invalid("We could not parse the JSON body of your request."))?;
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(invalid("you must provide a model parameter"));
    }
    if body["stream"] != true && !body["stream_options"].is_null() {
        return Err(invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ));
    }
    if !body["max_tokens"].is_null() && !body["max_completion_tokens"].is_null() {
        return Err(invalid(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        ));
    }
    let format = &body["response_format"];
    if !format.is_null() {
        if format["type"] != "json_schema" {
            return Err(invalid("Invalid value: 'response_format.type'."));
        }
        check_answer_schema(&format["json_schema"], "response_format.json_schema")?;
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        check_name(&tool["function"]["name"], "tools[].function.name")?;
        if tool["function"]["parameters"]["type"] != "object" {
            return Err(invalid("Invalid schema for function: schema must be of type object"));
        }
    }
    check_messages(body["messages"].as_array().map_or(&[][..], Vec::as_slice), images)?;
    Ok(body)
}

/// Checks the schema of an answer, at `place`.
pub(crate) fn check_answer_schema(format: &Value, place: &str) -> Result<(), OpenAiRefusal> {
    if format["name"].as_str().is_none() {
        return Err(invalid(format!("Missing required parameter: '{place}.name'.")));
    }
    check_name(&format["name"], &format!("{place}.name"))?;
    if !format["schema"].is_object() {
        return Err(invalid(format!("Missing required parameter: '{place}.schema'.")));
    }
    if format["strict"] == true && format["schema"]["additionalProperties"] != false {
        return Err(invalid(
            "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is \
             required to be supplied and to be false.",
        ));
    }
    Ok(())
}

/// Returns the list of models. It requires the key.
fn listed(request: &HttpRequest, models: &[&str]) -> Vec<Piece> {
    if let Err(refusal) = require_key(request) {
        return FakeRefusal::from(refusal).pieces;
    }
    model_list(models)
}

fn model_list(models: &[&str]) -> Vec<Piece> {
    let model =
        |id: &&str| json!({ "id": id, "object": "model", "created": 1, "owned_by": "fake" });
    let list = json!({ "object": "list", "data": models.iter().map(model).collect::<Vec<_>>() });
    whole(200, &[("content-type", "application/json")], &list.to_string())
}

/// Refuses a request with a missing or wrong key.
fn require_key(request: &HttpRequest) -> Result<(), OpenAiRefusal> {
    if request.header("authorization").is_none() {
        return Err(unauthorized("You didn't provide an API key."));
    }
    check_key(request)
}

/// Refuses a wrong key. A request without a key is for a local server.
pub(crate) fn check_key(request: &HttpRequest) -> Result<(), OpenAiRefusal> {
    match request.header("authorization").map(|key| key.trim_start_matches("Bearer ")) {
        Some(key) if key != KEY => Err(unauthorized(format!("Incorrect API key provided: {key}."))),
        _ => Ok(()),
    }
}

fn check_name(name: &Value, place: &str) -> Result<(), OpenAiRefusal> {
    let name = name.as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(invalid(format!(
            "Invalid '{place}': string does not match pattern. Expected a string that matches the \
             pattern '^[a-zA-Z0-9_-]+$'."
        )));
    }
    Ok(())
}

fn check_messages(messages: &[Value], images: ImageInput) -> Result<(), OpenAiRefusal> {
    if messages.is_empty() {
        return Err(invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1",
        ));
    }
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(found) = open.iter().position(|call| *call == id) else {
                return Err(invalid(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a \
                     preceeding message with 'tool_calls' (messages.[{place}].role)"
                )));
            };
            open.remove(found);
        } else if !open.is_empty() {
            return Err(invalid(unanswered(&open)));
        }
        match role {
            "system" | "developer" if place > 0 => {
                return Err(invalid("System message must be at the beginning."));
            }
            "system" | "developer" | "user" | "tool" => content::check(message, place, images)?,
            "assistant" => {
                let calls = message["tool_calls"].as_array();
                if calls.is_none() && !message["content"].is_string() {
                    return Err(invalid(format!(
                        "Invalid value for 'content': expected a string, got null. \
                         (messages.[{place}])"
                    )));
                }
                for call in calls.into_iter().flatten() {
                    check_name(&call["function"]["name"], "messages[].tool_calls[].function.name")?;
                    let arguments = call["function"]["arguments"].as_str().unwrap_or("?");
                    if !serde_json::from_str::<Value>(arguments)
                        .is_ok_and(|value| value.is_object())
                    {
                        return Err(invalid("Invalid 'arguments': not a JSON object in a string"));
                    }
                    open.push(call["id"].as_str().unwrap_or_default());
                }
            }
            other => {
                return Err(invalid(format!(
                    "Invalid value: '{other}'. Supported values are: 'system', 'assistant', \
                     'user', 'function', 'tool', and 'developer'."
                )));
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(invalid(unanswered(&open))) }
}

fn unanswered(open: &[&str]) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    )
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
