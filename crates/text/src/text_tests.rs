use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(input: &str, text: &str, removed: usize) {
    assert_eq!(sanitise(input), Sanitised { text: text.to_owned(), removed });
}

#[test]
fn sanitise_keeps_plain_text_and_line_breaks() {
    check("a\n\tb\r\n", "a\n\tb\r\n", 0);
    check("", "", 0);
    check("Grüße, 你好, Ünïcödé", "Grüße, 你好, Ünïcödé", 0);
}

#[test]
fn sanitise_removes_control_characters() {
    check("a\0b", "ab", 1);
    check("\u{7f}x\u{1b}[2J", "x[2J", 2);
    check("\u{80}\u{9f}c1", "c1", 2);
}

#[test]
fn sanitise_removes_bidirectional_overrides() {
    check("evil\u{202e}gpj.exe\u{202c}", "evilgpj.exe", 2);
    check("\u{2066}a\u{2069}", "a", 2);
}

#[test]
fn sanitise_keeps_direction_marks_only_beside_right_to_left_letters() {
    check("שלום C++\u{200e}!", "שלום C++\u{200e}!", 0);
    check("C++\u{200e}!", "C++!", 1);
}

#[test]
fn sanitise_removes_tag_characters_even_from_flags() {
    check("hi\u{e0068}\u{e0069}\u{e007f}", "hi", 3);
    check("🏴\u{e0067}\u{e0062}\u{e007f}", "🏴", 3);
}

#[test]
fn sanitise_keeps_emoji_sequences() {
    for emoji in ["👩‍🚀", "👨‍👩‍👧‍👦", "❤️‍🔥", "🏳️‍🌈", "👍🏽", "🧑🏽‍🤝‍🧑🏻", "🤷‍♂️", "🇩🇪", "1️⃣"]
    {
        check(emoji, emoji, 0);
    }
}

#[test]
fn sanitise_keeps_joiners_of_arabic_and_indic_scripts() {
    for word in ["می\u{200c}خواهم", "क्\u{200d}ष", "ന്\u{200d}", "ශ්\u{200d}රී", "র\u{200d}্য"]
    {
        check(word, word, 0);
    }
}

#[test]
fn sanitise_removes_zero_width_characters_elsewhere() {
    check("pass\u{200b}word\u{feff}\u{2060}\u{ad}", "password", 4);
    check("a\u{200d}b\u{200c}c", "abc", 2);
    check("می\u{200c}\u{200c}\u{200d}", "می\u{200c}", 2);
}

#[test]
fn sanitise_removes_all_but_the_first_variation_selector() {
    check("😀\u{fe0f}\u{fe01}\u{fe02}\u{e0101}", "😀\u{fe0f}", 3);
    check("葛\u{e0100}", "葛\u{e0100}", 0);
}

#[test]
fn sanitise_composes_text() {
    check("e\u{301}", "é", 0);
}

/// Characters that the rules mention, mixed with ordinary ones.
fn tricky() -> impl Strategy<Value = String> {
    let tricky = prop::sample::select(vec![
        '\0',
        '\u{7f}',
        '\n',
        'a',
        ' ',
        '1',
        'é',
        'e',
        '\u{301}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{200f}',
        '\u{202e}',
        '\u{2066}',
        '\u{fe0f}',
        '\u{fe00}',
        '\u{e0100}',
        '\u{e0041}',
        '😀',
        '👩',
        '🚀',
        '❤',
        '🏽',
        'م',
        'ی',
        'क',
        '्',
        '़',
        '葛',
        'ש',
        '\u{ad}',
        'ᄀ',
        'ᅡ',
        '\u{1160}',
        '\u{0600}',
        '\u{13430}',
        '\u{2028}',
        '\u{180e}',
        '\u{3099}',
        'は',
        '\u{feff}',
    ]);
    prop::collection::vec(prop_oneof![4 => tricky, 1 => any::<char>()], 0..24)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn sanitise_is_idempotent(text in tricky()) {
        let once = sanitise(&text).text;
        prop_assert_eq!(sanitise(&once), Sanitised { text: once.clone(), removed: 0 });
    }

    #[test]
    fn sanitise_leaves_no_forbidden_character(text in tricky()) {
        let forbidden = |c: char| match c {
            '\n' | '\r' | '\t' => false,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
            '\u{e0000}'..='\u{e007f}' | '\u{200b}' | '\u{feff}' => true,
            c => c.is_control(),
        };
        prop_assert_eq!(sanitise(&text).text.find(forbidden), None);
    }
}

#[test]
fn end_sentence_adds_one_full_stop_at_most() {
    let table = [
        ("it failed", "it failed."),
        ("it failed.", "it failed."),
        ("it failed. \n", "it failed."),
        ("is it busy?", "is it busy?"),
        ("no!", "no!"),
        ("cut off…", "cut off…"),
        ("it says \"no.\"", "it says \"no.\""),
        ("it says \"no\"", "it says \"no\"."),
        ("it failed (busy.)", "it failed (busy.)."),
        ("", "."),
    ];
    for (text, expected) in table {
        assert_eq!(end_sentence(text.to_owned()), expected, "{text}");
    }
}
