//! The request body (Gemini API reference, "GenerateContentRequest").

use std::borrow::Cow;
use std::collections::BTreeMap;

use avocet_protocol::model::{Effort, Image, ImageRef, Message, ModelRequest, Reasoning, SentCall};
use avocet_protocol::tool::ToolSpec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value};

use super::schema::convert_parameters;
use super::signatures::{AnswerSignatures, NOBODYS};
use super::thinking::{GeminiThinking, ThinkingSettings};

/// Options of all requests to a model.
#[derive(Debug)]
pub(super) struct GeminiOptions {
    pub(super) max_output_tokens: Option<u32>,
    pub(super) thinking_tokens: Option<u32>,
    pub(super) thinking: GeminiThinking,
    /// The model's own output limit.
    pub(super) most_tokens: u32,
    /// `true` if the model refuses calls without a signature.
    pub(super) wants_signatures: bool,
}

/// A model, for the signatures of its history.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedModel<'m> {
    /// `provider/model`.
    pub(super) name: &'m str,
    /// `true` if the model refuses calls without a signature.
    pub(super) wants_signatures: bool,
    /// `true` if the model refuses instructions: they precede the first message.
    pub(super) refuses_instructions: bool,
}

/// A request body. Serialised without a copy of its texts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiRequest<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTools<'r>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig,
    contents: Vec<GeminiContent<'r>>,
    /// The tool names of the calls so far, by call id, because a result repeats the name.
    #[serde(skip)]
    names: BTreeMap<&'r str, &'r str>,
}

#[derive(Debug, Serialize)]
struct SystemInstruction<'r> {
    parts: [GeminiPart<'r>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTools<'r> {
    function_declarations: Vec<FunctionDeclaration<'r>>,
}

#[derive(Debug, Serialize)]
struct FunctionDeclaration<'r> {
    name: &'r str,
    description: &'r str,
    /// `None` if the tool takes no parameters, because the API refuses an empty object.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct GeminiContent<'r> {
    role: GeminiRole,
    parts: Vec<GeminiPart<'r>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum GeminiRole {
    User,
    Model,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'r> {
    #[serde(flatten)]
    kind: PartKind<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum PartKind<'r> {
    Text(Cow<'r, str>),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'static str,
        data: String,
    },
    FunctionCall {
        id: &'r str,
        name: &'r str,
        args: &'r Map<String, Value>,
    },
    FunctionResponse {
        id: &'r str,
        name: &'r str,
        response: Map<String, Value>,
    },
}

impl<'r> GeminiRequest<'r> {
    /// `model` has the model's name; only its own signatures are sent back.
    pub(super) fn new(
        model: SignedModel<'_>,
        options: &'r GeminiOptions,
        request: &'r ModelRequest,
    ) -> Self {
        let declarations: Vec<_> = request.tools.iter().map(FunctionDeclaration::from).collect();
        let tools =
            (!declarations.is_empty()).then_some(WireTools { function_declarations: declarations });
        let mut body = Self {
            system_instruction: None,
            tools: tools.into_iter().collect(),
            generation_config: GenerationConfig::new(options, request.options.effort),
            contents: Vec::new(),
            names: BTreeMap::new(),
        };
        for message in &request.messages {
            body.convert_message(message, model, request);
        }
        body
    }

    fn convert_message(
        &mut self,
        message: &'r Message,
        model: SignedModel<'_>,
        request: &'r ModelRequest,
    ) {
        match message {
            Message::System { text } if model.refuses_instructions => {
                let instructions = text_part(text).map(|_| format!("{text}\n\n"));
                let part = instructions.map(|text| PartKind::Text(text.into()).into());
                self.add_message(GeminiRole::User, part);
            }
            Message::System { text } => {
                self.system_instruction =
                    text_part(text).map(|part| SystemInstruction { parts: [part] });
            }
            Message::User { text, images } => {
                let images = images.iter().filter_map(|image| image_part(image, request));
                self.add_message(GeminiRole::User, text_part(text).into_iter().chain(images));
            }
            Message::Assistant { text, calls, reasoning } => {
                self.names.extend(calls.iter().map(|call| (&*call.id, &*call.name)));
                self.add_message(
                    GeminiRole::Model,
                    answer_parts(text, calls, reasoning.as_ref(), model),
                );
            }
            Message::ToolResult { call, ok, result } => {
                let name = self.names.get(&**call).copied().unwrap_or("unknown");
                let response = result_as_object(*ok, result);
                let kind = PartKind::FunctionResponse { id: call, name, response };
                self.add_message(GeminiRole::User, [kind.into()]);
            }
        }
    }

