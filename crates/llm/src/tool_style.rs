//! The settings for calls that models write as text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way in which a provider's models call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolStyle {
    /// Through the provider's API. A call that is written as text is handled according to
    /// [`TextCalls`].
    #[default]
    Native,
    /// By the model's server or the list of well-known models, otherwise through the API.
    /// Commands in a code block may have the names that tools have in other agents.
    Auto,
    /// No calls: no tools are offered.
    None,
    /// Between `<|tools_prefix|>` and `<|tools_suffix|>`, for Apertus.
    Apertus,
    /// Between `<|START_ACTION|>` and `<|END_ACTION|>`, for Cohere.
    Cohere,
    /// Between `<｜tool▁calls▁begin｜>` and `<｜tool▁calls▁end｜>`, for DeepSeek.
    Deepseek,
    /// After `<start_function_call>`, for FunctionGemma.
    Gemma,
    /// Pairs of `<arg_key>` and `<arg_value>`, for GLM.
    Glm,
    /// Messages to `functions.NAME`, for gpt-oss.
    Harmony,
    /// JSON in `<tool_call>`, for Hermes and Qwen.
    Hermes,
    /// Pairs of `<arg_key>` and `<arg_value>` in `<tool_calls>`, for Hunyuan.
    Hunyuan,
    /// JSON after `<|content_invoke_tool_json|>`, for Inkling.
    Inkling,
    /// JSON in a code fence: the best guess for an unknown model.
    Json,
    /// Between `<|tool_calls_section_begin|>` and `<|tool_calls_section_end|>`, for Kimi.
    Kimi,
    /// Python calls between `<|tool_call_start|>` and `<|tool_call_end|>`, for LFM2.
    Lfm,
    /// JSON after `<|python_tag|>`, for Llama.
    Llama,
    /// In `<longcat_tool_call>`, for LongCat.
    Longcat,
    /// `<invoke>` in `<minimax:tool_call>`, for MiniMax.
    Minimax,
    /// JSON after `[TOOL_CALLS]`, for Mistral.
    Mistral,
    /// Python calls in `<function_calls>`, for Olmo 3.
    Olmo,
    /// `<function=NAME>` in `<tool_call>`, for Qwen3-Coder.
    Qwen,
    /// Lines with `Action:` and `Action Input:`.
    React,
    /// `<function=NAME>` in `<seed:tool_call>`, for Seed-OSS.
    Seed,
    /// Commands in a code fence.
    Shell,
    /// XML tags: `<tool_use>`.
    Xml,
}

/// The handling of a call that a model with native calls writes as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextCalls {
    /// The call runs like a native call.
    Run,
    /// The text is a call if it ends the reply and is not framed as an example or a question. An
    /// owner is asked before the call runs, unless it only reads. Otherwise it is plain text.
    #[default]
    Ask,
    /// The call is plain text.
    Ignore,
}
