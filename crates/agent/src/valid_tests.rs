use avocet_testkit::history_complaint;
use proptest::prelude::*;
use serde_json::Map;

use super::*;

fn system(text: &str) -> Message {
    Message::System { text: text.to_owned() }
}

fn user(text: &str) -> Message {
    Message::user(text)
}

fn assistant(text: &str, calls: &[&str]) -> Message {
    let calls = calls.iter().map(|id| SentCall {
        id: (*id).to_owned(),
        name: "tool".to_owned(),
        arguments: Map::new(),
    });
    Message::assistant(text, calls.collect())
}

fn result(call: &str, result: &str) -> Message {
    let ok = !result.starts_with("{\"error\"");
    Message::ToolResult { call: call.to_owned(), ok, result: result.to_owned() }
}

#[track_caller]
fn check(given: &[Message], expected: &[Message]) {
    assert_eq!(make_valid(given.to_vec().into()), expected.to_vec().into());
}

#[test]
fn make_valid_leaves_a_valid_history_unchanged() {
    let valid = [
        system("be kind"),
        user("hi"),
        assistant("let me look", &["1", "2"]),
        result("1", "a"),
        result("2", "b"),
        assistant("done", &[]),
        user("thanks"),
    ];
    check(&valid, &valid);
}

#[test]
fn make_valid_gives_each_call_one_result_directly_after_it() {
    check(
        &[
            user("hi"),
            assistant("", &["1", "2", "3"]),
            result("3", "c"),
            result("1", "a"),
            result("1", "again"),
            user("well?"),
        ],
        &[
            user("hi"),
            assistant("", &["1", "2", "3"]),
            result("1", "a"),
            result("2", NO_RESULT),
            result("3", "c"),
            user("well?"),
        ],
    );
    check(
        &[user("hi"), assistant("", &["1"]), user("well?"), result("1", "late")],
        &[user("hi"), assistant("", &["1"]), result("1", NO_RESULT), user("well?")],
    );
}

#[test]
fn make_valid_removes_results_without_a_call() {
    check(
        &[result("0", "x"), user("hi"), result("1", "x"), assistant("ok", &[]), result("2", "x")],
        &[user("hi"), assistant("ok", &[])],
    );
}

#[test]
fn make_valid_merges_system_messages_into_the_first() {
    check(
        &[user("hi"), system("b"), assistant("ok", &[]), system("c")],
        &[system("b\n\nc"), user("hi"), assistant("ok", &[])],
    );
}

#[test]
fn make_valid_makes_roles_alternate() {
    check(
        &[
            user("a"),
            user("b"),
            assistant("c", &[]),
            assistant("d", &["1"]),
            result("1", "r"),
            assistant("e", &[]),
            assistant("f", &[]),
        ],
        &[user("a\n\nb"), assistant("c\n\nd", &["1"]), result("1", "r"), assistant("e\n\nf", &[])],
    );
    check(&[user("a"), assistant(" ", &[]), user("b")], &[user("a\n\nb")]);
}

#[test]
fn make_valid_starts_with_a_user_message() {
    check(&[assistant("x", &["1"]), result("1", "r"), user("hi")], &[user("hi")]);
}

#[test]
fn make_valid_makes_call_ids_unique_and_tool_names_valid() {
    let call = |id: &str, name: &str| {
        let call = SentCall { id: id.to_owned(), name: name.to_owned(), arguments: Map::new() };
        Message::assistant("", vec![call])
    };
    check(
        &[
            user("hi"),
            call("1", "read file!"),
            result("1", "a"),
            user("go on"),
            call("1", ""),
            result("1", "b"),
        ],
        &[
            user("hi"),
            call("1", "read_file_"),
            result("1", "a"),
            user("go on"),
            call("1-2", "unknown"),
            result("1-2", "b"),
        ],
    );
}

#[test]
fn make_valid_keeps_a_block_unless_a_message_of_it_has_to_change() {
    let block = Arc::new(MessageBlock::new([user("b"), assistant("", &["1"]), result("1", "r")]));
    let count_blocks = |before: &[Message]| {
        let mut messages = Messages::from(before.to_vec());
        messages.push_part(MessagePart::Block(block.clone()));
        let valid = make_valid(messages);
        valid.parts().filter(|part| matches!(part, MessagePart::Block(_))).count()
    };
    assert_eq!(count_blocks(&[]), 1);
    assert_eq!(count_blocks(&[system("s"), user("a"), assistant("ok", &["2"])]), 1);
    assert_eq!(count_blocks(&[user("a")]), 0, "two user messages are joined");
    assert_eq!(count_blocks(&[user("a"), assistant("ok", &["1"])]), 0, "an id repeats");
}

fn any_history() -> impl Strategy<Value = Vec<Message>> {
    let id = prop::sample::select(vec!["", "1", "2", "3"]);
    let text = prop::sample::select(vec!["", " ", "a", "b"]);
    let message = prop_oneof![
        1 => text.clone().prop_map(system),
        3 => text.clone().prop_map(user),
        3 => (text.clone(), prop::collection::vec(id.clone(), 0..3))
            .prop_map(|(text, calls)| assistant(text, &calls)),
        4 => (id, text).prop_map(|(id, text)| result(id, text)),
    ];
    prop::collection::vec(message, 0..20)
}

proptest! {
    #[test]
    fn make_valid_repairs_any_history(history in any_history()) {
        let valid = make_valid(history.into());
        prop_assert_eq!(history_complaint(&valid), None, "{:?}", valid);
        prop_assert_eq!(make_valid(valid.clone()), valid);
    }

    #[test]
    fn make_valid_returns_the_same_with_a_block_as_without(
        before in any_history(), middle in any_history(), after in any_history(),
    ) {
        let middle = make_valid(middle.into()).into_iter().map(SharedMessage::into_message);
        let middle = middle.filter(|message| !matches!(message, Message::System { .. }));
        let mut divided = Messages::from(before);
        divided.push_part(MessagePart::Block(Arc::new(MessageBlock::new(middle))));
        divided.extend(after);
        let single = Messages::from_iter(divided.clone());
        prop_assert_eq!(make_valid(divided), make_valid(single));
    }

    #[test]
    fn make_valid_keeps_all_text_of_users(history in any_history()) {
        let history = Messages::from(history);
        let said = |messages: &Messages| {
            let texts = messages.iter().filter_map(|message| match message {
                Message::User { text, .. } => Some(text.trim()),
                _ => None,
            });
            texts.collect::<String>().replace("\n\n", "")
        };
        prop_assert_eq!(said(&make_valid(history.clone())), said(&history));
    }
}
