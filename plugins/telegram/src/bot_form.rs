//! The form of the platform's tokens, for `avocet init`. A token is a number, a colon and 35
//! characters.

use avocet_channel_kit::is_base64_url;
use avocet_protocol::channel::BotForm;

/// The characters after the colon of a token.
const SECRET: usize = 35;

pub(crate) const BOT: BotForm = BotForm {
    label: "Telegram",
    token_source: "from @BotFather on Telegram",
    token_form: "123456:ABC...",
    token_option: "telegram-token-file",
    url_option: "telegram-api-url",
    url_help: "Address of the Bot API, for a server of your own",
    is_token,
    is_like_token,
};

fn is_token(text: &str) -> bool {
    let is_secret = |secret: &str| secret.len() == SECRET && is_base64_url(secret);
    text.split_once(':').is_some_and(|(id, secret)| is_number(id) && is_secret(secret))
}

/// The secret of a token begins with `AA`, and may be pasted without the number.
fn is_like_token(text: &str) -> bool {
    let part = match text.split_once(':') {
        Some((id, secret)) if is_number(id) => return is_base64_url(secret),
        _ => text.trim_start_matches(':'),
    };
    part.len() == SECRET && part.starts_with("AA") && is_base64_url(part)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: &str = "AA-secret_bcdefghijklmnopqrstuvwxyz";

    #[test]
    fn is_token_knows_whole_tokens_only() {
        let whole = format!("4711:{PART}");
        assert!(is_token(&whole));
        let cut = &whole[..whole.len() - 1];
        let others = [
            PART,
            cut,
            "4711:AA secret_bcdefghijklmnopqrstuvwxy",
            ":AA",
            "bot1:AA",
            "hello",
            "MTIz.secret.token",
            "",
        ];
        for text in others {
            assert!(!is_token(text), "{text}");
        }
    }

    #[test]
    fn is_like_token_knows_parts_of_tokens_from_names() {
        let whole = format!("4711:{PART}");
        for text in [&whole, PART, &whole[4..], "4711:AAHdq"] {
            assert!(is_like_token(text), "{text}");
        }
        for text in ["openai", "qwen3:8b", "sk-test-1234567890", "4711:", ""] {
            assert!(!is_like_token(text), "{text}");
        }
    }
}
