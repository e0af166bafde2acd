use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;
use crate::{METHODS, find_method};

/// The only chat and conversation of the calls.
const CHAT: &str = "terminal:local:a";

fn account() -> CallTarget {
    CallTarget::Account("external".parse().unwrap(), "irc".parse().unwrap())
}

/// Requests with their targets. Each has all parameters that its method requires.
fn calls() -> Vec<(&'static str, Value, CallTarget)> {
    let chat = || CallTarget::Chat(CHAT.parse().unwrap());
    let session = || CallTarget::Session(SessionId::parse(CHAT).unwrap());
    let dead = DeadId::Delivery(avocet_protocol::ids::DeliveryId(7));
    let attached = json!({ "channel": "external", "account": "irc" });
    let moved = json!({ "channel": "external", "account": "irc", "cursor": { "position": "1" } });
    let published = json!({ "chat": CHAT, "sender": "ann", "key": "1", "text": "hi" });
    let option = json!({ "session": CHAT, "option": "model", "value": "default" });
    let decided = json!({ "id": "w7", "decision": "denied", "why": "no" });
    vec![
        ("approval.decide", decided, CallTarget::Approval(WaitId(7))),
        ("ask", json!({ "session": CHAT, "text": "hi" }), chat()),
        ("ask.json", json!({ "session": CHAT, "text": "hi", "schema": {} }), chat()),
        ("attach", json!({ "chat": CHAT, "thoughts": true }), chat()),
        ("attach", attached.clone(), account()),
        // `attach` refuses both, and the chat is no way around the right to the account.
        ("attach", json!({ "chat": CHAT, "channel": "external", "account": "irc" }), chat()),
        ("attach", json!({ "chat": null, "channel": "external", "account": "irc" }), account()),
        ("attach", json!({ "channel": "external" }), CallTarget::Unnamed),
        ("attach", json!({ "account": "irc" }), CallTarget::Unnamed),
        ("attach", json!({}), CallTarget::Unnamed),
        ("cursor.move", moved, account()),
        ("dead.drop", json!({ "id": dead }), CallTarget::DeadLetter(dead)),
        ("dead.retry", json!({ "id": dead }), CallTarget::DeadLetter(dead)),
        ("dead.show", json!({ "id": dead }), CallTarget::DeadLetter(dead)),
        ("editor.attach", json!({ "chat": CHAT, "read": true }), chat()),
        ("job.cancel", json!({ "id": JobId(3) }), CallTarget::Job(JobId(3))),
        ("job.show", json!({ "id": JobId(3) }), CallTarget::Job(JobId(3))),
        ("message.withdraw", json!({ "chat": CHAT, "key": "1" }), chat()),
        ("publish", published, chat()),
        ("schedule.change", json!({ "id": "s1", "command": "pause" }), schedule()),
        ("schedule.show", json!({ "id": "s1" }), schedule()),
        ("send", json!({ "chat": CHAT, "text": "hi" }), chat()),
        ("sessions.branch", json!({ "session": CHAT, "into": "web:console:b" }), session()),
        ("sessions.change", json!({ "session": CHAT, "title": "x" }), session()),
        ("sessions.delete", json!({ "session": CHAT }), session()),
        ("sessions.options", json!({ "session": CHAT }), session()),
        ("sessions.sent", json!({ "session": CHAT, "limit": 3 }), session()),
        ("sessions.set_option", option, session()),
        ("sessions.show", json!({ "session": CHAT, "turns": 3 }), session()),
        ("task.cancel", json!({ "id": "t12" }), CallTarget::Task(TurnId(12))),
        ("task.show", json!({ "id": "t12" }), CallTarget::Task(TurnId(12))),
        ("wait", json!({ "message": "m1", "seconds": 2 }), CallTarget::Message(MessageId(1))),
    ]
}

fn schedule() -> CallTarget {
    CallTarget::Schedule(ScheduleId(1))
}

fn reader(method: &str) -> ReadTarget {
    match find_method(method).unwrap().touches {
        Touches::Target(reader) => reader,
        other => panic!("{method} touches {other:?}"),
    }
}

#[test]
fn call_target_of_each_method_is_named_by_its_parameters() {
    for (method, params, expected) in calls() {
        let target = (reader(method).read)(params.clone()).unwrap();
        assert_eq!(target, expected, "{method} {params}");
    }
}

#[test]
fn call_target_is_read_only_from_parameters_that_the_method_takes() {
    for (method, params, _) in calls() {
        let mut with_more = params.clone();
        with_more["unknown"] = json!(1);
        // `approval.decide` has a decision in the same object, so it ignores other keys.
        let takes_more = method == "approval.decide";
        assert_eq!((reader(method).read)(with_more).is_ok(), takes_more, "{method}");
        // All parameters of `attach` are optional.
        for wrong in [json!({}), json!(null), json!(7)] {
            let is_empty_attach = method == "attach" && wrong == json!({});
            assert_eq!((reader(method).read)(wrong).is_ok(), is_empty_attach, "{method}");
        }
    }
}

#[test]
fn page_limit_of_each_list_is_read_from_its_parameters() {
    let pages = ["approval.list", "dead.list", "job.list", "sessions.list", "task.list"];
    for name in pages.into_iter().chain(["schedule.list"]) {
        let Touches::Rows(list) = find_method(name).unwrap().touches else { panic!("{name}") };
        let has_pages = name != "schedule.list";
        assert_eq!((list.page_limit)(json!({})).unwrap(), has_pages.then_some(50), "{name}");
        let three = (list.page_limit)(json!({ "limit": 3 })).ok();
        assert_eq!(three, has_pages.then_some(Some(3)), "{name}");
        // A row of another form belongs to no client, and no page is behind it.
        assert_eq!((list.chats)(&json!({ "chat": CHAT })), None, "{name}");
        assert_eq!((list.next_page)(json!({}), &json!(7)), None, "{name}");
    }
    let search = find_method("sessions.search").unwrap().touches;
    let Touches::Rows(search) = search else { panic!("{search:?}") };
    assert_eq!((search.page_limit)(json!({ "words": "hi", "limit": 3 })).unwrap(), None);
}

#[test]
fn methods_by_what_they_touch() {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for method in METHODS {
        let touched = match method.touches {
            Touches::Nothing => "nothing",
            Touches::Everything => "everything",
            Touches::Target(_) => "a target",
            Touches::Rows(_) => "rows",
            Touches::Events => "events",
        };
        found.entry(touched).or_default().insert(method.name);
    }
    let named: BTreeSet<&str> = calls().into_iter().map(|(method, ..)| method).collect();
    assert_eq!(found.remove("a target"), Some(named), "each method with a target is in `calls`");
    let found: Vec<(&str, String)> = found
        .into_iter()
        .map(|(touched, names)| (touched, Vec::from_iter(names).join(" ")))
        .collect();
    let everything = "config.check config.diff config.form config.save config.show doctor job.submit link.add \
        link.list link.remove mcp.approve mcp.list mcp.tools memory.add memory.consolidate \
        memory.forget memory.list memory.log memory.show memory.sync memory.undo pair.approve \
        pair.deny pair.list people.list people.remove resume_all rules.add rules.list rules.remove schedule.add session.servers status stop_all \
        subscriber.list subscriber.remove usage web.browsers web.open web.sign_out";
    let expected = [
        ("events", "events.list subscribe trace"),
        ("everything", everything),
        ("nothing", "agents.list file.get hello ping"),
        (
            "rows",
            "approval.list dead.list job.list schedule.list sessions.list sessions.search task.list",
        ),
    ];
    assert_eq!(found, expected.map(|(touched, names)| (touched, names.to_owned())));
}
