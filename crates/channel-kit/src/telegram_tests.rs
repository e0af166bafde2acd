use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{corpus, soup};
use crate::{render, split};

/// Formats an entity for the expectations of tests: `bold 0+4`.
fn line(entity: &Entity) -> String {
    let kind = match &entity.kind {
        EntityKind::Bold => "bold",
        EntityKind::Italic => "italic",
        EntityKind::Strikethrough => "strikethrough",
        EntityKind::Spoiler => "spoiler",
        EntityKind::Code => "code",
        EntityKind::Pre { .. } => "pre",
        EntityKind::Blockquote => "blockquote",
        EntityKind::TextLink { .. } => "text_link",
    };
    format!("{kind} {}+{}", entity.offset, entity.length)
}

#[track_caller]
fn check(markdown: &str, expected: &[&str]) {
    let styled = render(markdown);
    let entities = entities(&styled);
    assert_eq!(entities.iter().map(line).collect::<Vec<_>>(), expected, "{:?}", styled.text);
    assert_eq!(refusal(&styled.text, &entities), None);
}

#[test]
fn entities_have_a_kind_for_each_style() {
    check("**a** *b* ~~c~~ `d`", &["bold 0+1", "italic 2+1", "strikethrough 4+1", "code 6+1"]);
    check("||a||", &["spoiler 0+1"]);
    check("> a\n> b", &["blockquote 0+3"]);
    check("[a](http://x.org)", &["text_link 0+1"]);
    check("```rust\na\n```", &["pre 0+1"]);
    check("**a *b* c**", &["bold 0+5", "italic 2+1"]);
}

#[test]
fn entities_have_positions_in_utf16_units() {
    check("👍 **👍é** b *c*", &["bold 3+3", "italic 9+1"]);
    check("漢字 `c`", &["code 3+1"]);
}

#[test]
fn entities_cut_emphasis_around_code() {
    check("**a `b` c**", &["bold 0+1", "code 2+1", "bold 4+1"]);
    check("***a `b`***", &["bold 0+1", "italic 0+1", "code 2+1"]);
    check("# `a`", &["code 0+1"]);
}

#[test]
fn entities_omit_code_in_spoilers_and_links() {
    check("||a `b`||", &["spoiler 0+3"]);
    check("[a `b`](http://x.org)", &["text_link 0+3"]);
}

#[test]
fn entities_keep_code_in_quotes() {
    check("> a `b`\n\n`c`", &["blockquote 0+3", "code 2+1", "code 5+1"]);
    check("> `a`", &["blockquote 0+1", "code 0+1"]);
    check("> **a `b` c**", &["blockquote 0+5", "bold 0+1", "code 2+1", "bold 4+1"]);
    check("> ||a `b`||", &["blockquote 0+3", "spoiler 0+3"]);
    check("> > `a`\n> b", &["blockquote 0+7", "code 2+1"]);
}

#[test]
fn entities_cut_a_quote_around_lines_of_code() {
    check("> a\n> ```\n> b\n> ```\n> c", &["blockquote 0+1", "pre 3+1", "blockquote 6+1"]);
    let whole = Styled {
        text: "a\nb\nc".to_owned(),
        styles: vec![
            StyleRange::new(0..5, Style::Quote),
            StyleRange::new(2..3, Style::Pre { language: None }),
        ],
    };
    let lines: Vec<_> = entities(&whole).iter().map(line).collect();
    assert_eq!(lines, ["blockquote 0+1", "pre 2+1", "blockquote 4+1"]);
}

#[test]
fn entities_omit_mail_addresses_and_unusual_links() {
    check("<a@b.org> [a](mailto:a@b.org)", &[]);
    check("[a](tg://resolve?domain=x)", &["text_link 0+1"]);
    check("[a](tg://user?id=1)", &[]);
    let linked = |url: &str| Styled {
        text: "a".to_owned(),
        styles: vec![StyleRange::new(0..1, Style::Link { url: url.to_owned() })],
    };
    assert_eq!(entities(&linked("javascript:x")), []);
    assert_eq!(entities(&linked(&format!("http://{}", "x".repeat(2000)))), []);
}

