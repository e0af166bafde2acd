use super::*;

#[test]
fn a_word_is_complete_when_something_else_follows() {
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
fn a_few_words_are_not_worth_a_preview() {
    for few in ["Yes.", "It is", "今日は"] {
        assert!(are_few(few), "{few}");
    }
    for enough in ["It is so", "今日はとても良い天気ですから、公園へ散歩に行きましょうか"]
    {
        assert!(!are_few(enough), "{enough}");
    }
}

#[test]
fn what_goes_on_says_so_behind_its_fence() {
    let table = [
        ("one two", "one two …"),
        ("see:\n```rust\nlet a", "see:\n```rust\nlet a\n```\n…"),
        ("````\n```\na", "````\n```\na\n````\n…"),
        ("~~~\na\n~~~\nb", "~~~\na\n~~~\nb …"),
        ("```a```", "```a``` …"),
    ];
    for (text, shown) in table {
        assert_eq!(unfinished(text), shown);
    }
}

/// Plans for a platform whose messages hold ten characters.
fn plan(text: &str) -> Vec<Content> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(10).map(|chunk| Content::text(chunk.iter().collect::<String>())).collect()
}

#[test]
fn a_preview_is_one_message_that_ends_as_it_should() {
    let first = |text: &str| first_message(plan, text).map(|content| content.text);
    assert_eq!(first("one two …").as_deref(), Some("one two …"));
    assert_eq!(first("one two three four …").as_deref(), Some("one two …"));
    assert_eq!(first("onetwothreefour …"), None, "not even a word of it fits");
    assert_eq!(first("   "), None);
}
