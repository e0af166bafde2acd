use proptest::prelude::*;

use super::*;
use crate::testing::{assert_valid, corpus, soup, visible};
use crate::{Style, discord, render, telegram};

#[track_caller]
fn check(markdown: &str, chars: usize, expected: &[&str]) {
    let chunks = split(&render(markdown), Limit::chars(chars));
    let texts: Vec<_> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, expected);
    chunks.iter().for_each(assert_valid);
}

#[test]
fn split_keeps_a_text_that_fits_whole() {
    check("a b\n\nc", 6, &["a b\n\nc"]);
    check("", 10, &[""]);
    check("", 0, &[""]);
}

#[test]
fn split_prefers_the_end_of_a_paragraph() {
    check("one. two\nthree\n\nfour five. six", 20, &["one. two\nthree", "four five. six"]);
}

#[test]
fn split_prefers_the_end_of_a_line_then_of_a_sentence_then_of_a_word() {
    check("one two. three\nfour five. six", 20, &["one two. three", "four five. six"]);
    check("one two. three four. five six", 22, &["one two. three four.", "five six"]);
    check("one two (three.) four five six", 20, &["one two (three.)", "four five six"]);
    check("one two three four", 12, &["one two", "three four"]);
    check("一。二三。四", 5, &["一。二三。", "四"]);
    check("one two three", 7, &["one two", "three"]);
}

#[test]
fn split_skips_a_good_place_that_leaves_a_chunk_nearly_empty() {
    check("a\n\nbbb ccc ddd eee fff", 12, &["a\n\nbbb ccc", "ddd eee fff"]);
}

#[test]
fn split_cuts_a_long_word_between_grapheme_clusters() {
    check("abcdefgh", 3, &["abc", "def", "gh"]);
    check("a 漢字漢字漢字", 4, &["a 漢字", "漢字漢字"]);
    check("aa👨‍👩‍👧bb", 5, &["aa", "👨‍👩‍👧", "bb"]);
    check("xyq\u{301}\u{302}z", 4, &["xy", "q\u{301}\u{302}z"]);
}

#[test]
fn split_cuts_inside_a_grapheme_cluster_longer_than_the_limit() {
    let marks = format!("b{}", "\u{301}".repeat(4096));
    let chunks = split(&Styled::plain(&marks), Limit::chars(1000));
    assert_eq!(chunks.len(), 5);
    assert_eq!(chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>(), marks);
}

#[test]
fn split_exceeds_a_limit_below_one_character_by_one() {
    check("abc", 0, &["a", "b", "c"]);
    let chunks = split(&Styled::plain("👍👍"), Limit::utf16(1));
    assert_eq!(chunks, [Styled::plain("👍"), Styled::plain("👍")]);
}

#[test]
fn limit_utf16_counts_code_units() {
    let text = "👍".repeat(3000);
    let chunks = split(&Styled::plain(&text), Limit::utf16(4096));
    let lengths: Vec<_> = chunks.iter().map(|chunk| chunk.text.encode_utf16().count()).collect();
    assert_eq!(lengths, [4096, 1904]);
}

#[test]
fn limit_reserving_leaves_room() {
    let chunks = split(&Styled::plain("a".repeat(100)), Limit::chars(50).reserving(10));
    let lengths: Vec<_> = chunks.iter().map(|chunk| chunk.text.len()).collect();
    assert_eq!(lengths, [40, 40, 20]);
}

#[test]
fn split_continues_styles_after_a_cut() {
    let chunks = split(&render("**bold text that is long**"), Limit::chars(14));
    let bold = |text: &str| Styled {
        text: text.to_owned(),
        styles: vec![crate::StyleRange { start: 0, end: text.len(), style: Style::Bold }],
    };
    assert_eq!(chunks, [bold("bold text that"), bold("is long")]);
}