#[test]
fn entities_keep_the_indentation_of_the_first_line_of_code() {
    check("```\n  a\nb\n```", &["pre 0+5"]);
    check("x\n```\n  a\nb\n```", &["pre 3+5"]);
}

#[test]
fn entities_repair_ranges_that_telegram_would_refuse() {
    let text = " a b ".to_owned();
    let styles = vec![
        StyleRange::new(0..3, Style::Bold),
        StyleRange::new(2..5, Style::Italic),
        StyleRange::new(4..5, Style::Strike),
        StyleRange::new(2..2, Style::Code),
    ];
    let found = entities(&Styled { text: text.clone(), styles });
    assert_eq!(refusal(&text, &found), None);
    assert_eq!(found.iter().map(line).collect::<Vec<_>>(), ["bold 1+1", "italic 3+1"]);
}

#[test]
fn entities_serialise_in_the_format_of_the_bot_api() {
    let styled = render("**a** [b](http://x.org)\n\n```rust\nc\n```\n\n```\nd\n```\n\n> e");
    assert_eq!(
        serde_json::to_value(entities(&styled)).unwrap(),
        json!([
            { "type": "bold", "offset": 0, "length": 1 },
            { "type": "text_link", "url": "http://x.org", "offset": 2, "length": 1 },
            { "type": "pre", "language": "rust", "offset": 5, "length": 1 },
            { "type": "pre", "offset": 8, "length": 1 },
            { "type": "blockquote", "offset": 11, "length": 1 },
        ])
    );
}

#[test]
fn size_is_the_length_of_the_text_unless_there_are_too_many_entities() {
    assert_eq!(size(&render("**👍** a")), 4);
    assert_eq!(size(&render(&"*a* ".repeat(101))), usize::MAX);
}

#[test]
fn refusal_refuses_entities_that_telegram_refuses() {
    let entity = |kind, offset, length| Entity { kind, offset, length };
    let url = |url: &str| EntityKind::TextLink { url: url.to_owned() };
    let cases = [
        ("ab", vec![entity(EntityKind::Bold, 0, 0)], "empty"),
        ("ab", vec![entity(EntityKind::Bold, 1, 2)], "outside"),
        ("👍", vec![entity(EntityKind::Bold, 0, 1)], "inside a character"),
        ("a ", vec![entity(EntityKind::Bold, 0, 2)], "white space"),
        (" a", vec![entity(EntityKind::Code, 0, 2)], "white space"),
        ("ab", vec![entity(EntityKind::Bold, 1, 1), entity(EntityKind::Bold, 0, 1)], "order"),
        ("abc", vec![entity(EntityKind::Bold, 0, 2), entity(EntityKind::Italic, 1, 2)], "overlap"),
        ("ab", vec![entity(EntityKind::Bold, 0, 2), entity(EntityKind::Code, 0, 1)], "code"),
        ("ab", vec![entity(EntityKind::Code, 0, 2), entity(EntityKind::Bold, 0, 1)], "code"),
        ("ab", vec![entity(EntityKind::Code, 0, 2), entity(EntityKind::Blockquote, 0, 1)], "code"),
        ("ab", vec![entity(EntityKind::Bold, 0, 2), entity(EntityKind::Bold, 0, 1)], "itself"),
        ("a", vec![entity(url("mailto:a"), 0, 1)], "link"),
        ("a", vec![entity(EntityKind::Bold, 0, 1); 101], "many"),
    ];
    for (text, entities, reason) in cases {
        assert_eq!(refusal(text, &entities), Some(reason), "{text:?} {entities:?}");
    }
    let quoted = [entity(EntityKind::Blockquote, 0, 2), entity(EntityKind::Code, 0, 1)];
    assert_eq!(refusal("ab", &quoted), None, "quotes may contain code");
}

