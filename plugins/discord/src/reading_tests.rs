use super::*;

fn cursor(scope: &str, position: &str) -> Cursor {
    Cursor { scope: scope.to_owned(), position: position.to_owned() }
}

#[test]
fn reading_of_parses_cursors_and_ignores_malformed_ones() {
    let reading = Reading::of(&[
        cursor("5", "9"),
        cursor("direct 77", "6"),
        cursor("began", "3"),
        cursor("identify", "20454 1"),
        cursor("6", "x"),
        cursor("direct x", "6"),
    ]);
    assert_eq!(reading.channels(), [(ChannelId::new(5), MessageId::new(9))].into());
    assert_eq!(reading.direct(77), Some(ChannelId::new(6)));
    assert_eq!(reading.began, Some(MessageId::new(3)));
}

#[test]
fn reading_cursor_never_moves_back() {
    let (mut reading, channel) = (Reading::of(&[cursor("5", "9")]), ChannelId::new(5));
    assert_eq!(reading.cursor(channel, MessageId::new(9)), None);
    assert_eq!(reading.cursor(channel, MessageId::new(10)), Some(cursor("5", "10")));
    reading.has_read(channel, MessageId::new(12));
    reading.has_read(channel, MessageId::new(11));
    assert_eq!(reading.cursor(channel, MessageId::new(12)), None);
}

#[test]
fn reading_since_starts_at_the_join_or_first_start_at_most_a_day_back() {
    let hour = Duration::from_hours(1);
    let at = |hours: u32| Timestamp(1_767_225_600_000).after(hour * hours);
    let mut reading = Reading::default();
    let kept = reading.note_beginning(at(0)).unwrap();
    assert_eq!(reading.note_beginning(at(1)), None, "there is one first start");
    let reading = Reading::of(&[kept]);
    assert_eq!(reading.since(None, at(5)), snowflake(at(0)));
    assert_eq!(reading.since(Some(at(3)), at(5)), snowflake(at(3)));
    assert_eq!(reading.since(Some(at(3)), at(72)), snowflake(at(48)));
}
