use avocet_protocol::chat::{Choice, Delivery};
use avocet_protocol::ids::DeliveryId;

use super::*;

const NOW: Timestamp = Timestamp(1000);

fn head(unknown: bool, repeat: bool, attempts: u32) -> Head {
    let address = "terminal:local:a".parse().unwrap();
    let delivery =
        Delivery { repeat, ..Delivery::new(DeliveryId(1), address, Content::text("hi")) };
    Head {
        delivery,
        unknown,
        attempts,
        not_before: Timestamp(0),
        held_at: Timestamp(0),
        failing_since: None,
        error: None,
        notice: false,
        is_edit: false,
    }
}

#[test]
fn next_sends_a_chunk_once_unless_its_outcome_is_unknown() {
    use OnUnknown::{RepeatMarked, RepeatSafe};
    let table = [
        (head(false, false, 0), RepeatMarked, NextStep::Send { repeat: false }),
        (head(false, false, 5), RepeatMarked, NextStep::Send { repeat: false }),
        (head(true, false, 1), RepeatMarked, NextStep::Send { repeat: true }),
        (head(true, true, 2), RepeatMarked, NextStep::Abandon),
        (head(true, false, 1), RepeatSafe, NextStep::Send { repeat: false }),
        (head(true, false, 300), RepeatSafe, NextStep::Abandon),
    ];
    for (head, rule, step) in table {
        assert_eq!(next(&head, rule, NOW), step, "{head:?} {rule:?}");
    }
    let edit = |attempts| {
        let Head { delivery, .. } = head(true, false, attempts);
        let delivery = Delivery { shown_as: Some("p1".parse().unwrap()), ..delivery };
        Head { delivery, ..head(true, false, attempts) }
    };
    assert_eq!(next(&edit(1), RepeatMarked, NOW), NextStep::Send { repeat: false }, "an edit");
    assert_eq!(next(&edit(300), RepeatMarked, NOW), NextStep::Abandon, "not for ever");
    let question = |attempts| {
        let mut asked = head(true, true, attempts);
        asked.delivery.content.choices = vec![Choice::new("Skip it", "/skip w1")];
        asked
    };
    assert_eq!(
        next(&question(4), RepeatMarked, NOW),
        NextStep::Send { repeat: true },
        "a question"
    );
    assert_eq!(next(&question(5), RepeatMarked, NOW), NextStep::Abandon, "not for ever");
    let later = Head { not_before: Timestamp(1001), ..head(false, false, 1) };
    assert_eq!(next(&later, RepeatMarked, NOW), NextStep::Wait(Timestamp(1001)));
    assert_eq!(next(&later, RepeatMarked, Timestamp(1001)), NextStep::Send { repeat: false });
}

#[test]
fn next_waits_no_longer_than_planned_after_the_clock_is_set_back() {
    const HOUR: i64 = 3_600_000;
    let held = Head { not_before: Timestamp(9 * HOUR + 300), ..head(false, false, 1) };
    let held = Head { held_at: Timestamp(9 * HOUR), ..held };
    for (now, expected) in [
        (9 * HOUR, NextStep::Wait(Timestamp(9 * HOUR + 300))),
        (9 * HOUR + 200, NextStep::Wait(Timestamp(9 * HOUR + 300))),
        (6 * HOUR, NextStep::Wait(Timestamp(6 * HOUR + 300))),
        (9 * HOUR + 300, NextStep::Send { repeat: false }),
        (99 * HOUR, NextStep::Send { repeat: false }),
    ] {
        assert_eq!(next(&held, OnUnknown::RepeatMarked, Timestamp(now)), expected, "{now}");
    }
}

#[test]
fn pause_after_unknown_is_fixed_for_a_marked_repetition_and_grows_for_others() {
    use OnUnknown::{RepeatMarked, RepeatSafe};
    let edit = |attempts| {
        let head = head(false, false, attempts);
        let shown_as = Some("p1".parse().unwrap());
        Head { delivery: Delivery { shown_as, ..head.delivery.clone() }, ..head }
    };
    let table = [
        (head(false, false, 0), RepeatMarked, 15_000),
        (head(true, true, 1), RepeatMarked, 15_000),
        (head(false, false, 0), RepeatSafe, 250),
        (head(true, false, 3), RepeatSafe, 2000),
        (edit(0), RepeatMarked, 250),
        (edit(3), RepeatMarked, 2000),
    ];
    for (head, rule, millis) in table {
        let pause = pause_after_unknown(&head, rule);
        assert_eq!(pause, Duration::from_millis(millis), "{head:?} {rule:?}");
    }
}

#[test]
fn judge_waits_longer_after_each_failure_and_abandons_the_chunk_at_last() {
    let failed = |attempts: u32| {
        let failed = Err(SendError::Failed("no route".to_owned()));
        match judge_attempt(
            failed,
            &head(false, false, attempts - 1),
            OnUnknown::RepeatMarked,
            0,
            NOW,
        ) {
            AttemptOutcome::End(SendEnd::Again { not_before, .. }) => Ok(not_before.0 - NOW.0),
            AttemptOutcome::Dead(error) => Err(error),
            _ => panic!(),
        }
    };
    let waits: Vec<_> = (1..=300).map(failed).collect();
    let dead = Err("no route; tried 300 times".to_owned());
    let mut expected: Vec<_> = (0..11).map(|doubled| Ok(250 << doubled)).collect();
    expected.resize(299, Ok(300_000));
    expected.push(dead);
    assert_eq!(waits, expected);
    assert_eq!(wait_after(99), LONGEST_WAIT);
}