    /// Joins neighbours of the same role into one content. Roles must alternate, and the results of
    /// a step stay together. Messages that steered the turn come after these results.
    fn add_message(&mut self, role: GeminiRole, parts: impl IntoIterator<Item = GeminiPart<'r>>) {
        let mut parts = parts.into_iter().peekable();
        if parts.peek().is_none() {
            return;
        }
        match self.contents.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.contents.push(GeminiContent { role, parts: parts.collect() }),
        }
    }
}

/// The parts of a model's answer with their signatures. If a required signature is missing because
/// another model made the calls, the first call gets a placeholder.
fn answer_parts<'r>(
    text: &'r str,
    calls: &'r [SentCall],
    reasoning: Option<&Reasoning>,
    model: SignedModel<'_>,
) -> Vec<GeminiPart<'r>> {
    let AnswerSignatures { text: of_text, calls: of_calls } =
        AnswerSignatures::from_reasoning(reasoning, model.name);
    let mut of_calls = of_calls.into_iter();
    let said = match of_text.filter(|_| !calls.is_empty()) {
        Some(signature) => Some(GeminiPart {
            kind: PartKind::Text(text.into()),
            thought_signature: Some(signature),
        }),
        None => text_part(text),
    };
    let mut parts: Vec<GeminiPart<'r>> = said.into_iter().collect();
    for (place, call) in calls.iter().enumerate() {
        let SentCall { id, name, arguments } = call;
        let signature = of_calls.next().flatten();
        let missing = model.wants_signatures && place == 0;
        parts.push(GeminiPart {
            kind: PartKind::FunctionCall { id, name, args: arguments },
            thought_signature: signature.or_else(|| missing.then(|| NOBODYS.to_owned())),
        });
    }
    parts
}

/// The result of a call as an object. An error is under the key `error`.
fn result_as_object(ok: bool, result: &str) -> Map<String, Value> {
    let key = if ok { "result" } else { "error" };
    match serde_json::from_str(result) {
        Ok(Value::Object(map)) if ok || map.contains_key(key) => map,
        Ok(other) => Map::from_iter([(key.to_owned(), other)]),
        Err(_) => Map::from_iter([(key.to_owned(), Value::from(result))]),
    }
}

/// A text part; `None` for a blank text, because the API refuses empty ones.
fn text_part(text: &str) -> Option<GeminiPart<'_>> {
    (!text.trim().is_empty()).then(|| PartKind::Text(text.into()).into())
}

/// A picture of the request; `None` for an unsupported type, because the API would refuse the whole
/// request.
fn image_part<'r>(image: &ImageRef, request: &ModelRequest) -> Option<GeminiPart<'r>> {
    let Image { media_type, bytes } = request.images.get(image)?;
    if *media_type == "image/gif" {
        tracing::warn!(path = image.path, "the model takes no GIF; it is not shown the picture");
        return None;
    }
    let data = STANDARD.encode(bytes);
    Some(PartKind::InlineData { mime_type: media_type, data }.into())
}

impl<'r> From<PartKind<'r>> for GeminiPart<'r> {
    fn from(kind: PartKind<'r>) -> Self {
        Self { kind, thought_signature: None }
    }
}

impl<'r> From<&'r ToolSpec> for FunctionDeclaration<'r> {
    fn from(tool: &'r ToolSpec) -> Self {
        let ToolSpec { name, description, parameters: schema, .. } = tool;
        Self { name, description, parameters: convert_parameters(schema) }
    }
}

impl GenerationConfig {
    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none() && self.thinking_config.is_none()
    }
}

impl GeminiOptions {
    /// The value of `maxOutputTokens` with this effort: the API counts reasoning as output.
    pub(super) fn max_tokens(&self, effort: Option<Effort>) -> Option<u32> {
        let room = self.thinking_settings(effort).room;
        self.max_output_tokens.map(|most| most.saturating_add(room).min(self.most_tokens.max(most)))
    }

    fn thinking_settings(&self, effort: Option<Effort>) -> ThinkingSettings {
        self.thinking.settings_for(effort, self.thinking_tokens)
    }
}

impl GenerationConfig {
    fn new(options: &GeminiOptions, effort: Option<Effort>) -> Self {
        let ThinkingSettings { budget, level, .. } = options.thinking_settings(effort);
        let thinking_config = (budget.is_some() || level.is_some())
            .then_some(ThinkingConfig { thinking_budget: budget, thinking_level: level });
        Self { max_output_tokens: options.max_tokens(effort), thinking_config }
    }
}
