use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The events of a turn, second by second.
struct Story(PreviewDraft);

impl Story {
    fn new() -> Self {
        Self(PreviewDraft::new(SECOND))
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
fn compose_shows_grown_text_once_per_interval() {
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
fn compose_does_not_show_a_short_unfinished_answer() {
    let mut story = Story::new();
    story.write("It is. ", 0);
    assert_eq!((story.0.due(), story.shows(5)), (None, None));
}

#[test]
fn take_discards_the_text_after_a_restart_or_at_a_new_step() {
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
fn compose_names_a_slow_tool_every_minute() {
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
fn compose_names_the_oldest_of_several_tools() {
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
fn due_repeats_a_missed_text_after_the_hold_of_the_platform() {
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
fn write_limits_the_length_of_an_endless_text() {
    let mut story = Story::new();
    (0..KEPT).for_each(|_| story.write("word ", 0));
    assert!(story.0.text.len() < KEPT + 10);
}
