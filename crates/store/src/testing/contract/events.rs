//! Rules of the event log.

use avocet_protocol::chat::{Content, Outcome, Receipt};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, DeliveryId, MessageId, PlatformId, SubscriberName, TurnId};
use avocet_protocol::store::{
    EventDetail, EventFilter, EventHistory, EventKind, EventPage, EventSeq, LogEvent, Preview,
    SendEnd, Showing,
};
use avocet_protocol::tool::{ToolClass, WaitKind};
use avocet_protocol::turn::TraceSubject;

use super::Backend;
use super::waits::spawn;
use super::world::{World, good, new_wait, planned, reply, session};

impl World<'_> {
    async fn page(&self, after: i64, filter: &EventFilter, limit: u32) -> EventPage {
        self.ports.events.events(EventSeq(after), filter, limit).await.unwrap()
    }

    /// Returns all events behind a number, oldest first.
    async fn events_after(&self, after: i64) -> Vec<LogEvent> {
        self.page(after, &EventFilter::default(), 500).await.events
    }

    /// Returns the history of the first event of this kind of a turn.
    async fn history(&self, turn: TurnId, kind: EventKind) -> Option<EventHistory> {
        let events = self.events_after(0).await;
        let event = events.iter().find(|event| event.turn == Some(turn) && event.kind == kind);
        self.ports.events.event_history(event.unwrap()).await.unwrap()
    }

    async fn newest(&self) -> i64 {
        self.ports.events.event_range().await.unwrap().newest.0
    }

    async fn subscribe(&self, name: &str, from: Option<i64>) -> i64 {
        let name = SubscriberName::parse(name).unwrap();
        self.ports.events.subscribe(&name, from.map(EventSeq)).await.unwrap().0
    }

    async fn confirm(&self, name: &str, upto: i64) {
        let name = SubscriberName::parse(name).unwrap();
        self.ports.events.confirm_events(&name, EventSeq(upto)).await.unwrap();
    }

    async fn traced(&self, subject: TraceSubject) -> Vec<LogEvent> {
        self.ports.events.traced_events(subject).await.unwrap()
    }

    async fn message_kinds(&self, message: MessageId) -> Vec<&'static str> {
        kinds(&self.traced(TraceSubject::Message(message)).await)
    }
}

