use super::*;

fn cursor(scope: &str, position: &str) -> Cursor {
    Cursor { scope: scope.to_owned(), position: position.to_owned() }
}

#[test]
fn positions_read_parses_cursors_and_ignores_malformed_ones() {
    let positions = ReadPositions::read(&[
        cursor("5", "9"),
        cursor("direct 77", "6"),
        cursor("began", "3"),
        cursor("identify", "20454 1"),
        cursor("6", "x"),
        cursor("direct x", "6"),
    ]);
    assert_eq!(positions.channels(), [(ChannelId::new(5), MessageId::new(9))].into());
    assert_eq!(positions.direct(77), Some(ChannelId::new(6)));
    assert_eq!(positions.first_start, Some(MessageId::new(3)));
}

#[test]
fn positions_cursor_never_moves_back() {
    let (mut positions, channel) = (ReadPositions::read(&[cursor("5", "9")]), ChannelId::new(5));
    assert_eq!(positions.cursor(channel, MessageId::new(9)), None);
    assert_eq!(positions.cursor(channel, MessageId::new(10)), Some(cursor("5", "10")));
    positions.note_read(channel, MessageId::new(12));
    positions.note_read(channel, MessageId::new(11));
    assert_eq!(positions.cursor(channel, MessageId::new(12)), None);
}

#[test]
fn positions_since_starts_at_the_join_or_first_start_at_most_a_day_back() {
    let hour = Duration::from_hours(1);
    let at = |hours: u32| Timestamp(1_767_225_600_000).after(hour * hours);
    let mut positions = ReadPositions::default();
    let kept = positions.note_first_start(at(0)).unwrap();
    assert_eq!(positions.note_first_start(at(1)), None, "there is one first start");
    let positions = ReadPositions::read(&[kept]);
    assert_eq!(positions.since(None, at(5)), first_id_after(at(0)));
    assert_eq!(positions.since(Some(at(3)), at(5)), first_id_after(at(3)));
    assert_eq!(positions.since(Some(at(3)), at(72)), first_id_after(at(48)));
}
