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
        self.0.apply_event(&TurnEvent::Text { delta: text.to_owned() }, at(now));
    }

    fn start(&mut self, name: &str, now: u64) {
        self.0.apply_event(
            &TurnEvent::ToolStarted { name: name.to_owned(), about: None, call: None },
            at(now),
        );
    }

    fn finish(&mut self, name: &str, now: u64) {
        self.0.apply_event(
            &TurnEvent::ToolFinished { name: name.to_owned(), ok: true, call: None },
            at(now),
        );
    }

    fn shows(&mut self, now: u64) -> Option<String> {
        self.0.next_text(at(now))
    }
}

#[test]
fn compose_shows_grown_text_once_per_interval() {
    let mut story = Story::new();
    assert_eq!(story.0.next_update_at(), None);
    story.write("Once upon a ti", 10);
    assert_eq!(story.0.next_update_at(), Some(at(11)));
    assert_eq!(story.shows(10), None);
    assert_eq!(story.shows(11).as_deref(), Some("Once upon a …"));
    assert_eq!(story.0.next_update_at(), None, "nothing is new");
    story.write("me", 11);
    assert_eq!(story.0.next_update_at(), None, "the word may go on");
    story.write(" there", 11);
    assert_eq!(story.0.next_update_at(), Some(at(12)));
    assert_eq!(story.shows(12).as_deref(), Some("Once upon a time …"));
}

#[test]
fn compose_does_not_show_a_short_unfinished_answer() {
    let mut story = Story::new();
    story.write("It is. ", 0);
    assert_eq!((story.0.next_update_at(), story.shows(5)), (None, None));
}

#[test]
fn take_discards_the_text_after_a_restart_or_at_a_new_step() {
    for event in [TurnEvent::Restarted, TurnEvent::Thinking { step: 1 }] {
        let mut story = Story::new();
        story.write("Once upon a time there", 0);
        story.0.apply_event(&event, at(0));
        assert_eq!(story.0.next_update_at(), None, "{event:?}");
        story.write("In the beginning was ", 5);
        assert_eq!(story.0.next_update_at(), Some(at(6)));
        assert_eq!(story.shows(6).as_deref(), Some("In the beginning was …"));
        story.0.apply_event(&event, at(6));
        story.write("No ", 7);
        assert_eq!(story.shows(8).as_deref(), Some("No …"), "it has begun: every word counts");
    }
}

#[test]
fn compose_shows_the_last_report_of_a_slow_tool_as_code() {
    let mut story = Story::new();
    story.start("files__index", 0);
    for (name, text) in [("files__index", "1 of 9"), ("files__index", "`2` of 9"), ("other", "x")] {
        let (name, text) = (name.to_owned(), text.to_owned());
        story.0.apply_event(&TurnEvent::ToolProgress { name, text }, at(1));
    }
    assert_eq!(story.0.next_update_at(), Some(at(5)), "a report alone is no update");
    let line = "Running files__index (5 s): `'2' of 9` …";
    assert_eq!(story.shows(5).as_deref(), Some(line));
    story.finish("files__index", 61);
    story.start("files__index", 62);
    assert_eq!(story.shows(122).as_deref(), Some("Running files__index (1 min) …"));
}

#[test]
fn compose_shows_a_slow_tool_with_its_argument_and_time_below_the_text() {
    let mut story = Story::new();
    story.write("Let me run the tests. ", 0);
    story.shows(1);
    let about = Some("cargo test".to_owned());
    let started = TurnEvent::ToolStarted { name: "exec_shell".to_owned(), about, call: None };
    story.0.apply_event(&started, at(2));
    assert_eq!((story.0.next_update_at(), story.shows(3)), (Some(at(4)), None));
    for (now, time, next) in
        [(4, "2 s", 17), (17, "15 s", 32), (62, "1 min", 122), (122, "2 min", 182)]
    {
        let line = format!("Let me run the tests.\n\nRunning shell: `cargo test` ({time}) …");
        assert_eq!(story.shows(now), Some(line));
        assert_eq!(story.0.next_update_at(), Some(at(next)));
    }
    story.finish("exec_shell", 130);
    assert_eq!(story.0.next_update_at(), None);
}

#[test]
fn compose_shows_the_oldest_of_several_tools() {
    let mut story = Story::new();
    story.start("a", 0);
    story.start("b", 1);
    assert_eq!(
        (story.0.next_update_at(), story.shows(4)),
        (Some(at(5)), None),
        "a quick tool is not shown"
    );
    assert_eq!(story.shows(5).as_deref(), Some("Running a (5 s) …"));
    story.finish("unknown", 6);
    story.finish("a", 6);
    assert_eq!(story.shows(20).as_deref(), Some("Running b (19 s) …"));
    story.0.apply_event(&TurnEvent::Thinking { step: 1 }, at(21));
    assert_eq!(story.0.next_update_at(), None);
}

#[test]
fn due_repeats_a_missed_line_after_the_hold_of_the_platform() {
    let mut story = Story::new();
    story.start("a", 0);
    assert!(story.shows(5).is_some());
    story.0.mark_missed();
    story.0.delay_until(at(10));
    assert_eq!((story.0.next_update_at(), story.shows(9)), (Some(at(10)), None));
    assert_eq!(story.shows(10).as_deref(), Some("Running a (10 s) …"));
}

#[test]
fn due_repeats_a_missed_text_after_the_hold_of_the_platform() {
    let mut story = Story::new();
    story.write("Once upon a time ", 0);
    assert!(story.shows(1).is_some());
    story.0.mark_missed();
    assert_eq!(story.0.next_update_at(), Some(at(2)));
    story.0.delay_until(at(30));
    assert_eq!((story.0.next_update_at(), story.shows(29)), (Some(at(30)), None));
    assert_eq!(story.shows(30).as_deref(), Some("Once upon a time …"));
}

#[test]
fn write_limits_the_length_of_an_endless_text() {
    let mut story = Story::new();
    (0..KEPT).for_each(|_| story.write("word ", 0));
    assert!(story.0.text.len() < KEPT + 10);
}
