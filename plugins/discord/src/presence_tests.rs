use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn text(update: Option<Value>) -> Option<String> {
    Some(update?["d"]["activities"][0]["state"].as_str()?.to_owned())
}

#[test]
fn update_follows_the_work_within_the_rate_of_the_platform() {
    let mut shown = ShownPresence::new(true);
    let idle = WorkSigns::default();
    assert_eq!(text(shown.update(idle, SECOND)).as_deref(), Some("Ready"));
    assert_eq!((shown.update(idle, 9 * SECOND), shown.due(idle, 9 * SECOND)), (None, None));
    let mut shown = ShownPresence { next_at: 5 * SECOND, ..shown };
    let working = WorkSigns { typed: Some(3 * SECOND), has_failed: false };
    assert_eq!(shown.update(working, 3 * SECOND), None, "too early");
    assert_eq!(shown.due(working, 3 * SECOND), Some(2 * SECOND));
    assert_eq!(text(shown.update(working, 5 * SECOND)).as_deref(), Some("Working…"));
    assert_eq!(shown.due(working, 5 * SECOND), Some(8 * SECOND), "without further signs");
    assert_eq!(text(shown.update(working, 13 * SECOND)).as_deref(), Some("Ready"));
    let failed = WorkSigns { typed: None, has_failed: true };
    let update = shown.update(failed, 20 * SECOND).unwrap();
    assert_eq!((&update["op"], &update["d"]["status"]), (&json!(3), &json!("dnd")));
}

#[test]
fn update_of_a_presence_that_is_off_never_comes() {
    let mut shown = ShownPresence::new(false);
    assert_eq!(shown.update(WorkSigns::default(), SECOND), None);
    assert_eq!(shown.due(WorkSigns::default(), SECOND), None);
}

#[test]
fn activity_ends_with_the_outcome_of_the_answer() {
    let activity = BotActivity::default();
    let signs = activity.follow();
    activity.note_typing(SECOND);
    assert_eq!(signs.borrow().typed, Some(SECOND));
    activity.note_outcome(Outcome::Error);
    assert_eq!(*signs.borrow(), WorkSigns { typed: None, has_failed: true });
    activity.note_outcome(Outcome::Replied);
    assert_eq!(*signs.borrow(), WorkSigns::default());
}
