use super::*;

fn quote(text: &str) -> Quote {
    Quote { from: Some("Ann".to_owned()), text: text.to_owned() }
}

fn texts(recent: &RecentMessages<u64, u64>, chat: u64) -> Vec<&str> {
    recent.messages_of(&chat).map(|(_, quote)| quote.text.as_str()).collect()
}

#[test]
fn recent_messages_keep_the_last_ones_once_and_only_those_outside_the_conversation() {
    let mut recent = RecentMessages::new(3, 100);
    for id in [1, 2, 3, 3, 4, 6] {
        recent.note_message(7, id, quote(&id.to_string()));
    }
    assert_eq!(texts(&recent, 8), [""; 0]);
    assert_eq!(texts(&recent, 7), ["3", "4", "6"]);
    recent.forget_messages(&7, |id| *id <= 5);
    assert_eq!(texts(&recent, 7), ["6"]);
    recent.forget_messages(&7, |_| true);
    assert!(recent.chats.is_empty(), "an empty chat takes no room");
}

#[test]
fn recent_messages_without_a_limit_and_long_texts_stay_small() {
    let mut recent = RecentMessages::new(0, 100);
    recent.note_message(7, 1, quote("a"));
    assert!(recent.chats.is_empty());
    let mut recent = RecentMessages::new(1, 100);
    recent.note_message(7, 1, quote(&"ü".repeat(5000)));
    assert_eq!(texts(&recent, 7)[0].chars().count(), MAX_TEXT);
    recent.correct_message(&7, &1, quote(&"ä".repeat(5000)));
    assert_eq!(texts(&recent, 7)[0], "ä".repeat(MAX_TEXT));
}

#[test]
fn note_message_forgets_the_chat_without_a_message_for_the_longest_time() {
    const MAX_CHATS: u64 = 500;
    let mut recent = RecentMessages::new(3, 500);
    for (id, chat) in (0..MAX_CHATS).chain([0, MAX_CHATS]).enumerate() {
        recent.note_message(chat, id as u64, quote("hi"));
    }
    assert_eq!(recent.chats.len(), 500);
    assert!(recent.chats.contains(&0) && !recent.chats.contains(&1));
}

#[test]
fn correct_message_replaces_only_a_kept_message() {
    let mut recent = RecentMessages::new(2, 100);
    for id in 1..4 {
        recent.note_message(7, id, quote("hi"));
    }
    for id in [1, 3, 9] {
        recent.correct_message(&7, &id, quote("edited"));
    }
    recent.correct_message(&8, &3, quote("edited"));
    assert_eq!((texts(&recent, 7), recent.chats.len()), (vec!["hi", "edited"], 1));
}

#[test]
fn find_context_returns_the_context_of_the_last_messages() {
    let mut recent = RecentMessages::<u64, u64>::new(2, 100);
    recent.note_context(1, vec![quote("before")]);
    recent.note_context(2, Vec::new());
    assert_eq!(recent.find_context(&1), [quote("before")]);
    for id in 3..3 + MAX_GIVEN as u64 {
        recent.note_context(id, vec![quote("later")]);
    }
    assert_eq!((recent.find_context(&1), recent.find_context(&2)), (vec![], vec![]));
    assert_eq!(recent.given.len(), MAX_GIVEN);
}
