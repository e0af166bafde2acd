//! The request body (Anthropic API reference, "Create a Message").

use avocet_protocol::model::{
    Effort, Image, ImageRef, Message, Messages, ModelRequest, Reasoning, SentCall,
};
use avocet_protocol::tool::ToolSpec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value};

use super::answer::SAID;
use super::thinking::{OutputConfig, RequestThinking, ThinkingField, ThinkingForm};
use crate::deferred::{PlacedTools, ToolDeferral};
use crate::schema::WireSchema;

/// Maximum bytes of a picture: the API allows 5 MB of base64.
pub(super) const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Options of all requests to a model.
#[derive(Debug)]
pub(super) struct AnthropicOptions {
    /// The endpoint's name for the model.
    pub(super) model: String,
    pub(super) max_tokens: u32,
    /// The configured tokens for thinking, for requests without an effort.
    pub(super) thinking_tokens: Option<u32>,
    /// The form of thinking that the model takes.
    pub(super) form: ThinkingForm,
    /// Maximum of both together.
    pub(super) most_tokens: u32,
    /// `true` if the provider caches the beginning of the conversation.
    pub(super) caching: bool,
    pub(super) deferral: ToolDeferral,
}

/// A request body. Serialised without a copy of its texts.
#[derive(Debug, Serialize)]
pub(super) struct AnthropicRequest<'r> {
    model: &'r str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<ContentBlock<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'r>>,
    messages: Vec<AnthropicMessage<'r>>,
}

#[derive(Debug, Serialize)]
struct AnthropicMessage<'r> {
    role: AnthropicRole,
    content: Vec<ContentBlock<'r>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum AnthropicRole {
    User,
    Assistant,
}

/// A content block. With `cache_control`, the provider caches everything up to it.
#[derive(Debug, Serialize)]
struct ContentBlock<'r> {
    #[serde(flatten)]
    kind: BlockKind<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockKind<'r> {
    Text {
        text: &'r str,
    },
    Image {
        source: WireImage,
    },
    ToolUse {
        id: &'r str,
        name: &'r str,
        input: &'r Map<String, Value>,
    },
    ToolResult {
        tool_use_id: &'r str,
        content: ResultContent<'r>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A reasoning block, unchanged.
    #[serde(untagged)]
    Thought(&'r Map<String, Value>),
}

/// A text, or references to deferred tools, whose definitions the API inserts here (Anthropic API,
/// "Tool search tool", "Custom tool search implementation").
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ResultContent<'r> {
    Text(&'r str),
    Tools(Vec<ToolReference<'r>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "tool_reference")]
struct ToolReference<'r> {
    tool_name: &'r str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "base64")]
struct WireImage {
    media_type: &'static str,
    data: String,
}

#[derive(Debug, Serialize)]
struct AnthropicTool<'r> {
    name: &'r str,
    description: &'r str,
    input_schema: WireSchema<'r>,
    /// `true` if the model gets the tool by a reference only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

impl AnthropicOptions {
    /// The value of `max_tokens` with this room for thinking.
    pub(super) fn max_tokens(&self, room: u32) -> u32 {
        self.max_tokens.saturating_add(room).min(self.most_tokens)
    }

    /// The thinking of a request with this effort. A quarter of the output limit stays reserved for
    /// the answer.
    pub(super) fn thinking_for(&self, effort: Option<Effort>) -> RequestThinking {
        self.form.request_thinking(effort, self.thinking_tokens, self.most_tokens / 4 * 3)
    }
}

impl<'r> AnthropicRequest<'r> {
    /// `name` is the model's name; only its own reasoning is sent back.
    pub(super) fn new(
        name: &str,
        options: &'r AnthropicOptions,
        request: &'r ModelRequest,
    ) -> Self {
        let asked = options.thinking_for(request.options.effort);
        let has_budget = matches!(asked.thinking, Some(ThinkingField::Enabled { .. }));
        let is_allowed = !has_budget || may_think(&request.messages, name);
        let RequestThinking { thinking, output_config, room } =
            if is_allowed { asked } else { RequestThinking::default() };
        let tools = PlacedTools::new(request, options.deferral);
        let mut body = Self {
            model: &options.model,
            max_tokens: options.max_tokens(room),
            stream: true,
            thinking,
            output_config,
            system: Vec::new(),
            tools: wire_tools(&tools),
            messages: Vec::new(),
        };
        for message in &request.messages {
            body.convert_message(message, name, options, request, &tools);
        }
        if options.caching {
            body.mark_for_caching();
        }
        body
    }

    fn convert_message(
        &mut self,
        message: &'r Message,
        name: &str,
        options: &AnthropicOptions,
        request: &'r ModelRequest,
        tools: &PlacedTools<'r>,
    ) {
        match message {
            Message::System { text } => self.system.extend(text_block(text)),
            Message::User { text, images } => {
                let images = images.iter().filter_map(|image| image_block(image, request));
                self.add_message(AnthropicRole::User, text_block(text).into_iter().chain(images));
            }
            Message::Assistant { text, calls, reasoning } => {
                let takes_back = self.thinking.is_some() || options.form.takes_thoughts_back();
                let own = reasoning.as_ref().filter(|own| takes_back && own.model == name);
                self.add_message(AnthropicRole::Assistant, step_blocks(text, calls, own));
            }
            Message::ToolResult { call, ok, result } => {
                let (tool_use_id, is_error) = (call, !ok);
                let content = result_content(result, tools.loaded_by(call).unwrap_or_default());
                let kind = BlockKind::ToolResult { tool_use_id, content, is_error };
                self.add_message(AnthropicRole::User, [kind.into()]);
            }
        }
    }

    /// Joins neighbours of the same role into one message. The API requires that for the results of
    /// a step. Messages that steered the turn come after these results.
    fn add_message(
        &mut self,
        role: AnthropicRole,
        blocks: impl IntoIterator<Item = ContentBlock<'r>>,
    ) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => self.messages.push(AnthropicMessage { role, content: blocks.collect() }),
        }
    }

    /// Marks the part that the next request repeats: the tools, the instructions, and the
    /// conversation without its newest message. The API refuses a mark at a deferred tool.
    fn mark_for_caching(&mut self) {
        let before_newest = self.messages.len().checked_sub(2);
        let history = before_newest.and_then(|place| self.messages[place].content.last_mut());
        for block in self.system.last_mut().into_iter().chain(history) {
            block.cache_control = Some(CacheControl::Ephemeral);
        }
        if let Some(tool) = self.tools.iter_mut().rfind(|tool| !tool.defer_loading) {
            tool.cache_control = Some(CacheControl::Ephemeral);
        }
    }
}

/// The blocks of an answer: its text and its calls, each after the thoughts that led to it.
fn step_blocks<'r>(
    text: &'r str,
    calls: &'r [SentCall],
    own: Option<&'r Reasoning>,
) -> Vec<ContentBlock<'r>> {
    let (mut text, mut calls) = (text_block(text), calls.iter().map(call_block));
    let (mut blocks, mut thoughts) = (Vec::new(), Vec::new());
    for part in own.and_then(|own| own.content.as_array()).into_iter().flatten() {
        let led_to = match part {
            Value::Object(thought) => {
                thoughts.push(BlockKind::Thought(thought).into());
                continue;
            }
            part if part == SAID => text.take(),
            _ => calls.next(),
        };
        if let Some(led_to) = led_to {
            blocks.append(&mut thoughts);
            blocks.push(led_to);
        }
    }
    let mut rest = text.into_iter().chain(calls).peekable();
    // The API refuses a thought at the end.
    if rest.peek().is_some() {
        blocks.append(&mut thoughts);
    }
    blocks.extend(rest);
    blocks
}

