use avocet_protocol::ids::{DeliveryId, PlatformId};

use super::*;

fn content(text: &str) -> Content {
    Content::text(text)
}

fn message(part: usize, is_complete: bool) -> PreviewState {
    let id = DeliveryId(i64::try_from(part).unwrap());
    let message = PlatformId::parse(&format!("p{part}")).unwrap();
    if is_complete { PreviewState::Complete(id, message) } else { PreviewState::In(id, message) }
}

fn showed(state: PreviewState, content: Option<Content>) -> ShowResult {
    ShowResult { state, content, hold: None }
}

/// Shows these messages until nothing is left to change, and returns the changes.
fn show(parts: &mut PreviewParts, wanted: &[&str]) -> Vec<(usize, String, bool)> {
    parts.set_wanted(wanted.iter().map(|text| content(text)).collect());
    let mut changes = Vec::new();
    while let Some(PartUpdate { part, content, is_complete, .. }) = parts.next() {
        changes.push((part, content.text.clone(), is_complete));
        parts.note_shown(part, &showed(message(part, is_complete), Some(content)));
    }
    changes
}

fn change(part: usize, text: &str, is_complete: bool) -> (usize, String, bool) {
    (part, text.to_owned(), is_complete)
}

fn new() -> PreviewParts {
    PreviewParts::new(Some(content("…")))
}

#[test]
fn next_completes_a_message_before_the_following_one_begins() {
    let mut parts = new();
    assert_eq!(show(&mut parts, &[]), []);
    assert_eq!(show(&mut parts, &["one …"]), [change(0, "one …", false)]);
    assert_eq!(
        show(&mut parts, &["one.", "two …"]),
        [change(0, "one.", true), change(1, "two …", false)]
    );
    assert_eq!(show(&mut parts, &["one.", "two …"]), []);
    assert_eq!(
        show(&mut parts, &["one.", "two.", "three.", "four …"]),
        [change(1, "two.", true), change(2, "three.", true), change(3, "four …", false)]
    );
}

#[test]
fn next_changes_a_complete_message_if_its_text_differs() {
    let mut parts = new();
    show(&mut parts, &["one", "two …"]);
    assert_eq!(show(&mut parts, &["One", "two …"]), [change(0, "One", true)]);
}

#[test]
fn next_empties_messages_that_a_shorter_text_does_not_need() {
    let mut parts = new();
    show(&mut parts, &["one", "two", "three …"]);
    let emptied = [change(0, "new …", false), change(1, "…", false), change(2, "…", false)];
    assert_eq!(show(&mut parts, &["new …"]), emptied);
    let again = [change(0, "new", true), change(1, "text …", false)];
    assert_eq!(show(&mut parts, &["new", "text …"]), again);
    assert_eq!(show(&mut parts, &[]), [], "without text, the chat stays as it is");
}

#[test]
fn next_goes_no_further_than_a_message_that_is_over() {
    let mut parts = new();
    show(&mut parts, &["one", "two …"]);
    parts.set_wanted(["one", "two", "three …"].map(content).to_vec());
    let update = parts.next().unwrap();
    assert_eq!((update.part, update.state), (1, message(1, false)));
    parts.note_shown(1, &showed(PreviewState::Over, None));
    assert_eq!(parts.next(), None);
    assert_eq!(show(&mut parts, &["One", "two …"]), [change(0, "One", true)]);
}

#[test]
fn next_repeats_a_change_that_failed() {
    let mut parts = new();
    show(&mut parts, &["one …"]);
    parts.set_wanted(vec![content("one two …")]);
    let update = parts.next().unwrap();
    parts.note_shown(0, &showed(message(0, false), None));
    assert_eq!(parts.next(), Some(update));
    parts.set_wanted(vec![content("one …")]);
    assert!(parts.next().is_some(), "the outcome of the failed edit is unknown");
    // A message that has not begun is no message yet.
    let mut parts = new();
    parts.set_wanted(vec![content("one …")]);
    parts.note_shown(0, &showed(PreviewState::Nowhere, None));
    assert_eq!(parts.next().unwrap().state, PreviewState::Nowhere);
}
