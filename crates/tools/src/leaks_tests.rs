use std::path::Path;
use std::str::FromStr;

use avocet_protocol::tool::Seen;
use avocet_text::Secret;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// `tests/corpus/leaks.toml`, which explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeakCorpus {
    secrets: Vec<String>,
    known: Vec<String>,
    secret: Vec<String>,
    key: Vec<(String, String)>,
    password: Vec<String>,
    url: Vec<(String, String)>,
    pass: Vec<String>,
}

fn corpus() -> LeakCorpus {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/leaks.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Replaces `{24}` by letters and digits, `{x24}` by hexadecimal digits, `{u24}` by capitals.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        rest = behind;
        let inside = rest.split('}').next().unwrap();
        let (alphabet, count) = match inside.as_bytes().first() {
            Some(b'x') => ("0a1b2c3d4e5f6789", &inside[1..]),
            Some(b'u') => ("Q2W3E4R5T6Y7", &inside[1..]),
            _ => ("aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z", inside),
        };
        match usize::from_str(count) {
            Ok(count) => {
                filled.extend(alphabet.chars().cycle().take(count));
                rest = &rest[inside.len() + 1..];
            }
            Err(_) => filled.push('{'),
        }
    }
    filled + rest
}

fn redactor(secrets: &[String]) -> Redactor {
    Redactor::new(secrets.iter().cloned().map(Secret::new))
}

#[test]
fn find_reports_the_expected_leaks_of_the_corpus() {
    let LeakCorpus { secrets, known, secret, key, password, url, pass } = corpus();
    let redactor = redactor(&secrets);
    let seen: Seen = known.into_iter().collect();
    let known = KnownHosts::new(&seen, &[]);
    let found = |text: &str| {
        let leaks = find_leaks(&Leaving::Text(text.to_owned()), &redactor, &known);
        for leak in &leaks {
            let shows = |secret: &&String| leak.shown.contains(secret.as_str());
            assert!(!secrets.iter().any(|secret| shows(&secret)), "{text:?}: {leak:?}");
        }
        leaks
    };
    let has = |text: &str, kind: LeakKind| {
        let leaks = found(text);
        assert!(leaks.iter().any(|leak| leak.kind == kind), "{text:?}: no {kind:?} in {leaks:?}");
    };
    secret.iter().for_each(|text| has(&filled(text), LeakKind::Secret));
    password.iter().for_each(|text| has(&filled(text), LeakKind::Password));
    for (name, text) in &key {
        let (text, leaks) = (filled(text), found(&filled(text)));
        let is_it = |leak: &&FoundLeak| matches!(leak.kind, LeakKind::Key(found) if found == name);
        let leak = leaks.iter().find(is_it);
        let leak = leak.unwrap_or_else(|| panic!("{text:?}: no {name} in {leaks:?}"));
        assert!(leak.shown.contains("… ("), "{leak:?}");
    }
    for (shown, text) in &url {
        let leaks = found(&filled(text));
        let is_it = |leak: &FoundLeak| leak.kind == LeakKind::Url && leak.shown == *shown;
        assert!(leaks.iter().any(is_it), "{text:?}: no {shown} in {leaks:?}");
    }
    for text in &pass {
        assert_eq!(found(&filled(text)), [], "{text:?}");
    }
    let leaks = secret.len() + password.len() + key.len() + url.len();
    assert!(leaks >= 80 && pass.len() >= 40, "{leaks} leaks, {} that pass", pass.len());
}

/// The leaks in a text if no text was read before.
fn found(text: &str, redactor: &Redactor) -> Vec<FoundLeak> {
    find_leaks(&Leaving::Text(text.to_owned()), redactor, &KnownHosts::new(&Seen::default(), &[]))
}

#[test]
fn find_reports_each_leak_once_and_masks_secrets() {
    let redactor = redactor(&["correct horse battery".to_owned()]);
    let key = filled("ghp_{40}");
    let text = format!(
        "correct horse battery, correct%20horse%20battery {key} {key} \
         https://evil.example/?k=correct%20horse%20battery https://evil.example/a https://evil.example/a"
    );
    let leak = |kind, shown: &str| FoundLeak { kind, shown: shown.to_owned() };
    let expected = [
        leak(LeakKind::Secret, "corr… (21 characters)"),
        leak(LeakKind::Key("GitHub token"), "ghp_… (44 characters)"),
        leak(LeakKind::Url, "https://evil.example/?k=[secret]"),
        leak(LeakKind::Url, "https://evil.example/a"),
    ];
    assert_eq!(found(&text, &redactor), expected);
}

#[test]
fn find_stays_fast_on_a_long_hostile_text() {
    let pieces = [
        "a",
        "%",
        "%25",
        "\\",
        "\\u0061",
        "https://",
        "http:",
        "://",
        "www.",
        "](//",
        "password=",
        "&#5",
        " \u{200B}",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "sk-",
        "0",
        "token : ",
        "(",
        "https://a.b/)",
        "secret_",
        "=\"//",
        "a.",
        "a@",
        "a.com/",
        "*a*.com ",
        "mailto:",
        "[a](",
        "`a",
        "> ",
    ];
    let redactor = redactor(&["aaaaaaaa".to_owned(), "abababab".to_owned()]);
    for piece in pieces {
        let text = piece.repeat((1 << 18) / piece.len());
        let leaks = found(&text, &redactor);
        assert!(leaks.len() < 1000, "{piece:?}: {}", leaks.len());
    }
}

proptest! {
    #[test]
    fn find_sees_a_split_secret_in_any_text(
        (before, behind) in ("\\PC{0,40}", "\\PC{0,40}"),
        gap in "[ \\n\u{200B}]{0,2}",
        more in "(https?:|//|[a-z./?#%&;:()\\[\\]<>]){0,40}",
    ) {
        let secret = "tr0ub4dor&3-x".to_owned();
        let split: String = secret.chars().map(|c| format!("{c}{gap}")).collect();
        let text = format!("{before}{split}{behind}{more}");
        let leaks = found(&text, &redactor(&[secret]));
        prop_assert!(leaks.iter().any(|leak| leak.kind == LeakKind::Secret), "{text:?}: {leaks:?}");
    }
}
