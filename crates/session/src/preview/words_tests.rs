use super::*;

#[test]
fn complete_words_omits_a_word_that_may_go_on() {
    let table = [
        ("", ""),
        ("Hel", ""),
        ("Hello ", "Hello"),
        ("Hello wor", "Hello"),
        ("Hello\n\nwor", "Hello"),
        ("a \u{2003}b", "a"),
        ("今日は", "今日は"),
        ("今日はok", "今日は"),
        ("안녕 hel", "안녕"),
    ];
    for (text, words) in table {
        assert_eq!(complete_words(text), words, "{text:?}");
    }
}

#[test]
fn are_few_rejects_texts_that_are_long_enough_for_a_preview() {
    for few in ["Yes.", "It is", "今日は"] {
        assert!(are_few(few), "{few}");
    }
    for enough in ["It is so", "今日はとても良い天気ですから、公園へ散歩に行きましょうか"]
    {
        assert!(!are_few(enough), "{enough}");
    }
}

#[test]
fn unfinished_adds_an_ellipsis_behind_a_closed_fence() {
    let table = [
        ("one two", "one two …"),
        ("see:\n```rust\nlet a", "see:\n```rust\nlet a\n```\n…"),
        ("````\n```\na", "````\n```\na\n````\n…"),
        ("~~~\na\n~~~\nb", "~~~\na\n~~~\nb …"),
        ("```a```", "```a``` …"),
    ];
    for (text, shown) in table {
        assert_eq!(mark_unfinished(text), shown);
    }
}

/// Plans for a platform whose messages hold ten characters.
fn plan(text: &str) -> Vec<Content> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(10).map(|chunk| Content::text(chunk.iter().collect::<String>())).collect()
}

#[test]
fn first_message_keeps_the_ellipsis_in_a_single_message() {
    let first = |text: &str| first_message(plan, text).map(|content| content.text);
    assert_eq!(first("one two …").as_deref(), Some("one two …"));
    assert_eq!(first("one two three four …").as_deref(), Some("one two …"));
    assert_eq!(first("onetwothreefour …"), None, "not even a word of it fits");
    assert_eq!(first("   "), None);
}
