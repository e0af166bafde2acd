//! Patterns of well-known API keys: the one list for all code that detects leaked keys.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// Names and patterns. Each pattern uses a format that the issuer guarantees, so that ordinary text
/// does not match. The first match at a position wins.
const SHAPES: [(&str, &str); 29] = [
    (
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z0-9 ]*-----)?",
    ),
    ("age key", r"(?i)AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    ("AWS key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    (
        "AWS secret key",
        r#"(?i)aws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}\b"#,
    ),
    ("GitHub token", r"\bgh[oprsu]_[A-Za-z0-9]{36,}"),
    ("GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    ("GitLab token", r"\bgl(?:pat|agent|cbt|dt|ffct|ft|imt|oas|ptt|rt|soat)-[A-Za-z0-9_-]{20,}"),
    ("Slack token", r"\bxox[abceoprs]-[A-Za-z0-9-]{10,}"),
    ("Slack token", r"\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+"),
    (
        "Slack webhook",
        r"\bhooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9/]+",
    ),
    ("Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("webhook secret", r"\bwhsec_[A-Za-z0-9+/]{24,}"),
    ("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    ("OpenRouter key", r"\bsk-or-v1-[0-9a-f]{32,}"),
    ("OpenAI key", r"\bsk-(?:admin|proj|svcacct)-[A-Za-z0-9_-]{20,}"),
    ("OpenAI key", r"\bsk-[A-Za-z0-9]{32,}"),
    ("Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Google token", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    ("Google secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    // In a URL it follows `bot`.
    ("Telegram token", r"[0-9]{8,11}:AA[A-Za-z0-9_-]{32,34}"),
    ("Discord token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    ("Discord webhook", r"\bdiscord(?:app)?\.com/api/webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{40,}"),
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}"),
    ("PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{40,}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("Groq key", r"\bgsk_[A-Za-z0-9]{40,}"),
    ("authorisation", r"(?i)\b(?:bearer|basic)[ \t]+[A-Za-z0-9._~+/-]{20,}=*"),
    ("password in a URL", r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{0,64}:[^\s/@?#]{3,128}@"),
];

static COMPILED: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let compiled =
        SHAPES.iter().map(|(name, pattern)| match Regex::new(&format!("(?-u){pattern}")) {
            Ok(regex) => (*name, regex),
            Err(error) => panic!("a pattern is written in the source: {error}"),
        });
    compiled.collect()
});

/// Returns the name and range of each text that has the shape of a key.
pub(crate) fn shapes_in(
    bytes: &[u8],
) -> impl Iterator<Item = (&'static str, std::ops::Range<usize>)> {
    COMPILED
        .iter()
        .flat_map(move |(name, regex)| regex.find_iter(bytes).map(|found| (*name, found.range())))
}
