//! Patterns of well-known API keys: the one list for all code that detects leaked keys.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

/// The shape of a kind of key.
struct KeyShape {
    name: &'static str,
    /// Each match contains one of these, in any case. Texts without them are not searched.
    hints: &'static [&'static str],
    pattern: &'static str,
    /// Compiled for the first text with a hint, since most shapes never occur.
    compiled: OnceLock<Regex>,
}

impl KeyShape {
    const fn new(
        name: &'static str,
        hints: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self { name, hints, pattern, compiled: OnceLock::new() }
    }

    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| match Regex::new(&format!("(?-u){}", self.pattern)) {
            Ok(regex) => regex,
            Err(error) => panic!("a pattern is written in the source: {error}"),
        })
    }
}

/// Each pattern uses a format that the issuer guarantees, so that ordinary text
/// does not match. The first match at a position wins.
static SHAPES: [KeyShape; 29] = [
    KeyShape::new(
        "private key",
        &["-----BEGIN "],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z0-9 ]*-----)?",
    ),
    KeyShape::new("age key", &["AGE-SECRET-KEY-1"], r"(?i)AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    KeyShape::new(
        "AWS key",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    ),
    KeyShape::new(
        "AWS secret key",
        &["aws"],
        r#"(?i)aws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}\b"#,
    ),
    KeyShape::new(
        "GitHub token",
        &["gho_", "ghp_", "ghr_", "ghs_", "ghu_"],
        r"\bgh[oprsu]_[A-Za-z0-9]{36,}",
    ),
    KeyShape::new("GitHub token", &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    KeyShape::new(
        "GitLab token",
        &[
            "glpat-", "glagent-", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-", "gloas-",
            "glptt-", "glrt-", "glsoat-",
        ],
        r"\bgl(?:pat|agent|cbt|dt|ffct|ft|imt|oas|ptt|rt|soat)-[A-Za-z0-9_-]{20,}",
    ),
    KeyShape::new("Slack token", &["xox"], r"\bxox[abceoprs]-[A-Za-z0-9-]{10,}"),
    KeyShape::new("Slack token", &["xapp-"], r"\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+"),
    KeyShape::new(
        "Slack webhook",
        &["hooks.slack.com/"],
        r"\bhooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9/]+",
    ),
    KeyShape::new("Stripe key", &["k_live_", "k_test_"], r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    KeyShape::new("webhook secret", &["whsec_"], r"\bwhsec_[A-Za-z0-9+/]{24,}"),
    KeyShape::new("Anthropic key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    KeyShape::new("OpenRouter key", &["sk-or-v1-"], r"\bsk-or-v1-[0-9a-f]{32,}"),
    KeyShape::new(
        "OpenAI key",
        &["sk-admin-", "sk-proj-", "sk-svcacct-"],
        r"\bsk-(?:admin|proj|svcacct)-[A-Za-z0-9_-]{20,}",
    ),
    KeyShape::new("OpenAI key", &["sk-"], r"\bsk-[A-Za-z0-9]{32,}"),
    KeyShape::new("Google key", &["AIza"], r"\bAIza[A-Za-z0-9_-]{35}"),
    KeyShape::new("Google token", &["ya29."], r"\bya29\.[A-Za-z0-9_-]{20,}"),
    KeyShape::new("Google secret", &["GOCSPX-"], r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    // In a URL it follows `bot`.
    KeyShape::new("Telegram token", &[":AA"], r"[0-9]{8,11}:AA[A-Za-z0-9_-]{32,34}"),
    KeyShape::new(
        "Discord token",
        &["."],
        r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}",
    ),
    KeyShape::new(
        "Discord webhook",
        &["/api/webhooks/"],
        r"\bdiscord(?:app)?\.com/api/webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{40,}",
    ),
    KeyShape::new(
        "JSON web token",
        &["eyJ"],
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    ),
    KeyShape::new("npm token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}"),
    KeyShape::new("PyPI token", &["pypi-AgE"], r"\bpypi-AgE[A-Za-z0-9_-]{40,}"),
    KeyShape::new("Hugging Face token", &["hf_"], r"\bhf_[A-Za-z0-9]{30,}"),
    KeyShape::new("Groq key", &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}"),
    KeyShape::new(
        "authorisation",
        &["bearer", "basic"],
        r"(?i)\b(?:bearer|basic)[ \t]+[A-Za-z0-9._~+/-]{20,}=*",
    ),
    KeyShape::new(
        "password in a URL",
        &["://"],
        r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{0,64}:[^\s/@?#]{3,128}@",
    ),
];

/// The hints of all shapes, and for each hint the index of its shape.
static HINTS: LazyLock<(AhoCorasick, Vec<usize>)> = LazyLock::new(|| {
    let of_shape = |(index, shape): (usize, &KeyShape)| shape.hints.iter().map(move |_| index);
    let owners = SHAPES.iter().enumerate().flat_map(of_shape).collect();
    let hints = SHAPES.iter().flat_map(|shape| shape.hints);
    match AhoCorasick::builder().ascii_case_insensitive(true).build(hints) {
        Ok(hints) => (hints, owners),
        Err(error) => panic!("the hints are written in the source: {error}"),
    }
});

/// Returns the name and range of each text that has the shape of a key.
pub(crate) fn shapes_in(
    bytes: &[u8],
) -> impl Iterator<Item = (&'static str, std::ops::Range<usize>)> {
    let (hints, owners) = &*HINTS;
    let mut hinted = [false; SHAPES.len()];
    for hint in hints.find_overlapping_iter(bytes) {
        hinted[owners[hint.pattern().as_usize()]] = true;
    }
    let shapes = SHAPES.iter().zip(hinted).filter(|(_, hinted)| *hinted);
    shapes.flat_map(move |(shape, _)| {
        shape.regex().find_iter(bytes).map(|found| (shape.name, found.range()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_in_finds_each_shape() {
        let long = "A1b2C3d4".repeat(12);
        let texts = [
            ("private key", "-----BEGIN PRIVATE KEY-----MIIE-----END PRIVATE KEY-----".to_owned()),
            ("age key", format!("age-secret-key-1{}", "q".repeat(58))),
            ("AWS key", format!("ASIA{}", "A".repeat(16))),
            ("AWS secret key", format!("AwsSecretKey = {}", &long[..40])),
            ("GitHub token", format!("ghs_{long}")),
            ("GitHub token", format!("github_pat_{long}")),
            ("GitLab token", format!("glsoat-{long}")),
            ("GitLab token", format!("gldt-{long}")),
            ("Slack token", format!("xoxe-{long}")),
            ("Slack token", "xapp-1-A1-12-ab12".to_owned()),
            ("Slack webhook", "hooks.slack.com/services/T1/B2/c3".to_owned()),
            ("Stripe key", format!("rk_live_{long}")),
            ("Stripe key", format!("sk_test_{long}")),
            ("webhook secret", format!("whsec_{long}")),
            ("Anthropic key", format!("sk-ant-{long}")),
            ("OpenRouter key", format!("sk-or-v1-{}", "a1".repeat(16))),
            ("OpenAI key", format!("sk-svcacct-{long}")),
            ("OpenAI key", format!("sk-{long}")),
            ("Google key", format!("AIza{}", &long[..35])),
            ("Google token", format!("ya29.{long}")),
            ("Google secret", format!("GOCSPX-{long}")),
            ("Telegram token", format!("12345678:AA{}", &long[..33])),
            ("Discord token", format!("M{}.{}.{}", &long[..23], &long[..6], &long[..27])),
            ("Discord webhook", format!("discord.com/api/webhooks/123456789012345678/{long}")),
            ("JSON web token", format!("eyJ{0}.eyJ{0}.x", &long[..8])),
            ("npm token", format!("npm_{}", &long[..36])),
            ("PyPI token", format!("pypi-AgE{long}")),
            ("Hugging Face token", format!("hf_{long}")),
            ("Groq key", format!("gsk_{long}")),
            ("authorisation", format!("BEARER {long}")),
            ("authorisation", format!("Basic {long}")),
            ("password in a URL", "Postgres://me:secret@host".to_owned()),
        ];
        for (name, text) in texts {
            let found: Vec<_> = shapes_in(text.as_bytes()).map(|(name, _)| name).collect();
            assert!(found.contains(&name), "{name}: {text}: {found:?}");
        }
        assert_eq!(shapes_in(b"an ordinary text. With two sentences").count(), 0);
    }
}
