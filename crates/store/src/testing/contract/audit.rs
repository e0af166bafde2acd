//! Rules of the audit table: recorded actions and their authors.

use avocet_protocol::access::{
    ChatLink, Decision, Grant, Pairing, PairingCode, PersonId, Role, SettledPairing,
};
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::CallId;
use avocet_protocol::store::{
    Actor, AuditFault, AuditFilter, AuditHead, AuditKind, AuditRow, CommandAction, CommandReply,
    NewWait, Resolution,
};
use avocet_protocol::tool::{ToolClass, WaitKind};
use avocet_protocol::turn::{CallResult, ResultKind};

use super::Backend;
use super::world::{World, new_wait, session};

const ALL: AuditFilter =
    AuditFilter { session: None, since: None, kind: None, before: None, limit: 1000 };

async fn rows(world: &World<'_>) -> Vec<AuditRow> {
    world.ports.audit.audit_rows(&ALL).await.unwrap()
}

/// Formats each row as a line: kind, actor, tool or summary, outcome.
async fn lines(world: &World<'_>) -> Vec<String> {
    let line = |row: AuditRow| {
        let about = row.tool.unwrap_or(row.summary);
        format!("{} {} {about} {}", row.kind, row.actor, row.outcome.unwrap_or_default())
    };
    rows(world).await.into_iter().map(line).map(|line| line.trim_end().to_owned()).collect()
}

fn approval(call: CallId) -> NewWait {
    wait(call, WaitKind::Approval)
}

fn wait(call: CallId, kind: WaitKind) -> NewWait {
    new_wait(call, kind, Timestamp(1))
}

async fn decide(world: &World<'_>, text: &str, action: CommandAction) {
    let command = world.command(&session("a"), text).await;
    let inbox = &world.ports.inbox;
    inbox.settle_command(command, &action, &CommandReply::default()).await.unwrap();
}

fn resolve(kind: WaitKind, resolution: Resolution) -> CommandAction {
    CommandAction::Resolve { wait: None, kind, anywhere: false, resolution }
}

/// A call with an effect has rows for its start and its end. A refusal has a row for every class.
pub async fn audit_records_start_and_end_of_calls_with_an_effect(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    let calls = world.step(turn, 0, &["read", "note", "write", "walled", "shell", "secret"]).await;
    for (call, class) in calls.iter().zip([
        ToolClass::Pure,
        ToolClass::InLog,
        ToolClass::Verifiable,
        ToolClass::Effect,
        ToolClass::Effect,
    ]) {
        world.start(*call, class).await;
    }
    let failed = CallResult::error("execution failed: no");
    let refused = CallResult::error("no").with_kind(ResultKind::Refused);
    for (call, result) in calls[3..].iter().zip([refused.clone(), failed, refused]) {
        world.ports.log.finish_call(*call, &result, None, &[]).await.unwrap();
    }
    for call in &calls[..3] {
        world.finish(*call).await;
    }
    let expected = [
        "started process note",
        "started process write",
        "started process walled",
        "started process shell",
        "finished process walled refused",
        "finished process shell error",
        "refused process secret",
        "finished process note ok",
        "finished process write ok",
    ];
    assert_eq!(lines(&world).await, expected);
    let first = &rows(&world).await[0];
    let of_empty_object = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(first.digest.as_deref(), Some(of_empty_object));
    assert_eq!((first.sequence, first.summary.as_str()), (1, "{}"));
    assert_eq!(first.session.as_deref(), Some("terminal:local:a"));
    assert_eq!((first.turn, first.call.as_deref()), (Some(turn.0), Some(&*calls[1].to_string())));
}

/// The audit table has rows for calls interrupted by a crash, and for the later choice or its
/// expiry.
pub async fn audit_records_interrupted_calls_and_the_later_choice(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    let calls = world.step(turn, 0, &["shell", "read", "post"]).await;
    for (call, class) in calls.iter().zip([ToolClass::Effect, ToolClass::Pure, ToolClass::Effect]) {
        world.start(*call, class).await;
    }
    let world = world.restart().await;
    world.take(&session("a")).await;
    world.wait(&wait(calls[0], WaitKind::Choice)).await;
    decide(&world, "/retry", resolve(WaitKind::Choice, Resolution::Run)).await;
    world.take(&session("a")).await;
    let expires = world.wait(&wait(calls[2], WaitKind::Choice)).await;
    let skipped = Resolution::error("skipped");
    world.ports.turns.resolve(expires, &skipped).await.unwrap();
    world.ports.turns.resolve(expires, &skipped).await.unwrap();
    let expected = [
        "started process shell",
        "started process post",
        "interrupted process shell",
        "interrupted process post",
        "chosen terminal:local:user shell retry",
        "expired process post",
        "finished process post error",
    ];
    assert_eq!(lines(&world).await, expected);
}

