use avocet_protocol::chat::{Choice, Planned, Style, StyleRange};
use avocet_protocol::ids::WaitId;
use avocet_testkit::FakeChannel;

use super::*;

const LATER: Timestamp = Timestamp(3600 * 1000 + 1);

fn open(chunks: Vec<Content>) -> OpenPrompt {
    let address = "terminal:local:a".parse().unwrap();
    let prompt = Planned { address, chunks };
    OpenPrompt { wait: WaitId(1), prompt, said_at: Timestamp(0), is_repeated: false }
}

fn reminded(prompt: OpenPrompt) -> Vec<Content> {
    let channels = ChannelRegistry::new(vec![std::sync::Arc::new(FakeChannel::forgetful())]);
    make_reminder(&channels, prompt, LATER).unwrap().prompt.chunks
}

fn repeated(chunks: Vec<Content>) -> OpenPrompt {
    OpenPrompt { is_repeated: true, ..open(chunks) }
}

#[test]
fn reminder_starts_with_its_line_and_keeps_styles() {
    let styles = Some(vec![StyleRange::new(4..7, Style::Bold)]);
    let choices = vec![Choice::new("Yes", "/approve w1")];
    let asked = Content { styles, choices, ..Content::text("may I ask?") };
    let [reminder] = &reminded(open(vec![asked.clone()]))[..] else { panic!() };
    assert_eq!(reminder.text, "Still waiting for a decision:\nmay I ask?");
    let range = reminder.styles.as_ref().unwrap()[0].range();
    assert_eq!((&reminder.text[range], &asked.text[4..7]), ("I a", "I a"));
    assert_eq!(reminder.choices, asked.choices);
    let again = reminded(repeated(vec![reminder.clone()]));
    assert_eq!(&again[0], reminder, "the line stands there once");
}

#[test]
fn reminder_puts_its_line_into_a_message_before_a_full_prompt() {
    let full = Content::text("x".repeat(FakeChannel::LIMIT));
    let last = Content { choices: vec![Choice::new("Yes", "/yes")], ..Content::text("well?") };
    let chunks = reminded(open(vec![full.clone(), last.clone()]));
    let expected = [Content::text(FIRST_LINE), full, last];
    assert_eq!(chunks, expected);
    assert_eq!(reminded(repeated(chunks)), expected, "the line stands there once");
}

#[test]
fn reminder_of_a_question_that_begins_like_one_has_its_line() {
    let asked = format!("{FIRST_LINE} is it blue?");
    let reminder = reminded(open(vec![Content::text(&asked)]));
    assert_eq!(reminder[0].text, format!("{FIRST_LINE}\n{asked}"));
}

#[test]
fn reminder_is_none_for_a_missing_channel_or_one_that_keeps_presses() {
    let channels = ChannelRegistry::new(vec![std::sync::Arc::new(FakeChannel::default())]);
    assert_eq!(make_reminder(&channels, open(vec![Content::text("well?")]), LATER), None);
    assert_eq!(
        make_reminder(&ChannelRegistry::default(), open(vec![Content::text("well?")]), LATER),
        None
    );
}
