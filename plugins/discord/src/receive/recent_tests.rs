use super::*;

fn quote(text: &str) -> Quote {
    Quote { from: Some("Ann".to_owned()), text: text.to_owned() }
}

impl RecentMessages {
    fn take_before(&mut self, channel: ChannelId, mention: MessageId) -> Vec<Quote> {
        let before = self.before(channel, mention);
        self.forget_before(channel, mention);
        before
    }
}

fn texts(quotes: Vec<Quote>) -> Vec<String> {
    quotes.into_iter().map(|quote| quote.text).collect()
}

#[test]
fn recent_messages_keep_the_last_ones_once_and_only_those_before_a_mention() {
    let mut recent = RecentMessages::new(3);
    let (channel, other) = (ChannelId::new(1), ChannelId::new(2));
    for id in [1, 2, 3, 3, 4, 6] {
        recent.note(channel, MessageId::new(id), quote(&id.to_string()));
    }
    assert_eq!(texts(recent.take_before(other, MessageId::new(5))), [""; 0]);
    assert_eq!(texts(recent.take_before(channel, MessageId::new(5))), ["3", "4"]);
    assert_eq!(texts(recent.take_before(channel, MessageId::new(7))), ["6"]);
    assert_eq!(texts(recent.take_before(channel, MessageId::new(9))), [""; 0]);
}

#[test]
fn recent_messages_without_a_limit_and_long_texts_stay_small() {
    let mut recent = RecentMessages::new(0);
    let (channel, id) = (ChannelId::new(1), MessageId::new(1));
    recent.note(channel, id, quote("a"));
    assert!(recent.take_before(channel, MessageId::new(2)).is_empty());
    let mut recent = RecentMessages::new(1);
    recent.note(channel, id, quote(&"ü".repeat(5000)));
    let kept = texts(recent.take_before(channel, MessageId::new(2)));
    assert_eq!(kept[0].chars().count(), MAX_TEXT);
}
