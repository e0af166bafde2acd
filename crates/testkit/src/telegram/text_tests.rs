use super::*;

fn entity(kind: &str, offset: i64, length: i64) -> Value {
    json!({ "type": kind, "offset": offset, "length": length })
}

#[test]
fn check_text_refuses_invalid_entities() {
    let user = "Bad Request: can't parse MessageEntity: ";
    let cases: [(&str, Vec<Value>, String); 17] = [
        ("text", vec![json!("bold")], format!("{user}expected an Object")),
        (
            "text",
            vec![json!({ "type": "bold", "length": 1 })],
            format!("{user}Field \"offset\" and \"length\" must be of type Number"),
        ),
        ("text", vec![entity("", 0, 1)], format!("{user}Type is not specified")),
        ("text", vec![entity("big", 0, 1)], format!("{user}Unsupported type specified")),
        ("text", vec![entity("text_link", 0, 1)], format!("{user}Can't find field \"url\"")),
        ("text", vec![entity("text_mention", 0, 1)], format!("{user}Can't find field \"user\"")),
        (
            "text",
            vec![entity("custom_emoji", 0, 1)],
            format!("{user}Can't find field \"custom_emoji_id\""),
        ),
        (
            "text",
            vec![entity("bold", -1, 1)],
            "Bad Request: receive an entity with incorrect offset -1".to_owned(),
        ),
        (
            "text",
            vec![entity("bold", 0, -1)],
            "Bad Request: receive an entity with incorrect length -1".to_owned(),
        ),
        (
            "text",
            vec![entity("bold", 4, 1)],
            "Bad Request: entity begins after the end of the text at UTF-16 offset 4".to_owned(),
        ),
        (
            "text",
            vec![entity("bold", 2, 3)],
            "Bad Request: entity beginning at UTF-16 offset 2 ends after the end of the text at \
             UTF-16 offset 5"
                .to_owned(),
        ),
        (
            "a👉b",
            vec![entity("bold", 2, 1)],
            "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 5".to_owned(),
        ),
        (
            "a👉b",
            vec![entity("bold", 0, 2)],
            "Bad Request: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol \
             at byte offset 5"
                .to_owned(),
        ),
        (
            "text",
            vec![entity("bold", 0, 2), entity("italic", 1, 2)],
            "Bad Request: can't parse entities: italic at UTF-16 offset 1 crosses bold at 0"
                .to_owned(),
        ),
        (
            "text",
            vec![entity("bold", 1, 1), entity("pre", 0, 3)],
            "Bad Request: can't parse entities: bold at UTF-16 offset 1 can't be inside of pre at 0"
                .to_owned(),
        ),
        (
            "text",
            vec![entity("bold", 0, 3), entity("code", 0, 3)],
            "Bad Request: can't parse entities: code at UTF-16 offset 0 can't be inside of bold \
             at 0"
                .to_owned(),
        ),
        (
            "text",
            vec![entity("blockquote", 0, 4), entity("expandable_blockquote", 1, 1)],
            "Bad Request: can't parse entities: expandable_blockquote at UTF-16 offset 1 can't be \
             inside of blockquote at 0"
                .to_owned(),
        ),
    ];
    for (text, entities, description) in cases {
        let refusal = check_text(text, &entities, TEXT_LIMIT).unwrap_err();
        assert_eq!(refusal, ApiError::new(400, description), "{text:?} with {entities:?}");
    }
}

#[test]
fn check_text_accepts_valid_entities() {
    let link = json!({ "type": "text_link", "offset": 0, "length": 4, "url": "https://a.b/c" });
    let cases: [(&str, Vec<Value>); 6] = [
        ("text", vec![entity("bold", 0, 4)]),
        ("a👉b", vec![entity("spoiler", 1, 2), entity("bold", 3, 1)]),
        ("text", vec![entity("bold", 0, 4), entity("italic", 0, 4), entity("underline", 1, 2)]),
        ("text", vec![link.clone(), entity("bold", 1, 2)]),
        ("text", vec![link, entity("blockquote", 0, 4)]),
        ("text", vec![entity("blockquote", 0, 4), entity("code", 0, 2)]),
    ];
    for (text, entities) in cases {
        let (kept, taken) = check_text(text, &entities, TEXT_LIMIT).unwrap();
        assert_eq!((kept.as_str(), taken), (text, entities));
    }
}

#[test]
fn check_text_drops_entities_that_telegram_ignores() {
    let link = |url: &str| json!({ "type": "text_link", "offset": 0, "length": 1, "url": url });
    let dropped = [
        entity("bold", 1, 0),
        entity("mention", 0, 1),
        entity("url", 0, 1),
        link("/relative"),
        link("javascript:alert(1)"),
        link("https://"),
    ];
    for entity in dropped {
        let (_, taken) = check_text("text", std::slice::from_ref(&entity), TEXT_LIMIT).unwrap();
        assert_eq!(taken, Vec::<Value>::new(), "{entity}");
    }
}

#[test]
fn check_text_keeps_a_hundred_entities_at_most() {
    let text = "ab".repeat(101);
    let entities: Vec<Value> = (0..101).map(|index| entity("bold", 2 * index, 1)).collect();
    let (_, taken) = check_text(&text, &entities, TEXT_LIMIT).unwrap();
    assert_eq!(taken, entities[..ENTITY_LIMIT]);
}

#[test]
fn check_text_trims_text_and_moves_its_entities() {
    let cases: [(&str, Value, &str, Value); 6] = [
        (" \n text \n", entity("bold", 3, 4), "text", entity("bold", 0, 4)),
        // Spaces at the start of an entity stay: a code block keeps its indent.
        ("  code  ", entity("pre", 0, 8), "  code", entity("pre", 0, 6)),
        ("a\r\nb", entity("bold", 0, 4), "a\nb", entity("bold", 0, 3)),
        ("a\tb", entity("bold", 2, 1), "a b", entity("bold", 2, 1)),
        ("\u{202E}ab", entity("bold", 1, 1), "ab", entity("bold", 0, 1)),
        ("x 👉", entity("bold", 2, 2), "x 👉", entity("bold", 2, 2)),
    ];
    for (text, given, kept, moved) in cases {
        let (found, entities) = check_text(text, &[given], TEXT_LIMIT).unwrap();
        assert_eq!((found.as_str(), entities), (kept, vec![moved]), "{text:?}");
    }
}

#[test]
fn check_text_limits_the_trimmed_length_in_utf_16() {
    let check = |text: &str, limit| check_text(text, &[], limit).is_ok();
    for limit in [TEXT_LIMIT, CAPTION_LIMIT] {
        assert!(check(&"a".repeat(limit), limit));
        assert!(check(&format!("{}  ", "a".repeat(limit)), limit));
        assert!(!check(&"a".repeat(limit + 1), limit));
        assert!(check(&"👉".repeat(limit / 2), limit));
        assert!(!check(&"👉".repeat(limit / 2 + 1), limit));
    }
    assert!(!check(" \n\t\u{202E}", TEXT_LIMIT), "a message is never empty");
    assert!(check("", CAPTION_LIMIT), "a caption may be empty");
}