/// Names the verdict: `again`, `unknown`, `dead` or `unconfirmed`.
fn judged(error: SendError, head: &Head, rule: OnUnknown, failed_alone: u32) -> String {
    match judge_attempt(Err(error), head, rule, failed_alone, NOW) {
        AttemptOutcome::End(SendEnd::Again { .. }) => "again".to_owned(),
        AttemptOutcome::End(SendEnd::Unknown { .. }) => "unknown".to_owned(),
        AttemptOutcome::Dead(error) => format!("dead: {error}"),
        AttemptOutcome::Unconfirmed(error) => format!("unconfirmed: {error}"),
        _ => panic!(),
    }
}

#[test]
fn judge_abandons_a_chunk_that_fails_for_minutes_while_other_chats_succeed() {
    use OnUnknown::{RepeatMarked, RepeatSafe};
    let (failed, unknown) =
        (|| SendError::Failed("500".into()), || SendError::Unknown("500".into()));
    let long = NOW.before(STUCK_AFTER);
    let just_now = Timestamp(long.0 + 1);
    let why = "500; tried 9 times while messages to other chats got through";
    let [dead, unconfirmed] = ["dead", "unconfirmed"].map(|end| format!("{end}: {why}"));
    let (again, open) = ("again".to_owned(), "unknown".to_owned());
    let table = [
        (failed(), Some(long), RepeatMarked, 2, &dead),
        (failed(), Some(long), RepeatSafe, 2, &dead),
        (failed(), Some(long), RepeatSafe, 1, &again),
        (failed(), Some(long), RepeatSafe, 0, &again),
        (failed(), Some(just_now), RepeatSafe, 9, &again),
        (failed(), None, RepeatSafe, 9, &again),
        (unknown(), Some(long), RepeatSafe, 2, &unconfirmed),
        (unknown(), Some(long), RepeatSafe, 1, &open),
        (unknown(), Some(just_now), RepeatSafe, 9, &open),
        // This rule abandons a chunk after its one repetition.
        (unknown(), Some(long), RepeatMarked, 9, &open),
        (SendError::RetryAfter(STUCK_AFTER), Some(long), RepeatSafe, 9, &again),
    ];
    for (error, failing_since, rule, failed_alone, expected) in table {
        let head = Head { failing_since, ..head(false, false, 8) };
        let told = format!("{error:?} {failing_since:?} {rule:?} {failed_alone}");
        assert_eq!(judged(error, &head, rule, failed_alone), *expected, "{told}");
    }
}

#[test]
fn f6_judge_obeys_a_long_retry_after_without_counting_an_attempt() {
    let asked = Duration::from_hours(2);
    let asks = Err(SendError::RetryAfter(asked));
    let AttemptOutcome::End(SendEnd::Again { not_before, counts, .. }) =
        judge_attempt(asks, &head(false, false, 299), OnUnknown::RepeatMarked, 99, NOW)
    else {
        panic!()
    };
    assert_eq!((not_before, counts), (NOW.after(asked), false), "it is no attempt");
}

#[test]
fn notices_name_the_message_and_the_resend_command() {
    let content =
        Content::text("The quick brown fox jumps over the lazy dog,\n\nand then it sleeps.");
    assert_eq!(
        unconfirmed_notice(&content).text,
        "I could not confirm that this message arrived: “The quick brown fox jumps over the lazy \
         dog, and then it sle…” /resend sends it again."
    );
    assert_eq!(
        dead_notice(&Content::text("hi"), "chat not found", true).text,
        "I could not send this message: “hi” (chat not found). /resend tries it again."
    );
}

#[test]
fn judge_ends_a_removal_that_fails_without_a_notice() {
    let removal = |attempts| {
        let Head { delivery, .. } = head(false, false, attempts);
        let shown_as = Some("p1".parse().unwrap());
        let delivery = Delivery { shown_as, content: Content::default(), ..delivery };
        Head { delivery, is_edit: true, ..head(false, false, attempts) }
    };
    let judged = |attempts, error| match judge_attempt(
        Err(error),
        &removal(attempts),
        OnUnknown::RepeatMarked,
        0,
        NOW,
    ) {
        AttemptOutcome::End(end) => end,
        _ => panic!("a notice"),
    };
    let done = SendEnd::Sent(Receipt { platform_id: None });
    for error in [SendError::Gone, SendError::Refused("too old".to_owned())] {
        assert_eq!(judged(0, error), done);
    }
    let failed = || SendError::Failed("no route".to_owned());
    assert!(matches!(judged(0, failed()), SendEnd::Again { .. }));
    assert_eq!(judged(MAX_REMOVALS - 1, failed()), done);
    assert_eq!(judged(MAX_REMOVALS - 1, SendError::Unknown("reset".to_owned())), done);
}

#[test]
fn judge_marks_the_later_sends_of_a_chunk_sent_in_part() {
    let judged = |rest| {
        let sent = Err(SendError::Partly(Box::new(rest)));
        match judge_attempt(sent, &head(false, false, 0), OnUnknown::RepeatMarked, 0, NOW) {
            AttemptOutcome::End(SendEnd::Partly(rest)) => {
                matches!(*rest, SendEnd::Again { .. }).then_some("again")
            }
            AttemptOutcome::End(SendEnd::Unknown { .. }) => Some("unknown"),
            AttemptOutcome::PartlyDead(_) => Some("dead"),
            AttemptOutcome::Unreachable(SendEnd::Partly(_)) => Some("unreachable"),
            _ => None,
        }
    };
    let text = || "no".to_owned();
    let table = [
        (SendError::RetryAfter(Duration::from_secs(3)), "again"),
        (SendError::Failed(text()), "again"),
        (SendError::Unknown(text()), "unknown"),
        (SendError::Refused(text()), "dead"),
        (SendError::Unreachable, "unreachable"),
    ];
    for (rest, expected) in table {
        assert_eq!(judged(rest.clone()), Some(expected), "{rest:?}");
    }
}
