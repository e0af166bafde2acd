use avocet_protocol::model::{Effort::High, Effort::Low, Effort::Medium, Effort::Off};
use serde_json::{Value, json};

use super::*;

fn fields(model: &str, host: &str, effort: Option<Effort>) -> Value {
    json!(ThinkingWire::from_model_and_host(model, host).effort_fields(effort, Some("xhigh")))
}

#[test]
fn thinking_fields_are_those_that_a_model_at_a_server_accepts() {
    let (openai, local) = ("api.openai.com", "127.0.0.1:8000");
    let word = |word: &str| json!({ "reasoning_effort": word });
    let table = [
        ("gpt-5", openai, Off, word("minimal")),
        ("gpt-5-mini", openai, Low, word("low")),
        ("gpt-5-pro", openai, Off, word("high")),
        ("gpt-5.2-pro", openai, Low, word("medium")),
        ("gpt-5.1", openai, Off, word("none")),
        ("gpt-5.6-2026-07-09", openai, High, word("high")),
        ("gpt-5.1-codex-max", openai, Off, word("low")),
        ("o4-mini", openai, Off, word("low")),
        ("gpt-4.1", openai, High, json!({})),
        ("gpt-5.1-chat-latest", openai, High, json!({})),
        ("openai/gpt-5.1", "openrouter.ai", Medium, word("medium")),
        ("z-ai/glm-4.6", "openrouter.ai", Off, word("none")),
        ("openai/gpt-oss-20b", local, Off, word("low")),
        (
            "Qwen/Qwen3-8B",
            local,
            Off,
            json!({ "chat_template_kwargs": { "enable_thinking": false } }),
        ),
        ("qwen3:8b", local, High, json!({ "chat_template_kwargs": { "enable_thinking": true } })),
        ("deepseek-v3.1", local, Low, json!({ "chat_template_kwargs": { "thinking": true } })),
        ("deepseek-chat", "api.deepseek.com", Off, json!({ "thinking": { "type": "disabled" } })),
        ("glm-4.6", "api.z.ai", High, json!({ "thinking": { "type": "enabled" } })),
        ("qwen-plus", "dashscope.aliyuncs.com", Off, json!({ "enable_thinking": false })),
        ("kimi-k3", "api.moonshot.ai", Off, word("low")),
        ("kimi-k3", "api.moonshot.ai", Low, word("low")),
        ("kimi-k3.1-pro", "api.moonshot.cn", Medium, word("high")),
        ("moonshotai/Kimi-K3", local, High, word("max")),
        ("moonshotai/kimi-k3", "openrouter.ai", Medium, word("medium")),
        ("kimi-k2-thinking", "api.moonshot.ai", Off, json!({})),
        ("kimi-k2.7-code", "api.moonshot.ai", High, json!({})),
        ("kimi-k2.6", "api.moonshot.ai", Off, json!({ "thinking": { "type": "disabled" } })),
        ("some-model", local, Off, word("none")),
        ("some-model", "notz.ai", High, word("high")),
    ];
    for (model, host, effort, expected) in table {
        assert_eq!(fields(model, host, Some(effort)), expected, "{model} at {host}");
        // The operator's word, for requests without an effort, is sent unchanged.
        assert_eq!(fields(model, host, None), word("xhigh"), "{model}");
    }
}

#[test]
fn thinking_room_is_for_models_that_think() {
    let host = "api.openai.com";
    let table = [
        ("gpt-4.1", Some(High), None, 0),
        ("gpt-5", Some(Off), None, 0),
        ("gpt-5-pro", Some(Off), None, 32_768),
        ("gpt-5", Some(Low), None, 4096),
        ("gpt-5", None, None, 16_384),
        ("gpt-5", None, Some("minimal"), 0),
        ("gpt-5.2", None, Some("xhigh"), 32_768),
        ("some-model", None, None, 0),
        ("kimi-k3", Some(High), None, 32_768),
        ("kimi-k2-thinking", Some(Off), None, 32_768),
        ("some-model", Some(High), None, 32_768),
    ];
    for (model, effort, configured, expected) in table {
        let room = ThinkingWire::from_model_and_host(model, host).thinking_room(effort, configured);
        assert_eq!(room, expected, "{model} {effort:?} {configured:?}");
    }
}