#[test]
fn split_continues_code_with_its_language_and_indentation() {
    let chunks = split(&render("```rust\nfn a() {\n    b();\n    c();\n}\n```"), Limit::chars(20));
    let texts: Vec<_> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["fn a() {\n    b();", "    c();\n}"]);
    for chunk in &chunks {
        let language = Some("rust".to_owned());
        let whole =
            crate::StyleRange { start: 0, end: chunk.text.len(), style: Style::Pre { language } };
        assert_eq!(chunk.styles, [whole]);
    }
}

#[test]
fn split_cuts_code_at_blank_lines_but_rather_before_it() {
    check("```\naaaa\n\nbbbb\ncccc\n```", 11, &["aaaa", "bbbb\ncccc"]);
    check("some text here\n\n```\naa\n\nbb\n```", 19, &["some text here", "aa\n\nbb"]);
}

#[test]
fn split_drops_an_indentation_longer_than_the_limit() {
    let code = format!("```\na\n{}b\n```", " ".repeat(50));
    check(&code, 10, &["a", "b"]);
}

#[test]
fn split_drops_a_style_if_its_markup_leaves_no_room() {
    let url = format!("http://x.org/{}", "a".repeat(100));
    let chunks = split(&render(&format!("[two words]({url}) more")), Limit::new(10, discord::size));
    let texts: Vec<_> = chunks.iter().map(discord::markdown).collect();
    assert_eq!(texts, ["two words", "more"]);
}

#[test]
fn split_limits_a_telegram_message_to_a_hundred_entities() {
    let chunks = split(&render(&"**a** b ".repeat(250)), telegram::limit());
    let counts: Vec<_> = chunks.iter().map(|chunk| telegram::entities(chunk).len()).collect();
    assert_eq!(counts, [100, 100, 50]);
}

#[test]
fn f23_split_cuts_a_long_answer_of_any_markup_into_messages_that_fit() {
    let corpus = corpus().join("\n\n");
    let whole = render(&corpus);
    for limit in [telegram::limit(), discord::limit(), Limit::utf16(100), Limit::chars(7)] {
        assert_cuts(&whole, limit);
    }
    assert!(split(&whole, discord::limit()).len() > 2);
}

#[test]
fn split_cuts_a_very_long_text_in_linear_time() {
    let markdown = "**word** `code` [link](http://example.org) text. ".repeat(4_000);
    assert_cuts(&render(&markdown), telegram::limit());
    assert_cuts(&Styled::plain("x".repeat(300_000)), Limit::chars(2000));
    assert_cuts(&Styled::plain("x\n".repeat(100_000)), Limit::chars(2000));
}

#[track_caller]
fn assert_cuts(whole: &Styled, limit: Limit) {
    let chunks = split(whole, limit);
    for chunk in &chunks {
        assert!(limit.fits_limit(chunk), "too long: {chunk:?}");
        assert_valid(chunk);
        assert_eq!(chunk.text.trim().is_empty(), whole.text.is_empty(), "{whole:?}");
    }
    let said: String = chunks.iter().map(|chunk| visible(&chunk.text)).collect();
    assert_eq!(said, visible(&whole.text));
}

proptest! {
    #[test]
    fn split_of_any_text_fits_and_loses_nothing(
        markdown in soup(),
        most in 1usize..60,
    ) {
        let whole = render(&markdown);
        assert_cuts(&whole, Limit::chars(most));
        assert_cuts(&whole, Limit::utf16(most + 1));
    }

    #[test]
    fn split_of_any_text_fits_into_discord_messages(markdown in soup(), most in 20usize..80) {
        assert_cuts(&render(&markdown), Limit::new(most, discord::size));
    }

    #[test]
    fn split_keeps_the_styled_text_styled(markdown in soup(), most in 1usize..60) {
        let whole = render(&markdown);
        let styled_text = |styled: &Styled, style: &Style| -> String {
            let ranges = styled.styles.iter().filter(|range| range.style == *style);
            ranges.map(|range| visible(&styled.text[range.start..range.end])).collect()
        };
        let chunks = split(&whole, Limit::chars(most));
        for range in &whole.styles {
            let said: String =
                chunks.iter().map(|chunk| styled_text(chunk, &range.style)).collect();
            prop_assert_eq!(said, styled_text(&whole, &range.style));
        }
    }
}
