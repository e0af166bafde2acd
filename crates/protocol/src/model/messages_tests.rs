use super::*;

fn block(texts: &[&str]) -> MessagePart {
    MessagePart::Block(Arc::new(MessageBlock::new(texts.iter().map(|text| Message::user(*text)))))
}

/// One message, a block of three, and one message.
fn divided() -> Messages {
    let mut messages = Messages::from(vec![Message::user("a")]);
    messages.push_part(block(&["b", "c", "d"]));
    messages.push(Message::user("e"));
    messages
}

#[test]
fn messages_are_the_same_with_blocks_and_without() {
    let texts = ["a", "b", "c", "d", "e"];
    let single: Messages = texts.map(Message::user).into_iter().collect();
    let divided = divided();
    assert_eq!(divided, single);
    assert_eq!((divided.len(), divided.is_empty()), (5, false));
    assert_eq!(divided.estimated_tokens(), single.estimated_tokens());
    for place in 0..6 {
        assert_eq!(divided.get(place), single.get(place), "{place}");
    }
    assert_eq!((divided.first(), divided.last()), (single.first(), single.last()));
    let json = |messages: &Messages| serde_json::to_string(messages).unwrap();
    assert_eq!(json(&divided), json(&single));
    assert_eq!(Messages::from_iter(divided), single);
}

#[test]
fn pop_removes_the_messages_of_a_block_one_by_one() {
    let mut messages = divided();
    let popped = std::iter::from_fn(|| messages.pop());
    let texts = popped.map(|message| match message {
        Message::User { text, .. } => text,
        other => panic!("{other:?}"),
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["e", "d", "c", "b", "a"]);
}

#[test]
fn written_keeps_the_json_of_a_block_for_one_api() {
    let block = MessageBlock::new(["a", "b"].map(Message::user));
    let write = |text: &str| Some(text.to_owned());
    assert_eq!(block.written("one", |_| None), None, "nothing is kept yet");
    assert_eq!(block.written("one", |messages| write(&messages.len().to_string())), Some("2"));
    assert_eq!(block.written("one", |_| unreachable!("it is kept")), Some("2"));
    assert_eq!(block.written("two", |_| unreachable!("another is kept")), None);
}
