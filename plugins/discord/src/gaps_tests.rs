use serde_json::json;

use super::*;

fn live(name: &str, id: u64) -> Live {
    Live { name: name.to_owned(), data: json!({ "id": id.to_string() }) }
}

fn ids(lives: &[Live]) -> Vec<u64> {
    lives.iter().map(|live| id(&live.data).get()).collect()
}

#[test]
fn gaps_close_returns_live_events_in_order_without_those_of_the_history() {
    let (channel, mut gaps) = (ChannelId::new(1), Gaps::default());
    gaps.note(channel, MessageId::new(1), Look::Channel);
    let gap = gaps.get_mut(channel).unwrap();
    for (name, id) in [(SAID, 2), (SAID, 3), ("MESSAGE_UPDATE", 2), (SAID, 4)] {
        gap.hold(live(name, id));
    }
    gap.was_told(&[live(SAID, 2).data, live(SAID, 3).data]);
    gaps.note(channel, MessageId::new(3), Look::Missed);
    let held = gaps.close(channel);
    assert_eq!((ids(&held), held[0].name.as_str()), (vec![2, 4], "MESSAGE_UPDATE"));
    assert!(gaps.get(channel).is_none());
}

#[test]
fn gap_hold_limits_messages_but_keeps_every_edit() {
    let (channel, mut gaps) = (ChannelId::new(1), Gaps::default());
    gaps.note(channel, MessageId::new(1), Look::Channel);
    let gap = gaps.get_mut(channel).unwrap();
    for id in 2..=2002 {
        gap.hold(live(SAID, id));
    }
    gap.hold(live("MESSAGE_UPDATE", 2));
    assert_eq!(gaps.close(channel).len(), MAX_HELD + 1);
}

#[test]
fn gap_take_dropped_reports_overflow_once_until_the_history_covers_it() {
    let (channel, mut gaps) = (ChannelId::new(1), Gaps::default());
    gaps.note(channel, MessageId::new(1), Look::Channel);
    for id in 2..=1004 {
        gaps.get_mut(channel).unwrap().hold(live(SAID, id));
    }
    gaps.note(channel, MessageId::new(1), Look::Missed);
    let dropped = gaps.get_mut(channel).unwrap().take_dropped().unwrap();
    assert_eq!(dropped.to_string(), "3 messages, from 1002 to 1004");
    let gap = gaps.get_mut(channel).unwrap();
    assert_eq!(gap.take_dropped(), None, "it is asked for once");
    gap.hold(live(SAID, 1005));
    gap.after = MessageId::new(1005);
    assert_eq!(gap.take_dropped(), None, "it was told");
}