/// The reason why Telegram would refuse, drop or change the entities (Bot API, "Formatting
/// options").
fn refusal(text: &str, entities: &[Entity]) -> Option<&'static str> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut open: Vec<&Entity> = Vec::new();
    let mut last = (0, usize::MAX);
    if entities.len() > 100 {
        return Some("many");
    }
    for entity in entities {
        let (start, end) = (entity.offset, entity.offset + entity.length);
        if let Some(reason) = refusal_alone(&units, entity) {
            return Some(reason);
        }
        if start < last.0 || (start == last.0 && end > last.1) {
            return Some("order");
        }
        last = (start, end);
        open.retain(|outer| outer.offset + outer.length > start);
        for outer in &open {
            let ends = outer.offset + outer.length;
            if end > ends {
                return Some("overlap");
            }
            let is_in_quote = outer.kind == EntityKind::Blockquote;
            if is_code(&outer.kind) || (is_code(&entity.kind) && !is_in_quote) {
                return Some("code");
            }
            if outer.kind == entity.kind {
                return Some("itself");
            }
        }
        open.push(entity);
    }
    None
}

fn is_code(kind: &EntityKind) -> bool {
    matches!(kind, EntityKind::Code | EntityKind::Pre { .. })
}

fn refusal_alone(units: &[u16], entity: &Entity) -> Option<&'static str> {
    if entity.length == 0 {
        return Some("empty");
    }
    let Some(part) = units.get(entity.offset..entity.offset + entity.length) else {
        return Some("outside");
    };
    let Ok(part) = String::from_utf16(part) else { return Some("inside a character") };
    let is_pre = matches!(entity.kind, EntityKind::Pre { .. });
    let begins_well = if is_pre { !part.starts_with('\n') } else { part.trim_start() == part };
    if part.trim_end() != part || !begins_well {
        return Some("white space");
    }
    if let EntityKind::TextLink { url } = &entity.kind {
        let scheme = ["http://", "https://", "tg://"];
        let is_known = scheme.iter().any(|scheme| url.to_lowercase().starts_with(scheme));
        if !is_known || url.len() > 4096 || url.contains(char::is_whitespace) {
            return Some("link");
        }
    }
    None
}

#[test]
fn entities_of_the_corpus_are_accepted() {
    for markdown in corpus() {
        let styled = render(markdown);
        assert_eq!(refusal(&styled.text, &entities(&styled)), None, "{markdown}");
    }
}

#[test]
fn entities_trim_a_range_cut_at_another_range() {
    let text = "👍  \n👍a 👍".to_owned();
    let link = Style::Link { url: "http://x.org".to_owned() };
    let styles = vec![
        StyleRange::new(0..11, Style::Bold),
        StyleRange::new(4..17, link),
        StyleRange::new(4..12, Style::Italic),
    ];
    let found = entities(&Styled { text: text.clone(), styles });
    assert_eq!(refusal(&text, &found), None, "{found:?}");
}

proptest! {
    #[test]
    fn entities_of_any_message_are_accepted(markdown in soup()) {
        for chunk in split(&render(&markdown), limit()) {
            let refused = refusal(&chunk.text, &entities(&chunk));
            prop_assert_eq!(refused, None, "{:?}", chunk);
        }
    }

    #[test]
    fn entities_of_any_split_message_are_accepted(markdown in soup(), most in 1usize..40) {
        for chunk in split(&render(&markdown), Limit::utf16(most)) {
            let refused = refusal(&chunk.text, &entities(&chunk));
            prop_assert_eq!(refused, None, "{:?}", chunk);
        }
    }

    #[test]
    fn entities_repair_any_ranges(
        text in "[a-c \n👍]{0,12}",
        places in prop::collection::vec((0usize..13, 0usize..13, 0usize..8), 0..8),
    ) {
        let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
        let styles = places.into_iter().map(|(start, end, style)| {
            StyleRange::new(at(start)..at(end).max(at(start)), style_of(style))
        });
        let styled = Styled { text: text.clone(), styles: styles.collect() };
        let found = entities(&styled);
        // `render` keeps code blocks apart from other styles; here they overlap.
        let codes = styled.styles.iter().filter(|range| {
            matches!(range.style, Style::Code | Style::Pre { .. })
        });
        if codes.count() < 2 {
            prop_assert_eq!(refusal(&text, &found), None, "{:?} {:?}", styled, found);
        }
    }
}

fn style_of(index: usize) -> Style {
    let url = || "http://x.org".to_owned();
    [
        Style::Bold,
        Style::Italic,
        Style::Strike,
        Style::Spoiler,
        Style::Code,
        Style::Pre { language: None },
        Style::Quote,
        Style::Link { url: url() },
    ][index]
        .clone()
}
