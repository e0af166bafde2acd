use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use proptest::prelude::*;

use super::*;

const SECRET: &str = "pa\"ss/w\\ord é+12";

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(secrets.iter().map(|secret| Secret::new((*secret).to_owned())))
}

#[test]
fn redact_finds_a_secret_in_any_encoding() {
    let json = serde_json::to_string(SECRET).unwrap();
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let in_url = "pa%22ss/w%5Cord%20%C3%A9%2B12";
    let table = [
        SECRET.to_owned(),
        json.clone(),
        serde_json::to_string(&json).unwrap(),
        format!("{SECRET:?}"),
        serde_json::to_string(&format!("{SECRET:?}")).unwrap(),
        "\\u0070a\\u0022ss\\u002fw\\\\ord \\u00e9+12".to_owned(),
        percent.to_uppercase().replace('%', "%25"),
        percent,
        in_url.to_owned(),
        BASE64_STANDARD.encode(SECRET),
        BASE64_STANDARD.encode(format!("user:{SECRET}")),
        BASE64_URL_SAFE.encode(format!("{{\"k\":\"{SECRET}\"}}")),
        SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        SECRET.chars().rev().collect(),
        SECRET.chars().map(|c| format!("{c} ")).collect(),
        SECRET.chars().map(|c| format!("{c}\u{200B}\n")).collect(),
    ];
    let redactor = redactor(&[SECRET]);
    for text in table {
        let clean = redactor.redact(&text).into_owned();
        assert!(clean.contains(REDACTED), "{text:?} -> {clean:?}");
        let left = clean.replace(REDACTED, "");
        let first: String = text.chars().skip(4).take(8).collect();
        assert!(!left.contains(&first), "{text:?} -> {clean:?}");
    }
}

#[test]
fn redact_keeps_the_text_around_a_secret() {
    let redactor =
        redactor(&["correct horse", "Bearer tok-12345678", "short", "overlaps1", "lapsover"]);
    let table = [
        ("no secret in here, 100% \\o/", "no secret in here, 100% \\o/"),
        ("a correct horse.", "a [secret]."),
        ("é\\\"correct%20horse\\\"é", "é\\\"[secret]\\\"é"),
        ("the token tok-12345678 alone", "the token [secret] alone"),
        ("short words stay", "short words stay"),
        ("correct horsecorrect horse", "[secret][secret]"),
        (
            "https://a/bot123456789:AAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/getMe",
            "https://a/bot[secret]/getMe",
        ),
    ];
    for (text, clean) in table {
        assert_eq!(redactor.redact(text), clean, "{text}");
    }
    assert_eq!(format!("{redactor:?}"), "Redactor { secrets: 4, .. }");
}

#[test]
fn summary_is_one_line_without_secrets() {
    let redactor = redactor(&["correct horse"]);
    assert_eq!(redactor.summary("a\n  b", 200), "a b");
    assert_eq!(redactor.summary("a correct horse", 5), "a [s…");
    let long = format!("{}correct horse", "x".repeat(195));
    assert_eq!(redactor.summary(&long, 200), format!("{}[sec…", "x".repeat(195)));
    let half = "correct horse".repeat(64 * 1024 / 13 + 1);
    assert!(!redactor.summary(&half, 70_000).contains("corr"));
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~é☃]{8,40}", "[A-Za-z0-9+/=:%\\\\\"-]{8,60}", "\\PC{8,20}",]
        .prop_filter("long enough without its ends", |text: &String| {
            text.trim().chars().count() >= Redactor::SHORTEST && !text.contains("[s")
        })
}

proptest! {
    #[test]
    fn redact_leaves_no_secret_in_any_encoding(
        secret in secret(),
        (before, behind) in ("\\PC{0,20}", "\\PC{0,20}"),
        way in 0usize..6,
    ) {
        let encode = |text: &str| match way {
            0 => text.to_owned(),
            1 => serde_json::to_string(text).unwrap(),
            2 => format!("{text:?}"),
            3 => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            4 => BASE64_STANDARD.encode(text),
            _ => serde_json::to_string(&format!("{text:?}")).unwrap(),
        };
        let encoded = encode(secret.trim());
        let bare = encoded.trim_matches(['"', '=', '\\']).to_owned();
        let text = format!("{before}{encoded}{behind}");
        let clean = redactor(&[&secret]).redact(&text).into_owned();
        prop_assert!(clean.contains(REDACTED), "{text:?} -> {clean:?}");
        // The last base64 characters depend only partly on the secret.
        let bare = bare.get(..bare.len().saturating_sub(2)).unwrap_or(&bare);
        prop_assert!(way == 4 || !clean.contains(secret.trim()), "{text:?} -> {clean:?}");
        prop_assert!(bare.len() < 12 || !clean.contains(bare), "{text:?} -> {clean:?}");
    }

    #[test]
    fn redact_accepts_any_text(text in "\\PC{0,200}|[\\\\%u{}0-9a-fx\" ]{0,200}") {
        let clean = redactor(&["correct horse"]).redact(&text).into_owned();
        prop_assert!(clean == text || clean.contains(REDACTED));
    }
}

#[test]
fn find_returns_a_secret_at_any_position_of_a_long_text() {
    let redactor = redactor(&["correct horse"]);
    for at in [0, WINDOW - 6, WINDOW, WINDOW + OVERLAP - 6, 3 * WINDOW - 8] {
        let before = "é".repeat(at / 2);
        let text = format!("{before}correct%20horse{}", "é".repeat(WINDOW));
        let found = redactor.find(&text);
        assert!(found.iter().all(|one| one.range == (before.len()..before.len() + 15)), "{at}");
        assert!(!found.is_empty(), "{at}");
        assert_eq!(redactor.redact(&text).len(), text.len() - 15 + REDACTED.len(), "{at}");
    }
}

#[test]
fn redact_json_replaces_secrets_only() {
    let redactor = redactor(&["correct horse"]);
    let mut value = serde_json::json!({
        "a": ["correct horse", 1, null, { "my correct horse": "a correct%20horse" }],
        "b": "battery",
    });
    redactor.redact_json(&mut value);
    let clean = serde_json::json!({
        "a": ["[secret]", 1, null, { "my [secret]": "a [secret]" }],
        "b": "battery",
    });
    assert_eq!(value, clean);
}

#[test]
fn learn_adds_secrets_to_every_clone_and_keeps_the_old_ones() {
    let redactor = redactor(&["first-secret"]);
    let clone = redactor.clone();
    let secrets = ["first-secret", "second-secret"].map(|text| Secret::new(text.to_owned()));
    redactor.add_secrets(secrets);
    assert_eq!(clone.redact("first-secret second-secret"), "[secret] [secret]");
    assert_eq!(format!("{clone:?}"), "Redactor { secrets: 2, .. }");
    assert_eq!(clone.secret(1).unwrap().expose(), "second-secret");
}
