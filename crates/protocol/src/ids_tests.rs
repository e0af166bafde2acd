use proptest::prelude::*;

use super::*;
use crate::chat::{ChatAddress, SessionId};

#[track_caller]
fn rejects(text: &str, fault: IdFault) {
    assert_eq!(ChatId::parse(text).map_err(|error| error.fault), Err(fault), "{text:?}");
}

#[test]
fn id_parse_rejects_forbidden_characters_and_lengths() {
    rejects("", IdFault::Empty);
    rejects(&"x".repeat(257), IdFault::TooLong(257));
    rejects("a..b", IdFault::ParentDirectory);
    rejects("a/b", IdFault::Separator('/'));
    rejects("a\\b", IdFault::Separator('\\'));
    rejects("a\0b", IdFault::Control(0));
    rejects("a\nb", IdFault::Control(10));
    rejects("a\u{7f}b", IdFault::Control(0x7f));
    rejects("a\u{85}b", IdFault::Control(0x85));
    rejects("a:b", IdFault::Colon);
}

#[test]
fn id_parse_accepts_other_text() {
    for text in ["a", ".", "-100123", "Zoë", "a b", "a.b", &"x".repeat(256), "😀", "user@host"] {
        assert_eq!(ChatId::parse(text).unwrap().as_str(), text);
    }
    assert_eq!(SenderId::parse("matrix:user").unwrap().as_str(), "matrix:user");
}

#[test]
fn id_error_names_kind_value_and_rule() {
    let error = ChatId::parse("../etc/passwd").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"chat id "../etc/passwd" contains `/`, which is not allowed in an id"#
    );
    let error = ChatId::parse(&"y".repeat(300)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("chat id {:?} is 300 bytes long; at most 256 are allowed", "y".repeat(64)),
    );
}

#[test]
fn number_ids_have_a_prefix() {
    assert_eq!("m17".parse(), Ok(MessageId(17)));
    assert_eq!(MessageId(17).to_string(), "m17");
    for bad in ["17", "t17", "m", "m-1", "m+1", "m1x", "m99999999999999999999"] {
        let error = bad.parse::<MessageId>().unwrap_err();
        assert_eq!(error.fault, IdFault::Number("m"), "{bad}");
    }
    let call = CallId { turn: TurnId(4), step: 1, ordinal: 0 };
    assert_eq!(call.to_string(), "t4s1c0");
    assert_eq!("t4s1c0".parse(), Ok(call));
    for bad in ["", "t4", "t4s1", "4s1c0", "t4sxc0", "t4s1c-1"] {
        assert!(bad.parse::<CallId>().is_err(), "{bad}");
    }
}

#[test]
fn ids_reject_invalid_json() {
    assert!(serde_json::from_str::<ChatId>(r#""a/b""#).is_err());
    assert!(serde_json::from_str::<MessageId>(r#""x1""#).is_err());
    assert!(serde_json::from_str::<SessionId>(r#""telegram:work:../1""#).is_err());
    assert_eq!(serde_json::to_string(&MessageId(3)).unwrap(), r#""m3""#);
}

proptest! {
    #[test]
    fn id_parse_accepts_only_valid_ids(text in any::<String>()) {
        if let Ok(id) = ChatId::parse(&text) {
            let id = id.as_str();
            prop_assert!(!id.is_empty() && id.len() <= MAX_ID_BYTES && !id.contains(".."));
            prop_assert!(!id.chars().any(|c| c.is_control() || "/\\:".contains(c)));
        }
    }

    #[test]
    fn address_parse_keeps_any_valid_text(parts in prop::collection::vec("[^:/\\\\.\\p{Cc}]{1,20}", 3..=4)) {
        let text = parts.join(":");
        let address: ChatAddress = text.parse().unwrap();
        prop_assert_eq!(address.to_string(), text.clone());
        prop_assert_eq!(SessionId::from_address(&address).unwrap().address(), address);
    }
}
