use avocet_protocol::chat::Content;
use avocet_protocol::ids::DeliveryId;
use serde_json::json;

use super::*;
use crate::compose;

fn shown(text: &str) -> String {
    compose::text(&compose::chunks(&Content::text(text), false)[0], false)
}

/// Returns the preview of an unfinished text: whole words, and closed fences.
fn unfinished(words: &str) -> String {
    let is_open = words.matches("```").count() % 2 == 1;
    if is_open { format!("{words}\n```\n…") } else { format!("{words} …") }
}

#[test]
fn match_by_text_recognises_a_preview_cut_at_any_word() {
    let texts = [
        "Hello there, all of you.",
        "This **is very bold** and *so is* ~~this old~~ one.",
        "Run this:\n\n```rust\nlet a = 1;\nlet b = 2;\n```\n\nand `then this` too.",
        "See [the whole page](https://example.org/a_b) and https://example.org/c_d there.",
        "# A title\n\n1. one thing\n2. *another* thing\n\n> said by me\n\n- snake_case __x__",
        "🐦 🐦 **🐦 🐦** 🐦",
        "a * b * c <@77> @everyone | x",
    ];
    for text in texts {
        let places = text.match_indices([' ', '\n']).map(|(place, _)| place);
        for words in places.map(|place| text[..place].trim_end()) {
            let preview = shown(&unfinished(words));
            let fit = SentMatch::by_text(&preview, &shown(text));
            // A preview of marks alone may have marks that the text lacks.
            let is_known = fit == Some(SentMatch::Beginning) || letters(&preview).is_empty();
            assert!(fit.is_some() && is_known, "{preview:?} of {text:?}: {fit:?}");
        }
        assert_eq!(SentMatch::by_text(&shown(text), &shown(text)), Some(SentMatch::Whole));
        assert_eq!(SentMatch::by_text(text, "Something else."), None, "it is no preview");
    }
}

#[test]
fn match_of_recognises_a_preview_with_other_text_by_its_time() {
    let (me, before) = (UserId::new(5), 10_000);
    let first = avocet_protocol::clock::Timestamp(1_767_225_600_000);
    let delivery = Delivery {
        first_sent_at: Some(first),
        ..Delivery::new(DeliveryId(1), "discord:main:1".parse().unwrap(), Content::text("x"))
    };
    let fit = |author: u64, millis: i64, said: &str| {
        // `first_id_after` leaves a minute for clocks that differ.
        let id = first_id_after(avocet_protocol::clock::Timestamp(first.0 + 60_000 + millis));
        let message = json!({ "id": id.to_string(), "author": { "id": author.to_string() },
            "content": said, "attachments": [] });
        SentMatch::find_match(&message, me, &delivery, "There are two files.")
    };
    let table = [
        (5, 100, "Still working: run\\_tests (1 min)", Some(SentMatch::Other(0))),
        (5, 100, "Let me look …", Some(SentMatch::Other(0))),
        (5, 100, "Therefore I look …", Some(SentMatch::Other(5))),
        (5, 100, "There are …", Some(SentMatch::Beginning)),
        (5, -before, "There are …", Some(SentMatch::Beginning)),
        (5, -before, "Let me look …", None),
        (5, 100, "Let me look.", None),
        (7, 100, "There are two files.", None),
    ];
    for (author, millis, said, expected) in table {
        assert_eq!(fit(author, millis, said), expected, "{said} of {author} at {millis}");
    }
}