/// A request for approval has a row, and so has its answer, with the author.
pub async fn audit_records_approval_requests_and_decisions(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    let calls = world.step(turn, 0, &["one", "two", "three", "ask", "four"]).await;
    let denied = || Resolution::error("denied");
    for (call, resolution) in calls.iter().zip([Resolution::Run, denied()]) {
        world.wait(&approval(*call)).await;
        decide(&world, &format!("/{call}"), resolve(WaitKind::Approval, resolution)).await;
        world.take(&session("a")).await;
    }
    let third = world.wait(&approval(calls[2])).await;
    world.ports.turns.resolve(third, &denied()).await.unwrap();
    world.take(&session("a")).await;
    let question = world.wait(&wait(calls[3], WaitKind::Answer)).await;
    world.ports.turns.resolve(question, &denied()).await.unwrap();
    world.take(&session("a")).await;
    let grant = Grant { tool: "four".parse().unwrap(), scope: "all".to_owned() };
    let open = new_wait(calls[4], WaitKind::Approval, Timestamp(i64::MAX));
    let open = NewWait { grant: Some(grant), ..open };
    let open = world.wait(&open).await;
    world.ports.turns.resolve(open, &Resolution::RunAlways).await.unwrap();
    for text in ["/new", "/new again"] {
        decide(&world, text, CommandAction::Forget).await;
    }
    let expected = [
        "asked process one",
        "allowed terminal:local:user one",
        "asked process two",
        "denied terminal:local:user two",
        "asked process three",
        "expired process three",
        "asked process four",
        "allowed host four for the session",
        "withdrawn terminal:local:user 1 allowed for the session",
    ];
    assert_eq!(lines(&world).await, expected);
}

/// Calls that end with their turn have a row that says so.
pub async fn audit_records_cancelled_calls(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    let calls = world.step(turn, 0, &["shell", "read", "later", "asked"]).await;
    world.start(calls[0], ToolClass::Effect).await;
    world.start(calls[1], ToolClass::Pure).await;
    world.wait(&approval(calls[3])).await;
    decide(&world, "/stop", CommandAction::Stop(None)).await;
    let expected = [
        "started process shell",
        "asked process asked",
        "finished process shell cancelled",
        "denied process asked cancelled",
    ];
    assert_eq!(lines(&world).await, expected);
}

fn pairing(bits: u128) -> Pairing {
    Pairing {
        code: PairingCode::from_bits(bits),
        person: "telegram:main:8".parse().unwrap(),
        name: None,
        chat: "telegram:main:8".parse().unwrap(),
        created_at: Timestamp(0),
        expires_at: Timestamp(i64::MAX),
        decision: None,
    }
}

/// Every change of access has a row with the author of the command, or the host.
pub async fn audit_records_changes_of_access_and_their_author(backend: &impl Backend) {
    let world = World::new(backend).await;
    let people = &world.ports.people;
    for bits in 0..3 {
        people.add_pairing(&pairing(bits), &[], Timestamp(0)).await.unwrap();
    }
    let settled = |bits, decision| SettledPairing {
        code: PairingCode::from_bits(bits),
        decision,
        notice: None,
        outcomes: Vec::new(),
    };
    let person: PersonId = "telegram:main:8".parse().unwrap();
    let chat: ChatAddress = "telegram:main:8".parse().unwrap();
    let link = ChatLink { chat: chat.clone(), session: session("a") };
    for _ in 0..2 {
        people.decide(&settled(0, Decision::Approved(Role::Owner))).await.unwrap();
    }
    people.link(&link).await.unwrap();
    for _ in 0..2 {
        people.unlink(&chat).await.unwrap();
    }
    for _ in 0..2 {
        people.remove_person(&person).await.unwrap();
    }
    people.add_pairing(&pairing(3), &[], Timestamp(0)).await.unwrap();
    let approved = CommandAction::Decide(settled(3, Decision::Approved(Role::User)));
    people.add_pairing(&pairing(4), &[], Timestamp(0)).await.unwrap();
    let denied = CommandAction::Decide(settled(4, Decision::Denied));
    let commands = [
        approved.clone(),
        approved,
        denied,
        CommandAction::Link(link),
        CommandAction::Unlink(chat.clone()),
        CommandAction::Unlink(chat),
        CommandAction::TrustPast,
        CommandAction::None,
    ];
    for (number, action) in commands.into_iter().enumerate() {
        decide(&world, &format!("/{number}"), action).await;
    }
    let expected = [
        "let-in host telegram:main:8 owner",
        "linked host telegram:main:8",
        "unlinked host telegram:main:8",
        "struck-off host telegram:main:8",
        "let-in terminal:local:user telegram:main:8 user",
        "turned-away terminal:local:user telegram:main:8",
        "linked terminal:local:user telegram:main:8",
        "unlinked terminal:local:user telegram:main:8",
        "trusted terminal:local:user",
    ];
    assert_eq!(lines(&world).await, expected);
    assert_eq!(Actor::Host.to_string(), "host");
}

