use super::*;

#[test]
fn name_of_a_thread_is_the_beginning_of_its_message() {
    let long = format!("compare {}", "the prices of all the birds ".repeat(9));
    for (text, expected) in [
        ("buy  a\nbird", "buy a bird"),
        (" \n ", "Conversation"),
        (&long, "compare the prices of all the birds the prices of all the…"),
    ] {
        assert_eq!(short_name(text), expected);
    }
    assert_eq!(short_name(&"🐦".repeat(500)).chars().count(), SHOWN_NAME + 1);
}
