use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The events of a turn, second by second.
struct Story(Draft);

impl Story {
    fn new() -> Self {
        Self(Draft::new(SECOND))
    }

    fn write(&mut self, text: &str, now: u64) {
        self.0.take(&TurnEvent::Text { delta: text.to_owned() }, at(now));
    }

    fn start(&mut self, name: &str, now: u64) {
        self.0.take(&TurnEvent::ToolStarted { name: name.to_owned() }, at(now));
    }

    fn finish(&mut self, name: &str, now: u64) {
        self.0.take(&TurnEvent::ToolFinished { name: name.to_owned(), ok: true }, at(now));
    }

    fn shows(&mut self, now: u64) -> Option<String> {
        self.0.compose(at(now))
    }
}

#[test]
fn a_text_is_shown_after_an_interval_and_then_once_an_interval_if_it_grew() {
    let mut story = Story::new();
    assert_eq!(story.0.due(), None);
    story.write("Once upon a ti", 10);
    assert_eq!(story.0.due(), Some(at(11)));
    assert_eq!(story.shows(10), None);
    assert_eq!(story.shows(11).as_deref(), Some("Once upon a …"));
    assert_eq!(story.0.due(), None, "nothing is new");
    story.write("me", 11);
    assert_eq!(story.0.due(), None, "the word may go on");
    story.write(" there", 11);
    assert_eq!(story.0.due(), Some(at(12)));
    assert_eq!(story.shows(12).as_deref(), Some("Once upon a time …"));
}

#[test]
fn a_short_answer_is_not_shown_before_it_is_whole() {
    let mut story = Story::new();
    story.write("It is. ", 0);
    assert_eq!((story.0.due(), story.shows(5)), (None, None));
}

#[test]
fn what_does_not_count_is_forgotten() {
    for event in [TurnEvent::Restarted, TurnEvent::Thinking { step: 1 }] {
        let mut story = Story::new();
        story.write("Once upon a time there", 0);
        story.0.take(&event, at(0));
        assert_eq!(story.0.due(), None, "{event:?}");
        story.write("In the beginning was ", 5);
        assert_eq!(story.0.due(), Some(at(6)));
        assert_eq!(story.shows(6).as_deref(), Some("In the beginning was …"));
        story.0.take(&event, at(6));
        story.write("No ", 7);
        assert_eq!(story.shows(8).as_deref(), Some("No …"), "it has begun: every word counts");
    }
}

#[test]
fn a_tool_that_takes_long_is_said_to_every_minute() {
    let mut story = Story::new();
    story.write("Let me run the tests. ", 0);
    story.shows(1);
    story.start("run_tests", 2);
    assert_eq!((story.0.due(), story.shows(61)), (Some(at(62)), None));
    assert_eq!(story.shows(62).as_deref(), Some("Still working: run_tests (1 min)"));
    assert_eq!((story.0.due(), story.shows(63)), (Some(at(122)), None));
    assert_eq!(story.shows(122).as_deref(), Some("Still working: run_tests (2 min)"));
    story.finish("run_tests", 130);
    assert_eq!(story.0.due(), None);
}

#[test]
fn of_several_tools_the_oldest_is_named() {
    let mut story = Story::new();
    story.start("a", 0);
    story.start("b", 30);
    assert_eq!(story.shows(60).as_deref(), Some("Still working: a (1 min)"));
    story.finish("unknown", 61);
    story.finish("a", 70);
    assert_eq!(story.0.due(), Some(at(90)));
    assert_eq!(story.shows(150).as_deref(), Some("Still working: b (2 min)"));
    story.0.take(&TurnEvent::Thinking { step: 1 }, at(151));
    assert_eq!(story.0.due(), None);
}

#[test]
fn what_was_not_shown_is_due_again_and_not_before_the_platform_wants_it() {
    let mut story = Story::new();
    story.write("Once upon a time ", 0);
    assert!(story.shows(1).is_some());
    story.0.missed();
    assert_eq!(story.0.due(), Some(at(2)));
    story.0.hold(at(30));
    assert_eq!((story.0.due(), story.shows(29)), (Some(at(30)), None));
    assert_eq!(story.shows(30).as_deref(), Some("Once upon a time …"));
}

#[test]
fn a_text_without_an_end_does_not_fill_the_memory() {
    let mut story = Story::new();
    (0..KEPT).for_each(|_| story.write("word ", 0));
    assert!(story.0.text.len() < KEPT + 10);
}
