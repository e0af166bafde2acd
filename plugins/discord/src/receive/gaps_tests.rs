use serde_json::json;

use super::*;
use crate::gateway::MESSAGE_UPDATE;

fn live(name: &str, id: u64) -> LiveEvent {
    LiveEvent { name: name.to_owned(), data: json!({ "id": id.to_string() }) }
}

fn ids(lives: &[LiveEvent]) -> Vec<u64> {
    lives.iter().map(|live| message_id(&live.data).get()).collect()
}

#[test]
fn gap_take_until_returns_the_events_before_a_message_of_the_history() {
    let (channel, mut gaps) = (ChannelId::new(1), Gaps::default());
    gaps.note(channel, MessageId::new(1), CatchUpStep::Channel);
    let gap = gaps.get_mut(channel).unwrap();
    for (name, id) in
        [(MESSAGE_CREATE, 2), (MESSAGE_UPDATE, 2), (MESSAGE_CREATE, 3), (MESSAGE_CREATE, 4)]
    {
        gap.hold(live(name, id));
    }
    let cases = [(2, vec![]), (9, vec![]), (3, vec![(MESSAGE_UPDATE, 2)]), (3, vec![])];
    for (message, expected) in cases {
        let before = gap.take_until(MessageId::new(message));
        let names = before.iter().map(|live| live.name.as_str());
        assert_eq!(names.zip(ids(&before)).collect::<Vec<_>>(), expected, "{message}");
    }
    gaps.note(channel, MessageId::new(3), CatchUpStep::Missed);
    assert_eq!(ids(&gaps.close(channel)), [4]);
    assert!(gaps.get(channel).is_none());
}

#[test]
fn gap_hold_limits_messages_but_keeps_every_edit() {
    let (channel, mut gaps) = (ChannelId::new(1), Gaps::default());
    gaps.note(channel, MessageId::new(1), CatchUpStep::Channel);
    let gap = gaps.get_mut(channel).unwrap();
    for id in 2..=2002 {
        gap.hold(live(MESSAGE_CREATE, id));
    }
    gap.hold(live(MESSAGE_UPDATE, 2));
    assert_eq!(gaps.close(channel).len(), MAX_HELD + 1);
}

#[test]
fn gap_take_dropped_reports_overflow_once_until_the_history_covers_it() {
    let (channel, mut gaps) = (ChannelId::new(1), Gaps::default());
    gaps.note(channel, MessageId::new(1), CatchUpStep::Channel);
    for id in 2..=1004 {
        gaps.get_mut(channel).unwrap().hold(live(MESSAGE_CREATE, id));
    }
    gaps.note(channel, MessageId::new(1), CatchUpStep::Missed);
    let dropped = gaps.get_mut(channel).unwrap().take_dropped().unwrap();
    assert_eq!(dropped.to_string(), "3 messages, from 1002 to 1004");
    let gap = gaps.get_mut(channel).unwrap();
    assert_eq!(gap.take_dropped(), None, "it is requested once");
    gap.hold(live(MESSAGE_CREATE, 1005));
    gap.after = MessageId::new(1005);
    assert_eq!(gap.take_dropped(), None, "it was read");
}