/// Returns `true` if the model may think in this request. In the middle of a sequence of calls, the
/// API requires reasoning before the first call. It is missing if another model made the call, or
/// if thinking was off.
fn may_think(messages: &Messages, name: &str) -> bool {
    let is_result = |message: &Message| matches!(message, Message::ToolResult { .. });
    let begins = |place: &usize| {
        matches!(messages[*place], Message::User { .. })
            && place.checked_sub(1).is_none_or(|before| !is_result(&messages[before]))
    };
    let asked = (0..messages.len()).rev().find(begins);
    match asked.and_then(|asked| messages.get(asked + 1)) {
        Some(Message::Assistant { reasoning, .. }) => {
            own_reasoning_blocks(reasoning.as_ref(), name).next().is_some()
        }
        _ => true,
    }
}

/// The reasoning blocks of the model with this name, unchanged.
fn own_reasoning_blocks<'r>(
    reasoning: Option<&'r Reasoning>,
    name: &str,
) -> impl Iterator<Item = ContentBlock<'r>> {
    let own = reasoning.filter(|reasoning| reasoning.model == name);
    let blocks = own.and_then(|reasoning| reasoning.content.as_array()).into_iter().flatten();
    blocks.filter_map(Value::as_object).map(|block| BlockKind::Thought(block).into())
}

impl<'r> From<BlockKind<'r>> for ContentBlock<'r> {
    fn from(kind: BlockKind<'r>) -> Self {
        Self { kind, cache_control: None }
    }
}

/// A text block; `None` for a blank text, because the API refuses it.
fn text_block(text: &str) -> Option<ContentBlock<'_>> {
    (!text.trim().is_empty()).then(|| BlockKind::Text { text }.into())
}

/// A picture of the request; `None` if it is too large, because the API would refuse the whole
/// request.
fn image_block<'r>(image: &ImageRef, request: &ModelRequest) -> Option<ContentBlock<'r>> {
    let Image { media_type, bytes } = request.images.get(image)?;
    if bytes.len() > MAX_IMAGE_BYTES {
        tracing::warn!(path = image.path, "a picture is too large to be shown to the model");
        return None;
    }
    let source = WireImage { media_type, data: STANDARD.encode(bytes) };
    Some(BlockKind::Image { source }.into())
}

fn call_block(call: &SentCall) -> ContentBlock<'_> {
    let SentCall { id, name, arguments } = call;
    BlockKind::ToolUse { id, name, input: arguments }.into()
}

fn wire_tools<'r>(tools: &PlacedTools<'r>) -> Vec<AnthropicTool<'r>> {
    let first = tools.first.iter().map(|tool| wire_tool(tool, false));
    first.chain(tools.deferred.iter().map(|tool| wire_tool(tool, true))).collect()
}

fn wire_tool(tool: &ToolSpec, defer_loading: bool) -> AnthropicTool<'_> {
    let ToolSpec { name, description, parameters, .. } = tool;
    let input_schema = WireSchema(parameters);
    AnthropicTool { name, description, input_schema, defer_loading, cache_control: None }
}

fn result_content<'r>(text: &'r str, loaded: &[&'r ToolSpec]) -> ResultContent<'r> {
    if loaded.is_empty() {
        return ResultContent::Text(text);
    }
    let references = loaded.iter().map(|tool| ToolReference { tool_name: &tool.name });
    ResultContent::Tools(references.collect())
}
