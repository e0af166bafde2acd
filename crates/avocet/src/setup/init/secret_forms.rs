//! The forms of tokens and keys. An answer of a wrong form is neither sent nor shown.

use super::known_bots::KnownBots;
use super::presets::Preset;

/// The fewest characters of a key with a known beginning.
const KEY: usize = 16;
/// No name has so many letters and digits without another character.
const RANDOM: usize = 24;

/// Returns `true` if a text seems to be a key or a token, and not a name.
pub(super) fn is_like_secret(bots: &KnownBots, text: &str) -> bool {
    let is_random = |run: &str| {
        let has = |is: fn(&u8) -> bool| run.bytes().any(|byte| is(&byte));
        run.len() >= RANDOM && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    };
    bots.has_token_like(text)
        || text.len() >= KEY && Preset::of_key(text).is_some()
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
}

#[cfg(test)]
mod tests {
    use super::super::registered_bots;
    use super::*;

    const SECRET: &str = "AA-secret_bcdefghijklmnopqrstuvwxyz";

    #[test]
    fn is_like_secret_knows_keys_and_tokens_from_names() {
        let bots = registered_bots();
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
            assert!(is_like_secret(&bots, secret), "{secret}");
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
            assert!(!is_like_secret(&bots, name), "{name}");
        }
    }
}
