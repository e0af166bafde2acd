use super::*;

/// Noon of the day 20,000.
const NOON: Timestamp = Timestamp(20_000 * DAY_MILLIS + DAY_MILLIS / 2);
const HALF_A_DAY: Duration = Duration::from_hours(12);
const HOUR: Duration = Duration::from_hours(1);

fn used(count: u64, last: Option<Duration>) -> IdentifyBudget {
    IdentifyBudget { day: 20_000, count, last, read_at: HOUR }
}

fn limit(remaining: u64, reset_after: u64) -> SessionStartLimit {
    let limit = serde_json::json!({
        "total": 1000, "remaining": remaining, "reset_after": reset_after, "max_concurrency": 1,
    });
    serde_json::from_value(limit).unwrap()
}

#[test]
fn f9_budget_wait_spaces_the_first_identifies_of_a_day_by_five_seconds() {
    let budget = used(49, Some(HOUR));
    assert_eq!(budget.wait(None, NOON, HOUR), Some(MIN_INTERVAL));
    assert_eq!(budget.wait(None, NOON, HOUR + MIN_INTERVAL), None);
    assert_eq!(used(49, None).wait(None, NOON, Duration::ZERO), None, "after a restart");
}

#[test]
fn f9_budget_wait_spreads_later_identifies_over_the_rest_of_the_day() {
    let share = HALF_A_DAY / 400;
    assert_eq!(used(500, Some(HOUR)).wait(None, NOON, HOUR), Some(share));
    assert_eq!(used(500, Some(HOUR)).wait(None, NOON, HOUR + share), None);
    assert_eq!(used(500, None).wait(None, NOON, HOUR), Some(share), "restarts do not go round it");
    assert_eq!(used(500, None).wait(None, NOON, HOUR + share), None);
    assert_eq!(used(899, Some(HOUR)).wait(None, NOON, HOUR), Some(HALF_A_DAY));
    assert_eq!(used(9999, Some(HOUR)).wait(None, NOON, HOUR), Some(HALF_A_DAY));
}

#[test]
fn f9_budget_keeps_a_day_of_failures_far_below_the_token_reset_limit() {
    let (mut now, mut elapsed, mut budget) = (Timestamp(20_000 * DAY_MILLIS), HOUR, used(0, None));
    let mut made = 0;
    while now.0 < 20_001 * DAY_MILLIS {
        if let Some(wait) = budget.wait(None, now, elapsed) {
            (now, elapsed) = (now.after(wait + Duration::from_millis(1)), elapsed + wait);
        } else {
            budget = budget.next(now, elapsed);
            made += 1;
        }
    }
    assert!((800..=900).contains(&made), "{made}");
}

#[test]
fn f9_budget_wait_lasts_until_the_reset_when_the_platform_has_none_left() {
    let budget = used(0, None);
    assert_eq!(budget.wait(Some(&limit(0, 60_000)), NOON, HOUR), Some(Duration::from_mins(1)));
    assert_eq!(budget.wait(Some(&limit(0, 0)), NOON, HOUR), Some(MIN_INTERVAL));
    assert_eq!(budget.wait(Some(&limit(1, 60_000)), NOON, HOUR), None);
}

#[test]
fn budget_count_survives_restarts_and_resets_each_day() {
    let budget = used(7, None).next(NOON, HOUR);
    assert_eq!(budget.cursor().position, "20000 8");
    assert_eq!(IdentifyBudget::read(&[budget.cursor()], HOUR), used(8, None));
    let tomorrow = Timestamp(NOON.0 + DAY_MILLIS);
    assert_eq!(budget.next(tomorrow, HOUR).cursor().position, "20001 1");
    let yesterday = Timestamp(NOON.0 - DAY_MILLIS);
    assert_eq!(budget.next(yesterday, HOUR).cursor().position, "20000 9", "a clock set back");
    let odd = Cursor { scope: SCOPE.to_owned(), position: "lots".to_owned() };
    assert_eq!(IdentifyBudget::read(&[odd], Duration::ZERO), IdentifyBudget::default());
}