/// A failed write leaves no row, because the row is in its transaction.
pub async fn audit_omits_a_failed_write(backend: &impl Backend) {
    let world = World::new(backend).await;
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    let call = world.step(turn, 0, &["shell"]).await[0];
    world.start(call, ToolClass::Effect).await;
    world.finish(call).await;
    let good = super::world::good();
    world.ports.log.finish_call(call, &good, None, &[]).await.unwrap_err();
    world.ports.log.start_call(call, ToolClass::Effect, None).await.unwrap_err();
    assert_eq!(lines(&world).await, ["started process shell", "finished process shell ok"]);
    world.finish_is_whole().await;
}

/// The query returns the last matching rows, oldest first.
pub async fn audit_rows_returns_the_last_matching_rows(backend: &impl Backend) {
    let world = World::new(backend).await;
    for name in ["a", "b"] {
        world.say(&session(name), "go").await;
        let turn = world.take(&session(name)).await.id;
        for call in world.step(turn, 0, &["one", "two"]).await {
            world.start(call, ToolClass::Effect).await;
            world.finish(call).await;
        }
    }
    let table = [
        (ALL, vec![1, 2, 3, 4, 5, 6, 7, 8]),
        (AuditFilter { limit: 3, ..ALL }, vec![6, 7, 8]),
        (AuditFilter { limit: 3, before: Some(6), ..ALL }, vec![3, 4, 5]),
        (AuditFilter { session: Some(session("a")), ..ALL }, vec![1, 2, 3, 4]),
        (AuditFilter { kind: Some(AuditKind::Finished), ..ALL }, vec![2, 4, 6, 8]),
        (AuditFilter { since: Some(Timestamp(i64::MAX)), ..ALL }, vec![]),
    ];
    for (filter, expected) in table {
        let rows = world.ports.audit.audit_rows(&filter).await.unwrap();
        let found: Vec<i64> = rows.iter().map(|row| row.sequence).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    assert!(AuditKind::ALL.iter().all(|kind| !kind.as_str().contains(' ')));
}

/// An unchanged chain passes the check: an empty one, a long one, and one after a restart.
pub async fn check_audit_accepts_an_unchanged_chain(backend: &impl Backend) {
    let world = World::new(backend).await;
    let check = world.ports.audit.check_audit(None).await.unwrap();
    assert_eq!((check.rows, check.head, check.fault), (0, None, None));
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    for step in 0..51 {
        for call in world.step(turn, step, &["shell"; 10]).await {
            world.start(call, ToolClass::Effect).await;
            world.finish(call).await;
        }
    }
    world.finish_is_whole().await;
    let world = world.restart().await;
    let check = world.ports.audit.check_audit(None).await.unwrap();
    assert_eq!((check.rows, check.fault), (1020, None));
    assert_eq!(check.head, world.ports.audit.audit_head().await.unwrap());
}

/// A noted head is found again; a different or later head is a fault.
pub async fn check_audit_reports_a_noted_head_that_is_cut_or_rewritten(backend: &impl Backend) {
    let world = World::new(backend).await;
    let cut = |known| Some(AuditFault::Cut { last: 0, known });
    let other = AuditHead { sequence: 1, hash: "0".repeat(64) };
    let check =
        async |noted: AuditHead| world.ports.audit.check_audit(Some(&noted)).await.unwrap().fault;
    assert_eq!(check(other.clone()).await, cut(1));
    world.say(&session("a"), "go").await;
    let turn = world.take(&session("a")).await.id;
    for call in world.step(turn, 0, &["shell"; 3]).await {
        world.start(call, ToolClass::Effect).await;
    }
    for row in rows(&world).await {
        assert_eq!(check(AuditHead { sequence: row.sequence, hash: row.hash }).await, None);
    }
    assert_eq!(check(other.clone()).await, Some(AuditFault::Rewritten(1)));
    let further = AuditHead { sequence: 4, ..other };
    assert_eq!(check(further).await, Some(AuditFault::Cut { last: 3, known: 4 }));
}

impl World<'_> {
    async fn finish_is_whole(&self) {
        assert_eq!(self.ports.audit.check_audit(None).await.unwrap().fault, None);
    }
}
