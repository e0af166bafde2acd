use avocet_protocol::{Choice, Style, StyleRange, WaitId};
use avocet_testkit::FakeChannel;

use super::*;

fn open(chunks: Vec<Content>) -> OpenPrompt {
    let address = "terminal:local:a".parse().unwrap();
    OpenPrompt { wait: WaitId(1), prompt: Planned { address, chunks } }
}

fn reminded(chunks: Vec<Content>) -> Vec<Content> {
    let channels = Channels::new(vec![std::sync::Arc::new(FakeChannel::forgetful())]);
    reminder(&channels, open(chunks)).unwrap().prompt.chunks
}

#[test]
fn the_line_leads_and_what_is_styled_stays_so() {
    let styles = Some(vec![StyleRange::new(4..7, Style::Bold)]);
    let choices = vec![Choice::new("Yes", "/approve w1")];
    let asked = Content { styles, choices, ..Content::text("may I ask?") };
    let [reminder] = &reminded(vec![asked.clone()])[..] else { panic!() };
    assert_eq!(reminder.text, "Still to be decided:\nmay I ask?");
    let range = reminder.styles.as_ref().unwrap()[0].range();
    assert_eq!((&reminder.text[range], &asked.text[4..7]), ("I a", "I a"));
    assert_eq!(reminder.choices, asked.choices);
    assert_eq!(&reminded(vec![reminder.clone()])[0], reminder, "the line stands there once");
}

#[test]
fn a_prompt_that_fills_its_messages_is_cut_anew() {
    let full = "x".repeat(FakeChannel::LIMIT);
    let last = Content { choices: vec![Choice::new("Yes", "/yes")], ..Content::text("well?") };
    let chunks = reminded(vec![Content::text(&full), last.clone()]);
    assert_eq!((chunks.len(), chunks.last()), (3, Some(&last)));
    let text: String = chunks[..2].iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(text, format!("{FIRST_LINE}{full}"));
}

#[test]
fn a_channel_that_is_not_there_or_forgets_nothing_is_left_alone() {
    let channels = Channels::new(vec![std::sync::Arc::new(FakeChannel::default())]);
    assert_eq!(reminder(&channels, open(vec![Content::text("well?")])), None);
    assert_eq!(reminder(&Channels::default(), open(vec![Content::text("well?")])), None);
}
