//! The request body (OpenAI API reference, "Create a model response").

use avocet_protocol::model::{ImageRef, Message, ModelRequest, Reasoning, SentCall};
use avocet_protocol::tool::{ToolSpec, USE_TOOLS};
use serde::Serialize;
use serde_json::{Map, Value};

use super::phases::{has_earlier_phase, phase_of_part, phase_of_place, phase_of_state};
use crate::deferred::{PlacedTools, ToolDeferral};
use crate::openai::options::OpenAiOptions;
use crate::openai::request::data_url;
use crate::openai::thinking::is_reasoning;
use crate::repair::{RequestAdjustment, RequestAdjustments};
use crate::schema::WireSchema;

/// A request body. Serialised without a copy of its texts.
#[derive(Debug, Serialize)]
pub(in crate::openai) struct ResponsesRequest<'r> {
    model: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'r str>,
    input: Vec<InputItem<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'r>>,
    stream: bool,
    /// Always `false`: the conversation is stored only here.
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningField<'r>>,
}

#[derive(Debug, Serialize)]
struct ReasoningField<'r> {
    effort: &'r str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'r> {
    Message {
        role: &'static str,
        content: InputContent<'r>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'r str>,
    },
    FunctionCall {
        call_id: &'r str,
        name: &'r str,
        /// The name again for a tool that was loaded by a [`InputItem::ToolSearchOutput`]. The API
        /// refuses its calls otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'r str>,
        /// JSON in a string.
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'r str,
        output: &'r str,
    },
    /// A call of `use_tools` (OpenAI API, "Tool search", "Client-executed tool search").
    ToolSearchCall {
        call_id: &'r str,
        execution: &'static str,
        status: &'static str,
        arguments: &'r Map<String, Value>,
    },
    /// The tools that the call loads.
    ToolSearchOutput {
        call_id: &'r str,
        execution: &'static str,
        status: &'static str,
        tools: Vec<ResponsesTool<'r>>,
    },
    /// A reasoning item, unchanged.
    #[serde(untagged)]
    Thought(&'r Map<String, Value>),
}

/// A text, or a list of parts if it has pictures.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum InputContent<'r> {
    Text(&'r str),
    Parts(Vec<InputPart<'r>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'r> {
    InputText { text: &'r str },
    InputImage { image_url: String },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesTool<'r> {
    Function {
        name: &'r str,
        description: &'r str,
        parameters: WireSchema<'r>,
        /// Always `false`: the default, `true`, requires schemas without optional parameters.
        strict: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        defer_loading: bool,
    },
    ToolSearch {
        execution: &'static str,
        description: &'r str,
        parameters: WireSchema<'r>,
    },
}

impl<'r> ResponsesRequest<'r> {
    /// `name` is the model's name; only its own reasoning is sent back. `has_phases` is `true` if
    /// the model has sent phases since the start.
    pub(in crate::openai) fn new(
        name: &str,
        options: &'r OpenAiOptions,
        (adjustments, has_phases): (RequestAdjustments, bool),
        request: &'r ModelRequest,
    ) -> Self {
        let has_phases = !adjustments.has_adjustment(RequestAdjustment::NoPhase)
            && (has_phases || has_earlier_phase(request, name));
        let effort = options.effort_fields(request.options.effort).reasoning_effort;
        let effort = effort.filter(|_| !adjustments.has_adjustment(RequestAdjustment::NoEffort));
        let thinks = effort.is_some() || is_reasoning(&options.model);
        let tools = PlacedTools::new(request, options.deferral);
        let mut body = Self {
            model: &options.model,
            instructions: None,
            input: Vec::new(),
            tools: wire_tools(&tools, options.deferral),
            stream: options.stream && !adjustments.has_adjustment(RequestAdjustment::NoStream),
            store: false,
            include: if thinks { &["reasoning.encrypted_content"] } else { &[] },
            max_output_tokens: options.max_tokens(request.options.effort),
            temperature: options.adjusted_temperature(adjustments),
            reasoning: effort.map(|effort| ReasoningField { effort }),
        };
        for message in &request.messages {
            body.add_message(message, (name, has_phases), request, &tools);
        }
        body
    }

    fn add_message(
        &mut self,
        message: &'r Message,
        (name, has_phases): (&str, bool),
        request: &'r ModelRequest,
        tools: &PlacedTools<'r>,
    ) {
        match message {
            Message::System { text } => self.instructions = Some(text),
            Message::User { text, images } => {
                let content = with_images(text, images, request);
                self.input.push(InputItem::Message { role: "user", content, phase: None });
            }
            Message::Assistant { text, calls, reasoning } => {
                // Reasoning without a call is obsolete.
                let own = reasoning.as_ref().filter(|own| own.model == name && !calls.is_empty());
                let kept = own.and_then(|own| phase_of_state(&own.content));
                let phase = kept.unwrap_or_else(|| phase_of_place(!calls.is_empty()));
                let phase = has_phases.then_some(phase);
                self.add_step((text, phase), calls, own, tools);
            }
            Message::ToolResult { call, result, .. } => {
                self.input.push(result_item(call, result, tools));
            }
        }
    }

    /// Adds the text and the calls of a step, each after the reasoning that led to it. The API
    /// refuses a request with unused reasoning.
    fn add_step(
        &mut self,
        (text, phase): (&'r str, Option<&'r str>),
        calls: &'r [SentCall],
        own: Option<&'r Reasoning>,
        tools: &PlacedTools<'r>,
    ) {
        let content = InputContent::Text(text);
        let said = (!text.trim().is_empty()).then_some(InputItem::Message {
            role: "assistant",
            content,
            phase,
        });
        let (mut said, mut calls) =
            (said.into_iter(), calls.iter().map(|call| call_item(call, tools)));
        let mut thoughts = Vec::new();
        for part in own.and_then(|own| own.content.as_array()).into_iter().flatten() {
            let led_to = match part {
                Value::Object(thought) => {
                    thoughts.push(InputItem::Thought(thought));
                    continue;
                }
                part if phase_of_part(part).is_some() => said.next(),
                _ => calls.next(),
            };
            if let Some(led_to) = led_to {
                self.input.append(&mut thoughts);
                self.input.push(led_to);
            }
        }
        let mut rest = said.chain(calls).peekable();
        if rest.peek().is_some() {
            self.input.append(&mut thoughts);
        }
        self.input.extend(rest);
    }
}

/// The text with those of its pictures that are in the request.
fn with_images<'r>(text: &'r str, images: &[ImageRef], request: &ModelRequest) -> InputContent<'r> {
    let images = images.iter().filter_map(|image| request.images.get(image));
    let images = images.map(|image| InputPart::InputImage { image_url: data_url(image) });
    let mut parts = vec![InputPart::InputText { text }];
    parts.extend(images);
    if parts.len() == 1 { InputContent::Text(text) } else { InputContent::Parts(parts) }
}

/// The words of a search that this program runs.
const BY_US: &str = "client";
const DONE: &str = "completed";

fn call_item<'r>(call: &'r SentCall, tools: &PlacedTools<'r>) -> InputItem<'r> {
    let SentCall { id: call_id, name, arguments } = call;
    if tools.loaded_by(call_id).is_some() {
        return InputItem::ToolSearchCall { call_id, execution: BY_US, status: DONE, arguments };
    }
    let arguments = Value::Object(arguments.clone()).to_string();
    let namespace = tools.is_loaded(name).then_some(name.as_str());
    InputItem::FunctionCall { call_id, name, namespace, arguments }
}

fn result_item<'r>(call_id: &'r str, output: &'r str, tools: &PlacedTools<'r>) -> InputItem<'r> {
    match tools.loaded_by(call_id) {
        Some(loaded) => {
            let tools = loaded.iter().map(|tool| function_tool(tool, true)).collect();
            InputItem::ToolSearchOutput { call_id, execution: BY_US, status: DONE, tools }
        }
        None => InputItem::FunctionCallOutput { call_id, output },
    }
}

/// The tools at the beginning. The API takes the definitions of the others from the item that loads
/// them.
fn wire_tools<'r>(tools: &PlacedTools<'r>, deferral: ToolDeferral) -> Vec<ResponsesTool<'r>> {
    let wire = |tool: &&'r ToolSpec| match deferral {
        ToolDeferral::Native if tool.name == USE_TOOLS => ResponsesTool::ToolSearch {
            execution: BY_US,
            description: &tool.description,
            parameters: WireSchema(&tool.parameters),
        },
        _ => function_tool(tool, false),
    };
    tools.first.iter().map(wire).collect()
}

fn function_tool(tool: &ToolSpec, defer_loading: bool) -> ResponsesTool<'_> {
    let ToolSpec { name, description, parameters, .. } = tool;
    let parameters = WireSchema(parameters);
    ResponsesTool::Function { name, description, parameters, strict: false, defer_loading }
}
