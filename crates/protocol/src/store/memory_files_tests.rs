use super::*;

#[test]
fn visible_text_drops_invisible_ends_only() {
    let table = [
        ("a", "a"),
        ("", ""),
        ("\n\na \r\n  b\t\n\n", "a\n  b"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("  a", "  a"),
    ];
    for (text, expected) in table {
        assert_eq!(visible_text(text), expected, "{text:?}");
        assert_eq!(visible_text(expected), expected);
    }
}

#[test]
fn conflict_text_names_the_other_memory() {
    assert_eq!(conflicts_with(&conflict_text(MemoryId(12), "a: b")), Some(MemoryId(12)));
    for text in ["", "Conflict with", "Conflict with m12", "Conflict with us: a", "m12: a"] {
        assert_eq!(conflicts_with(text), None, "{text}");
    }
}
