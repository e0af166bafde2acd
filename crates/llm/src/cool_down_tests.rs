use avocet_testkit::{ManualClock, ScriptedModel};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn busy() -> ModelError {
    let (model, detail) = ("a/b".to_owned(), "503".to_owned());
    ModelError::Busy { model, detail: detail.into(), retry_after: None }
}

#[test]
fn cool_downs_record_does_not_lengthen_the_cool_down_for_requests_of_one_outage() {
    // Start and failure times of requests in seconds, and the expected end of the cool-down.
    let table: [(&[(u32, u32)], u32); 7] = [
        (&[(0, 10)], 40),
        (&[(0, 10), (0, 10), (5, 10), (9, 10)], 40),
        // A later failure restarts the cool-down with the same length.
        (&[(0, 10), (0, 20)], 50),
        // Asked during the cool-down.
        (&[(0, 10), (15, 16), (17, 18)], 48),
        // Begun after the cool-down.
        (&[(0, 10), (40, 41)], 101),
        (&[(0, 10), (40, 41), (39, 42), (40, 43)], 103),
        (&[(0, 10), (40, 41), (101, 102)], 222),
    ];
    for (failures, until) in table {
        let clock = Arc::new(ManualClock::default());
        let cool_downs = CoolDowns::new(clock.clone());
        for (began, failed) in failures {
            clock.advance(*failed * SECOND - clock.elapsed());
            cool_downs.record_outcome("a/b", *began * SECOND, Err(&busy()));
        }
        let (model, other) = (ScriptedModel::new(vec![]), ScriptedModel::new(vec![]));
        let (model, other) = (model.named("a/b"), other.named("c/d"));
        let available = || cool_downs.available_models(vec![&model, &other]).len();
        clock.advance(until * SECOND - clock.elapsed() - SECOND);
        assert_eq!(available(), 1, "{failures:?}");
        clock.advance(SECOND);
        assert_eq!(available(), 2, "{failures:?}");
    }
}
