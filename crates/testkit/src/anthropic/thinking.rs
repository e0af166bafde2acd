//! The signed thoughts of a model before a tool call. They are accepted only unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{AnthropicRefusal, MODEL, THINKER, invalid};
use crate::model_fake::unknown_field;

/// Returns the signature of a thought.
#[must_use]
pub fn signature(thinking: &str) -> String {
    // FNV-1a: sufficient to detect a changed text.
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    STANDARD.encode(format!("{SIGNED}{hash:016x}"))
}

/// Returns an encrypted thought.
#[must_use]
pub fn redacted(thinking: &str) -> Value {
    let data = STANDARD.encode(format!("{SEALED}{thinking}"));
    json!({ "type": "redacted_thinking", "data": data })
}

const SIGNED: &str = "signed:";
const SEALED: &str = "sealed:";

/// Checks that a model takes this form of thinking.
pub(super) fn check_form(
    model: &str,
    thinking: &Value,
    output: &Value,
) -> Result<(), AnthropicRefusal> {
    let kind = thinking["type"].as_str();
    let effort = &output["effort"];
    if model == MODEL {
        return match kind {
            Some("adaptive") => Err(invalid("adaptive thinking is not supported on this model")),
            _ if !effort.is_null() => {
                Err(invalid("This model does not support the effort parameter."))
            }
            _ => Ok(()),
        };
    }
    let refused = match kind {
        Some("enabled") => kind,
        Some("disabled") if model == THINKER => kind,
        _ => None,
    };
    if let Some(kind) = refused {
        return Err(invalid(format!(
            "\"thinking.type.{kind}\" is not supported for this model. Use \
             \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."
        )));
    }
    match effort.as_str() {
        None if effort.is_null() => Ok(()),
        Some("low" | "medium" | "high" | "xhigh" | "max") => Ok(()),
        _ => Err(invalid(
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        )),
    }
}

fn check_display(thinking: &Value) -> Result<(), AnthropicRefusal> {
    if let Some(other) = unknown_field(thinking, &["type", "display"]) {
        return Err(invalid(format!("thinking.adaptive.{other}: Extra inputs are not permitted")));
    }
    match thinking["display"].as_str() {
        None | Some("omitted" | "summarized") => Ok(()),
        Some(_) => {
            Err(invalid("thinking.adaptive.display: Input should be 'omitted' or 'summarized'"))
        }
    }
}

/// Checks the thinking budget. `most` is the token limit of the whole answer.
pub(super) fn check_budget(thinking: &Value, most: u64) -> Result<(), AnthropicRefusal> {
    match thinking["type"].as_str() {
        None | Some("disabled") => return Ok(()),
        Some("adaptive") => return check_display(thinking),
        Some("enabled") => {}
        Some(other) => {
            return Err(invalid(format!(
                "thinking: Input tag '{other}' found using 'type' does not match any of the \
                 expected tags: 'adaptive', 'disabled', 'enabled'"
            )));
        }
    }
    let budget = thinking["budget_tokens"].as_u64();
    let budget = budget.ok_or_else(|| invalid("thinking.enabled.budget_tokens: Field required"))?;
    if budget < 1024 {
        return Err(invalid(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ));
    }
    if budget >= most {
        return Err(invalid("`max_tokens` must be greater than `thinking.budget_tokens`."));
    }
    Ok(())
}

/// Checks one thought.
pub(super) fn check(block: &Value, here: &str) -> Result<(), AnthropicRefusal> {
    let is_ours = |text: &str, mark: &str| {
        STANDARD.decode(text).is_ok_and(|bytes| bytes.starts_with(mark.as_bytes()))
    };
    if block["type"] == "redacted_thinking" {
        return match block["data"].as_str() {
            None => Err(invalid(format!("{here}.redacted_thinking.data: Field required"))),
            Some(data) if is_ours(data, SEALED) => Ok(()),
            Some(_) => Err(invalid(format!("{here}: Invalid `data` in `redacted_thinking` block"))),
        };
    }
    if !block["thinking"].is_string() {
        return Err(invalid(format!("{here}.thinking.thinking: Field required")));
    }
    match block["signature"].as_str() {
        None => Err(invalid(format!("{here}.thinking.signature: Field required"))),
        Some(signature) if is_ours(signature, SIGNED) => Ok(()),
        Some(_) => Err(invalid(format!("{here}: Invalid `signature` in `thinking` block"))),
    }
}

/// Checks the position and the signatures of thoughts in an assistant's message.
pub(super) fn check_order(
    blocks: &[Value],
    place: usize,
    is_latest: bool,
) -> Result<(), AnthropicRefusal> {
    let is_thought =
        |block: &Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    let Some(number) = blocks.iter().position(is_thought) else { return Ok(()) };
    if number > 0 {
        return Err(invalid(format!(
            "messages.{place}.content.0: If an assistant message contains any thinking blocks, the \
             first block must be `thinking` or `redacted_thinking`. Found `{}`.",
            blocks[0]["type"].as_str().unwrap_or_default()
        )));
    }
    if blocks.last().is_some_and(is_thought) {
        return Err(invalid(format!(
            "messages.{place}: The final block in an assistant message cannot be `thinking`."
        )));
    }
    let is_changed = |block: &Value| {
        block["type"] == "thinking"
            && block["signature"] != signature(block["thinking"].as_str().unwrap_or_default())
    };
    match blocks.iter().position(is_changed) {
        None => Ok(()),
        Some(number) if is_latest => Err(invalid(format!(
            "messages.{place}.content.{number}: `thinking` or `redacted_thinking` blocks in the \
             latest assistant message cannot be modified. These blocks must remain as they were in \
             the original response."
        ))),
        Some(number) => Err(invalid(format!(
            "messages.{place}.content.{number}: Invalid `signature` in `thinking` block"
        ))),
    }
}
