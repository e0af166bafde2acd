use std::collections::BTreeMap;

use serde_json::json;

use super::*;

const OLD: ChatId = ChatId(-20);
const NEW: ChatId = ChatId(-1_000_000_000_020);
const MOVED: GroupMove = GroupMove { from: OLD, to: NEW };

#[test]
fn moves_home_keeps_the_old_chat_id_unless_the_new_one_is_configured() {
    let other = ChatId(-21);
    for (named, home) in [(vec![], OLD), (vec![OLD.0], OLD), (vec![NEW.0], NEW)] {
        let moves = Moves::new(named.into_iter().collect());
        assert_eq!(moves.home(NEW), NEW);
        moves.note_move(MOVED);
        let homes = [OLD, NEW, other].map(|chat| moves.home(chat));
        assert_eq!(homes, [OLD, home, other]);
        let places: BTreeMap<_, _> =
            [OLD, NEW, other].map(|chat| (chat, moves.place(chat))).into_iter().collect();
        assert_eq!(
            places[&OLD],
            ChatPlace { chat: NEW, moved: true },
            "what is sent there goes along"
        );
        assert_eq!(places[&NEW], ChatPlace { chat: NEW, moved: false });
        assert_eq!(places[&other], ChatPlace { chat: other, moved: false });
    }
}

#[test]
fn place_message_rejects_a_message_number_of_the_old_chat() {
    let here = ChatPlace { chat: OLD, moved: false };
    let there = ChatPlace::moved_to(NEW);
    let table = [("17", here, true), ("17", there, false), ("n17", there, true)];
    for (id, place, is_there) in table {
        let number = MessageNumber::of_sent(&id.parse().unwrap()).unwrap();
        assert_eq!(number.to_string(), id);
        assert_eq!(place.message(number), is_there.then_some(MessageId(17)), "{id} {place:?}");
    }
    for (id, lost) in [("17d", Some(TopicLoss::Deleted)), ("n17c", Some(TopicLoss::Closed))] {
        let number = MessageNumber::of_sent(&id.parse().unwrap()).unwrap();
        assert_eq!(
            (number.lost, number.id, number.to_string()),
            (lost, MessageId(17), id.to_owned())
        );
    }
    let of_received = |key: &str| MessageNumber::of_received(&key.parse().unwrap());
    assert_eq!(
        of_received("m17"),
        Some(MessageNumber { id: MessageId(17), in_supergroup: false, lost: None })
    );
    assert_eq!(
        of_received("n17"),
        Some(MessageNumber { id: MessageId(17), in_supergroup: true, lost: None })
    );
    assert_eq!(["c17", "17", "m", "mn17", "é"].map(of_received), [None; 5]);
}

#[test]
fn from_cursor_reads_the_cursor_of_a_move_and_rejects_others() {
    let cursor = |scope: &str, position: &str| Cursor {
        scope: scope.to_owned(),
        position: position.to_owned(),
    };
    assert_eq!(MOVED.cursor(), cursor("moved -1000000000020", "-20"));
    assert_eq!(GroupMove::from_cursor(&MOVED.cursor()), Some(MOVED));
    for (scope, position) in [("", "17"), ("moved -20", "x"), ("moved x", "-20"), ("x", "-20")] {
        assert_eq!(GroupMove::from_cursor(&cursor(scope, position)), None, "{scope} {position}");
    }
}

#[test]
fn read_finds_a_move_in_a_message_with_a_malformed_sender() {
    for (here, field, there) in
        [(OLD, "migrate_to_chat_id", NEW), (NEW, "migrate_from_chat_id", OLD)]
    {
        let chat = json!({ "id": here.0, "type": "group", "title": "Birds" });
        let message =
            json!({ "message_id": 5, "date": 1, "chat": chat, "from": 5, field: there.0 });
        let update = Update::read(json!({ "update_id": 1, "message": message })).unwrap();
        assert!(matches!(update.kind, UpdateKind::Error(_)), "{update:?}");
        assert_eq!(GroupMove::read(&update), Some(MOVED), "{field}");
    }
}
