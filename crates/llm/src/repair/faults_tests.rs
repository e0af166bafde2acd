use super::*;

/// Refusals in the words of the providers.
#[test]
fn fault_named_by_a_refusal_is_found_in_the_words_of_each_provider() {
    use RequestAdjustment::{
        FillReasoning, FillSignatures, NoEffort, NoExtraContent, NoPhase, NoReasoning,
        NoReasoningContent, NoReasoningDetails, NoStream, NoStreamOptions, NoTemperature,
        OtherMaxTokensField, OtherSystemRole,
    };
    let (thought, calls, other) = (Some(RequestFault::Thought), Some(RequestFault::Calls), None);
    let differs = |adjustment| Some(RequestFault::Adjustable(adjustment));
    let table = [
        // The history.
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            differs(FillReasoning),
        ),
        (
            "Missing `reasoning_content` field in the assistant message at message index 2.",
            differs(FillReasoning),
        ),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            differs(FillReasoning),
        ),
        (
            "Function call is missing a thought_signature in functionCall parts.",
            differs(FillSignatures),
        ),
        (
            "function call `x` in the 5. content block is missing a `thought_signature`.",
            differs(FillSignatures),
        ),
        ("Thought signature is not valid.", thought),
        ("Unable to submit request because Thought signature is corrupted.", thought),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", thought),
        (
            "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            thought,
        ),
        ("Expected `thinking` or `redacted_thinking`, but found `tool_use`.", thought),
        (
            "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
            thought,
        ),
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            thought,
        ),
        (
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
            thought,
        ),
        ("Item with id 'rs_1' not found.", thought),
        (
            "body.messages.2.assistant.reasoning_content: Extra inputs are not permitted",
            differs(NoReasoningContent),
        ),
        (
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
            differs(NoReasoningContent),
        ),
        (
            "body.messages.2.assistant.reasoning_details: Extra inputs are not permitted",
            differs(NoReasoningDetails),
        ),
        ("property 'reasoning' is unsupported", differs(NoReasoning)),
        ("Unrecognized key: \"extra_content\"; unknown field", differs(NoExtraContent)),
        ("Unknown parameter: 'input[1].phase'.", differs(NoPhase)),
        ("Streaming is not supported by this model.", differs(NoStream)),
        (
            "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.",
            differs(NoStream),
        ),
        (
            "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general",
            differs(NoStream),
        ),
        ("upstream mode is not supported", other),
        ("This phase is not supported", other),
        (
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
            calls,
        ),
        (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            calls,
        ),
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
            calls,
        ),
        (
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1s0c0.",
            calls,
        ),
        (
            "Please ensure that the number of function response parts is equal to the number of function call parts",
            calls,
        ),
        ("No tool call found for function call output with call_id t1s0c0.", calls),
        ("No tool output found for function call t1s0c0.", calls),
        ("Tool call id was t1s0c0 but must be a-z, A-Z, 0-9, with a length of 9.", calls),
        // The settings.
        ("Unrecognized request argument supplied: stream_options", differs(NoStreamOptions)),
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            differs(OtherMaxTokensField),
        ),
        (
            "body.max_completion_tokens: Extra inputs are not permitted",
            differs(OtherMaxTokensField),
        ),
        (
            "Unsupported value: 'temperature' does not support 0.5 with this model.",
            differs(NoTemperature),
        ),
        ("invalid temperature: only 1 is allowed for this model", differs(NoTemperature)),
        ("Unrecognized request argument supplied: reasoning_effort", differs(NoEffort)),
        (
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            differs(NoEffort),
        ),
        ("System role not supported", differs(OtherSystemRole)),
        (
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            differs(OtherSystemRole),
        ),
        (
            "Developer instruction is not enabled for models/gemma-3-27b-it",
            differs(OtherSystemRole),
        ),
        (
            "Conversation roles must alternate user/assistant/user/assistant/...",
            differs(OtherSystemRole),
        ),
        ("unknown variant `developer`, expected one of `system`, `user`", differs(OtherSystemRole)),
        // Other refusals.
        ("Your credit balance is too low", other),
        ("the model refuses to answer this (refusal)", other),
        ("max_tokens is too large: 100000. This model supports at most 8192.", other),
        ("Invalid content type. image_url is only supported by certain models.", other),
    ];
    for (says, expected) in table {
        assert_eq!(RequestFault::named_by(says), expected, "{says}");
    }
}

#[test]
fn names_missing_tools_in_the_words_of_each_server() {
    let table = [
        ("registry.ollama.ai/library/gemma3:4b does not support tools", true),
        ("this model does not support tools", true),
        (
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            true,
        ),
        ("tools param requires --jinja flag", true),
        ("No endpoints found that support tool use.", true),
        ("`tools` is not supported with this model", true),
        ("This model does not support function calling", true),
        ("Invalid schema for function: schema must be of type object", false),
        ("Invalid 'tools[0].function.name': string does not match pattern.", false),
        ("System role not supported", false),
    ];
    for (says, expected) in table {
        assert_eq!(names_missing_tools(says), expected, "{says}");
    }
}