fn kinds(events: &[LogEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// The events of a turn have rising numbers, a time, and the details of their rows.
pub async fn events_follow_a_message_to_its_delivery(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let before = world.newest().await;
    let message = world.say(&a, "hello").await;
    let turn = world.take(&a).await.id;
    let calls = world.step(turn, 0, &["send", "read"]).await;
    world.start(calls[0], ToolClass::Effect).await;
    world.finish(calls[0]).await;
    world.finish(calls[1]).await;
    world.reply(turn, "done").await;
    world.deliveries(&a.address()).await;
    let events = world.events_after(before).await;
    let expected = [
        "message.queued",
        "turn.running",
        "model.answered",
        "call.started",
        "call.finished",
        "call.finished",
        "turn.done",
        "model.answered",
        "message.done",
        "delivery.pending",
        "delivery.sending",
        "delivery.sent",
    ];
    assert_eq!(kinds(&events), expected);
    assert_eq!(world.message_kinds(message).await, expected);
    let numbers: Vec<_> = events.iter().map(|event| event.seq.0).collect();
    assert!(numbers.is_sorted() && numbers[0] > before, "{numbers:?}");
    assert!(events.iter().all(|event| event.at.0 > 0));
    assert!(events.iter().all(|event| event.session.as_ref() == Some(&a)));
    assert!(
        events[1..]
            .iter()
            .all(|event| event.turn == Some(turn) || event.kind == EventKind::MessageQueued)
    );
    assert_eq!(events[3].call, Some(calls[0]));
    let text = |event: &LogEvent| match event.detail.clone().unwrap() {
        EventDetail::Message(message) => message.text,
        EventDetail::TurnInfo(turn) => turn.answer.unwrap_or_default(),
        EventDetail::Answer(answer) => format!("{} [{}]", answer.text, answer.calls.join(" ")),
        EventDetail::Tool(tool) => format!("{} {:?}", tool.name, tool.result_bytes),
        EventDetail::Delivery(delivery) => delivery.text,
        other => panic!("{other:?}"),
    };
    let texts: Vec<_> = events.iter().map(text).collect();
    let [send, read] = ["send Some(6)", "read Some(6)"];
    let expected = [
        "hello",
        "",
        "let me see [send read]",
        send,
        send,
        read,
        "done",
        "done []",
        "hello",
        "done",
        "done",
        "done",
    ];
    assert_eq!(texts, expected);
    let Some(EventDetail::Message(done)) = &events[8].detail else { panic!("{:?}", events[8]) };
    assert_eq!(done.outcome, Some(Outcome::Replied));
    let Some(EventDetail::Delivery(sent)) = &events[11].detail else { panic!("{:?}", events[11]) };
    for subject in [TraceSubject::Turn(turn), TraceSubject::Delivery(sent.id)] {
        assert_eq!(world.traced(subject).await, events, "{subject}");
    }
}

/// A crash shows as the start of a daemon, and as the new states of what was under way.
pub async fn events_show_a_crash_and_its_recovery(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let call = world.step(turn, 0, &["send"]).await[0];
    world.start(call, ToolClass::Effect).await;
    let chunk = planned(&session("b"), &["hi"]);
    let sending = world.ports.outbox.enqueue(&chunk, &"k".parse().unwrap(), None).await.unwrap().id;
    world.ports.outbox.start(sending, false).await.unwrap();
    let before = world.newest().await;
    let world = world.restart().await;
    let events = world.events_after(before).await;
    let expected = ["daemon.started", "call.interrupted", "turn.queued", "delivery.unknown"];
    assert_eq!(kinds(&events), expected);
    assert!(events.iter().all(|event| event.at.0 > 0), "{events:?}");
}

/// A message of another process has no turn. Its events belong to the session of its chat.
pub async fn events_of_a_delivery_without_a_turn_have_the_session_of_its_chat(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let before = world.newest().await;
    let b = session("b");
    let chunk = planned(&b, &["hi"]);
    let id = world.ports.outbox.enqueue(&chunk, &"k".parse().unwrap(), None).await.unwrap().id;
    world.ports.outbox.start(id, false).await.unwrap();
    let end = SendEnd::Dead { error: "no such chat".to_owned(), notice: None };
    world.ports.outbox.finish(id, &end).await.unwrap();
    let events = world.events_after(before).await;
    assert_eq!(kinds(&events), ["delivery.pending", "delivery.sending", "delivery.dead"]);
    assert!(events.iter().all(|event| event.session.as_ref() == Some(&b)));
    let Some(EventDetail::Delivery(delivery)) = &events[2].detail else { panic!("{events:?}") };
    assert_eq!(delivery.error.as_deref(), Some("no such chat"));
    assert_eq!(world.traced(TraceSubject::Delivery(id)).await, events);
    for unknown in [TraceSubject::Turn(TurnId(99)), TraceSubject::Delivery(DeliveryId(99))] {
        assert_eq!(world.traced(unknown).await, [], "{unknown}");
    }
    // The first message of the chat comes later.
    world.say(&b, "hello").await;
    let filter = EventFilter { session: Some(b.clone()), ..EventFilter::default() };
    let found = world.page(before, &filter, 500).await.events;
    let expected = ["delivery.pending", "delivery.sending", "delivery.dead", "message.queued"];
    assert_eq!(kinds(&found), expected);
    assert!(found.iter().all(|event| event.session.as_ref() == Some(&b)), "{found:?}");
}

/// A preview is no delivery until it becomes the reply.
pub async fn events_leave_out_previews(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let before = world.newest().await;
    let content = Content::text("Let …");
    let preview = world.ports.outbox.begin_preview(turn, 0, &a.address(), &content).await.unwrap();
    let Preview::Begun { id, .. } = preview else { panic!("{preview:?}") };
    let platform_id = PlatformId::parse("p1").unwrap();
    let showing = Showing::Shown { content, platform_id };
    world.ports.outbox.finish_preview(id, &showing).await.unwrap();
    assert_eq!(kinds(&world.events_after(before).await), [""; 0]);
    world.reply(turn, "done").await;
    let events = world.events_after(before).await;
    let expected = ["turn.done", "model.answered", "message.done", "delivery.pending"];
    assert_eq!(kinds(&events), expected);
    let end = SendEnd::Sent(Receipt { platform_id: Some(PlatformId::parse("p1").unwrap()) });
    world.ports.outbox.start(id, false).await.unwrap();
    world.ports.outbox.finish(id, &end).await.unwrap();
    let sent = world.events_after(before).await.pop().unwrap();
    let Some(EventDetail::Delivery(delivery)) = sent.detail else { panic!("{sent:?}") };
    assert_eq!((sent.kind, delivery.id), (EventKind::DeliverySent, id));
    assert_eq!(delivery.platform_id.unwrap().as_str(), "p1");
}

/// A page ends at its limit and continues from its position. Conditions leave out other events.
pub async fn events_are_read_by_page_session_and_kind(backend: &impl Backend) {
    let world = World::new(backend).await;
    for name in ["a", "b", "a", "b", "a"] {
        let count = world.newest().await;
        world.say(&session(name), &format!("{name}{count}")).await;
    }
    let kinds = vec![EventKind::MessageQueued];
    let filter = EventFilter { session: Some(session("a")), kinds };
    let first = world.page(0, &filter, 2).await;
    assert_eq!(first.events.len(), 2);
    assert_eq!(first.next, first.events[1].seq);
    let rest = world.page(first.next.0, &filter, 2).await;
    assert_eq!(rest.events.len(), 1);
    let newest = world.newest().await;
    assert_eq!(rest.next.0, newest);
    let end = world.page(rest.next.0, &filter, 2).await;
    assert_eq!((end.events.len(), end.next.0), (0, newest));
    let none = EventFilter { kinds: vec![EventKind::CallWaiting], session: None };
    let page = world.page(0, &none, 2).await;
    assert_eq!((page.events.len(), page.next.0), (0, newest));
    let beyond = world.page(newest + 50, &filter, 2).await;
    assert_eq!((beyond.events.len(), beyond.next.0), (0, newest + 50));
}

/// The events of a message include those of its turn's sub-agents, and of no other message.
pub async fn events_of_a_message_include_its_sub_agents(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, _, child) = spawn(&world).await;
    world.say(&session("other"), "noise").await;
    world.settle(child.id, &reply("found")).await.unwrap();
    let message = turn.origin.messages()[0].id;
    let events = world.traced(TraceSubject::Message(message)).await;
    let of_child: Vec<_> =
        events.iter().filter(|event| event.turn == Some(child.id)).cloned().collect();
    let expected = ["turn.queued", "turn.running", "turn.done", "model.answered"];
    assert_eq!(kinds(&of_child)[..4], expected);
    let waiting = events.iter().find(|event| event.kind == EventKind::TurnWaiting).unwrap();
    let Some(EventDetail::TurnInfo(_)) = &waiting.detail else { panic!("{waiting:?}") };
    assert!(events.iter().all(|event| event.turn.is_some() || event.session == Some(session("a"))));
    assert_eq!(world.message_kinds(MessageId(999)).await, [""; 0]);
}

/// The history of a turn's end has the turn's events and those of its messages, and names the call
/// and the turns above a sub-agent.
pub async fn event_history_of_a_turn_names_its_ancestors_and_leaves_out_other_turns(
    backend: &impl Backend,
) {
    let world = World::new(backend).await;
    let (turn, call, child) = spawn(&world).await;
    world.say(&session("other"), "noise").await;
    world.settle(child.id, &reply("found")).await.unwrap();
    let again = world.take(&session("a")).await;
    assert_eq!(again.id, turn.id);
    world.reply(turn.id, "done").await;
    world.deliveries(&session("a").address()).await;
    let history = world.history(child.id, EventKind::TurnDone).await.unwrap();
    assert_eq!((history.root, history.parent), (turn.id, Some(turn.id)));
    assert_eq!(history.call, Some(call));
    let expected = ["turn.queued", "turn.running", "turn.done", "model.answered"];
    assert_eq!(kinds(&history.events), expected);
    let history = world.history(turn.id, EventKind::TurnDone).await.unwrap();
    assert_eq!((history.root, history.parent, history.call), (turn.id, None, None));
    let expected = [
        "message.queued",
        "turn.running",
        "model.answered",
        "call.waiting",
        "turn.waiting",
        "call.finished",
        "turn.queued",
        "turn.running",
        "turn.done",
        "model.answered",
        "message.done",
    ];
    assert_eq!(kinds(&history.events), expected);
}

/// The history of a delivery begins with its first send.
pub async fn event_history_of_a_delivery_has_its_own_events(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    world.reply(turn, "done").await;
    world.deliveries(&a.address()).await;
    let history = world.history(turn, EventKind::DeliverySent).await.unwrap();
    assert_eq!((history.turn, history.root), (turn, turn));
    assert_eq!(kinds(&history.events), ["delivery.pending", "delivery.sending", "delivery.sent"]);
    let mut queued = world.events_after(0).await.remove(0);
    queued.turn = None;
    assert_eq!(world.ports.events.event_history(&queued).await.unwrap(), None);
    queued.turn = Some(TurnId(99));
    assert_eq!(world.ports.events.event_history(&queued).await.unwrap(), None);
}

/// The position of a subscriber survives a restart and never moves back.
pub async fn subscriber_keeps_its_position_over_a_restart(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.say(&session("a"), "1").await;
    let newest = world.newest().await;
    assert_eq!(world.subscribe("new", None).await, newest);
    assert_eq!(world.subscribe("all", Some(0)).await, 0);
    world.confirm("all", 1).await;
    world.confirm("all", 0).await;
    // A position of somebody else is recorded nowhere.
    world.confirm("unknown", 1).await;
    world.say(&session("a"), "2").await;
    let world = world.restart().await;
    assert_eq!(world.subscribe("new", Some(0)).await, newest);
    assert_eq!(world.subscribe("all", None).await, 1);
    let list = world.ports.events.subscribers().await.unwrap();
    let names: Vec<_> = list.iter().map(|one| (one.name.as_str(), one.seq.0)).collect();
    assert_eq!(names, [("all", 1), ("new", newest)]);
    let name = SubscriberName::parse("all").unwrap();
    assert!(world.ports.events.remove_subscriber(&name).await.unwrap());
    assert!(!world.ports.events.remove_subscriber(&name).await.unwrap());
    assert_eq!(world.subscribe("all", None).await, world.newest().await);
}

/// A waiting reader learns of each commit.
pub async fn newest_event_changes_with_each_commit(backend: &impl Backend) {
    let world = World::new(backend).await;
    let mut newest = world.ports.events.newest_event();
    let before = newest.borrow_and_update().0;
    assert_eq!(before, world.newest().await);
    world.say(&session("a"), "1").await;
    newest.changed().await.unwrap();
    assert_eq!(newest.borrow_and_update().0, world.newest().await);
    assert_eq!(world.newest().await, before + 1);
    // A failed transaction adds none.
    let call = CallId { turn: TurnId(99), step: 0, ordinal: 0 };
    world.ports.log.finish_call(call, &good(), None, &[]).await.unwrap_err();
    assert!(!newest.has_changed().unwrap());
}

/// An approval shows as a wait of the turn and of the call.
pub async fn events_show_the_wait_of_a_turn(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let call = world.step(turn, 0, &["write"]).await[0];
    let before = world.newest().await;
    let wait = new_wait(call, WaitKind::Approval, Timestamp(i64::MAX));
    world.wait(&wait).await;
    let events = world.events_after(before).await;
    assert_eq!(kinds(&events), ["call.waiting", "turn.waiting"]);
    let Some(EventDetail::TurnInfo(info)) = &events[1].detail else { panic!("{events:?}") };
    assert_eq!(info.waits_for, [WaitKind::Approval]);
    assert_eq!(events[0].session, Some(a));
}
