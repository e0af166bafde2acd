use super::*;

#[test]
fn refusal_is_lasting_by_its_status_and_words() {
    let credit = "Your credit balance is too low to access the Anthropic API.";
    let table = [
        (402, "", "Insufficient Balance", true),
        (404, "", "model 'llama0' not found", true),
        (404, "", "No endpoints found that support image input", false),
        (429, "insufficient_quota", "You exceeded your current quota", true),
        (429, "billing_not_active", "Your account is not active", true),
        (429, "rate_limit_exceeded", "slow down", false),
        (400, "", credit, true),
        (400, "", "messages: roles must alternate", false),
        (500, "", "oops", false),
    ];
    for (status, code, says, lasting) in table {
        assert_eq!(is_lasting(status, code, says), lasting, "{status} {says}");
    }
}

/// The words of the vendors of 2026 for a request that is too long, and words that mean something else.
#[test]
fn is_about_length_knows_the_words_of_every_vendor() {
    for says in [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Invalid request: Your request exceeded model token limit: 8192",
        "Prompt exceeds max length",
        "Range of input length should be [1, 30720]",
        "invalid params, context window exceeds limit (2013)",
        "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
        "prompt tokens too long",
        "Total tokens of image and text exceed max message tokens.",
        "Input is too long for requested model.",
        "prompt token count of 130000 exceeds the limit of 128000",
        "Please reduce the length of the messages or completion.",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        "the request exceeds the available context size, try increasing it",
        "Trying to keep the first 9000 tokens when context the overflows.",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    ] {
        assert!(is_about_length(says, ""), "{says}");
    }
    assert!(is_about_length("Request body too large for gpt-4o model.", "tokens_limit_reached"));
    for says in [
        "You exceeded your current quota, please check your plan",
        "Rate limit reached for tokens per minute (TPM): Limit 6000, Requested 8000",
        "max_tokens must be less than 8192",
        "messages.0.content: field required",
        "image exceeds 5 MB maximum",
    ] {
        assert!(!is_about_length(says, ""), "{says}");
    }
}
