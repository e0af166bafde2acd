//! The form of the platform's tokens, for `avocet init`. A token has three parts; the first is the
//! bot's number in Base64, which begins with M, N or O.

use avocet_channel_kit::is_base64_url;
use avocet_protocol::channel::BotForm;

/// The fewest characters of a token.
const SHORTEST: usize = 50;

pub(crate) const BOT: BotForm = BotForm {
    label: "Discord",
    token_source: "from Discord's developer portal",
    token_form: "three parts with dots",
    token_option: "discord-token-file",
    url_option: "discord-api-url",
    url_help: "Address of Discord's API, for a server that imitates it",
    is_token,
    is_like_token,
};

fn is_token(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3
        && parts.iter().all(|part| is_base64_url(part))
        && text.starts_with(['M', 'N', 'O'])
}

/// A short text with dots is rather a name.
fn is_like_token(text: &str) -> bool {
    text.len() >= SHORTEST && is_token(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_token_knows_whole_tokens_only() {
        assert!(is_token("MTIz.secret.token"));
        for text in
            ["www.example.com", "MTIz..token", "MTIz.secret.token.more", "4711:AA", "hello", ""]
        {
            assert!(!is_token(text), "{text}");
        }
    }

    #[test]
    fn is_like_token_knows_tokens_from_names() {
        let token = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.AA-secret_bcdefghijklmnopqrstuvwxyz";
        assert!(is_like_token(token));
        assert!(!is_like_token("Meta-Llama-3.1-8B-v0.1") && !is_like_token("MTIz.secret.token"));
    }
}
