use super::*;
use crate::START;

#[test]
fn snowflakes_grow_within_a_millisecond_and_contain_their_time() {
    let mut ids = Snowflakes::default();
    let (first, second, later) =
        (ids.next(START), ids.next(START), ids.next(Timestamp(START.0 + 1)));
    assert!(first < second && second < later);
    let time = |id: u64| i64::try_from(id >> TIME_SHIFT).unwrap() + EPOCH;
    assert_eq!([time(first), time(second), time(later)], [START.0, START.0, START.0 + 1]);
}

#[test]
fn iso_formats_a_time_as_discord_does() {
    for (millis, written) in [
        (0, "1970-01-01T00:00:00.000000+00:00"),
        (START.0, "2026-01-01T00:00:00.000000+00:00"),
        (START.0 - 1, "2025-12-31T23:59:59.999000+00:00"),
        (1_709_164_799_000, "2024-02-28T23:59:59.000000+00:00"),
        (1_709_164_800_000, "2024-02-29T00:00:00.000000+00:00"),
        (1_709_251_200_000, "2024-03-01T00:00:00.000000+00:00"),
    ] {
        assert_eq!(iso(Timestamp(millis)), written);
    }
}
