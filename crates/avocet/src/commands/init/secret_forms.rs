//! The forms of tokens and keys. An answer of a wrong form is neither sent nor shown.

use super::presets::Preset;

/// The characters after the colon of a Telegram token.
const TELEGRAM_SECRET: usize = 35;
/// The fewest characters of a Discord token.
const DISCORD_TOKEN: usize = 50;
/// The fewest characters of a key with a known beginning.
const KEY: usize = 16;
/// No name has so many letters and digits without another character.
const RANDOM: usize = 24;

/// Recognises the platform of a whole token. Those of Telegram are a number, a colon and 35
/// characters. Those of Discord have three parts; the first is the bot's number in Base64, which
/// begins with M, N or O.
pub(super) fn channel_of(token: &str) -> Option<&'static str> {
    if let Some((id, secret)) = token.split_once(':') {
        let is_token = is_number(id) && secret.len() == TELEGRAM_SECRET && is_encoded(secret);
        return is_token.then_some("telegram");
    }
    let parts: Vec<&str> = token.split('.').collect();
    let is_token = parts.len() == 3
        && parts.iter().all(|part| is_encoded(part))
        && token.starts_with(['M', 'N', 'O']);
    is_token.then_some("discord")
}

/// Returns `true` if a text seems to be the token of a bot, perhaps without its beginning or end.
pub(super) fn is_like_token(text: &str) -> bool {
    let part = match text.split_once(':') {
        Some((id, secret)) if is_number(id) => return !secret.is_empty() && is_encoded(secret),
        _ => text.trim_start_matches(':'),
    };
    let is_telegram = part.len() == TELEGRAM_SECRET && part.starts_with("AA") && is_encoded(part);
    is_telegram || text.len() >= DISCORD_TOKEN && channel_of(text) == Some("discord")
}

/// Returns `true` if a text seems to be a key or a token, and not a name.
pub(super) fn is_like_secret(text: &str) -> bool {
    let is_random = |run: &str| {
        let has = |is: fn(&u8) -> bool| run.bytes().any(|byte| is(&byte));
        run.len() >= RANDOM && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    };
    is_like_token(text)
        || text.len() >= KEY && Preset::of_key(text).is_some()
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns `true` for characters of Base64 in URLs.
fn is_encoded(text: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "AA-secret_bcdefghijklmnopqrstuvwxyz";

    #[test]
    fn channel_of_knows_whole_tokens_only() {
        let whole = format!("4711:{SECRET}");
        let table = [
            (whole.as_str(), Some("telegram")),
            ("MTIz.secret.token", Some("discord")),
            (SECRET, None),
            (&whole[..whole.len() - 1], None),
            ("4711:AA secret_bcdefghijklmnopqrstuvwxy", None),
            (":AA", None),
            ("bot1:AA", None),
            ("hello", None),
            ("www.example.com", None),
            ("MTIz..token", None),
            ("MTIz.secret.token.more", None),
            ("", None),
        ];
        for (token, expected) in table {
            assert_eq!(channel_of(token), expected, "{token}");
        }
    }

    #[test]
    fn is_like_secret_knows_keys_and_tokens_from_names() {
        let discord = format!("MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.{SECRET}");
        let whole = format!("4711:{SECRET}");
        let secrets = [
            whole.as_str(),
            SECRET,
            &whole[4..],
            "4711:AAHdq",
            &discord,
            "sk-test-1234567890",
            "0123456789abcdef0123456789abcdef",
        ];
        for secret in secrets {
            assert!(is_like_secret(secret), "{secret}");
        }
        let names = [
            "openai",
            "claude-sonnet-4-5-20250929",
            "qwen3:8b",
            "accounts/fireworks/models/deepseek-v3p1",
            "Meta-Llama-3.1-8B-v0.1",
            "Meta-Llama-3-8B-Instruct-GGUF-Q4_K_M",
            "xai-grok",
            "",
        ];
        for name in names {
            assert!(!is_like_secret(name), "{name}");
        }
    }
}
