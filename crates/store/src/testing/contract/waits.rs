//! Rules of turns that wait for an approval, an answer, a child or a choice.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Choice, InboundKind, Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{CallId, WaitId};
use avocet_protocol::store::{
    AcceptedAs, Claim, CommandAction, CommandEffect, CommandReply, NewWait, OpenPrompt, Resolution,
};
use avocet_protocol::tool::{ChildMode, LogWrite, NewChild, WaitKind};
use avocet_protocol::turn::{CallResult, CallState, Origin, TurnRecord, TurnState};
use serde_json::json;

use super::Backend;
use super::world::{World, failure, message, new_wait, planned, reply, session};

/// Digest of the content shown to a person.
const SHOWN: &str = "2c26b46b";

fn wait_of(call: CallId, kind: WaitKind) -> NewWait {
    let expires_at = Timestamp(9_000_000_000_000 + i64::from(call.ordinal));
    let shown = (kind == WaitKind::Approval).then(|| SHOWN.to_owned());
    NewWait { shown, ..new_wait(call, kind, expires_at) }
}

/// Starts a turn of session `a` whose only call waits.
async fn waiting(world: &World<'_>, kind: WaitKind) -> (TurnRecord, CallId, WaitId) {
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.wait(&wait_of(call, kind)).await;
    (turn, call, wait)
}

async fn resolve(world: &World<'_>, wait: WaitId, how: &Resolution) -> Option<SessionId> {
    world.ports.turns.resolve(wait, how).await.unwrap()
}

/// Every reserved id is unique, even if an earlier one stays unused.
pub async fn reserve_wait_gives_each_id_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (_, _, first) = waiting(&world, WaitKind::Approval).await;
    let unused = world.ports.turns.reserve_wait().await.unwrap();
    let world = world.restart().await;
    resolve(&world, first, &Resolution::Run).await;
    let turn = world.take(&session("a")).await;
    let call = turn.steps[0].calls[0].id;
    let next = world.wait(&wait_of(call, WaitKind::Approval)).await;
    assert!(first.0 < unused.0 && unused.0 < next.0, "{first} {unused} {next}");
    assert_eq!(world.ports.turns.open_waits().await.unwrap()[0].id, next);
}

/// Beginning a wait puts its prompt into the outbox in the same transaction.
pub async fn wait_blocks_the_lane_and_enqueues_its_prompt(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    world.say(&a, "2").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let wait = world.ports.turns.reserve_wait().await.unwrap();
    let mut prompt = planned(&a, &[&format!("may I? ({wait})")]);
    prompt.chunks[0].choices = vec![Choice::new("Yes", format!("/approve {wait}"))];
    let begun = NewWait { id: wait, prompt: Some(prompt), ..wait_of(call, WaitKind::Approval) };
    world.ports.turns.wait(&[begun]).await.unwrap();

    assert_eq!(world.claim(&a).await, Claim::Nothing, "the lane's place is held");
    let delivery = world.deliveries(&a.address()).await.remove(0);
    assert_eq!(delivery.content.text, format!("may I? ({wait})"));
    assert_eq!(delivery.content.choices[0].says, format!("/approve {wait}"));
    let open = world.ports.turns.open_waits().await.unwrap();
    assert_eq!((open[0].id, &open[0].session, open[0].kind), (wait, &a, WaitKind::Approval));
    let status = world.ports.query.session_status(&a).await.unwrap();
    assert_eq!((status.queued, status.open.unwrap().waits_for), (1, Some(WaitKind::Approval)));
}

/// An undecided wait is found by its latest sent prompt, which can be repeated. Decided and expired
/// waits are excluded.
pub async fn open_prompts_lists_sent_prompts_and_say_again_repeats_them(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turns = &world.ports.turns;
    let a = session("a");
    world.say(&a, "1").await;
    let first = asks(&world, 0, "the first").await;
    resolve(&world, first, &Resolution::error("denied")).await;
    assert_eq!(found(&world, LATER).await, [], "it is decided");
    let second = asks(&world, 1, "may I?").await;
    assert_eq!(found(&world, Timestamp(i64::MAX)).await, [], "it has expired");
    let open = found(&world, LATER).await;
    assert_eq!(open.len(), 1);
    let OpenPrompt { wait, prompt, is_repeated, .. } = &open[0];
    assert_eq!((*wait, &prompt.address, is_repeated), (second, &a.address(), &false));
    let texts: Vec<&str> = prompt.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["look:", "may I?"]);
    assert_eq!(prompt.chunks[1].choices[0].says, "/approve");

    let decided = OpenPrompt { wait: first, ..open[0].clone() };
    turns.repeat_prompts(&[decided, open[0].clone()]).await.unwrap();
    assert_eq!(found(&world, LATER).await, [], "the repeated prompt is still in delivery");
    assert_eq!(world.delivered_texts(&a).await, ["look:", "may I?"], "once");
    let again = found(&world, LATER).await;
    assert_eq!((again[0].wait, &again[0].prompt, again[0].is_repeated), (second, prompt, true));
    resolve(&world, second, &Resolution::Run).await;
    turns.repeat_prompts(&open).await.unwrap();
    assert_eq!(world.delivered_texts(&a).await, [""; 0], "it was decided meanwhile");
}

/// Lets the turn of session `a` ask for an approval, in two chunks that are sent.
async fn asks(world: &World<'_>, step: u32, text: &str) -> WaitId {
    let a = session("a");
    let turn = world.take(&a).await;
    let call = world.step(turn.id, step, &["tool"]).await[0];
    let mut prompt = planned(&a, &["look:", text]);
    prompt.chunks[1].choices = vec![Choice::new("Yes", "/approve")];
    let wait = NewWait { prompt: Some(prompt), ..wait_of(call, WaitKind::Approval) };
    let wait = world.wait(&wait).await;
    assert_eq!(found(world, LATER).await, [], "it is not sent yet");
    world.deliveries(&a.address()).await;
    wait
}

/// A moment long after every send and before waits expire.
const LATER: Timestamp = Timestamp(8_000_000_000_000);

async fn found(world: &World<'_>, now: Timestamp) -> Vec<OpenPrompt> {
    world.ports.turns.open_prompts(now).await.unwrap()
}

/// A parent waits for its child, so there is no prompt for a person.
pub async fn open_prompts_excludes_a_wait_for_a_child(backend: &impl Backend) {
    let world = World::new(backend).await;
    spawn(&world).await;
    assert_eq!(found(&world, LATER).await, []);
}

/// An allowed call is planned again, with the permission.
pub async fn resolve_plans_an_allowed_call_again(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, call, wait) = waiting(&world, WaitKind::Approval).await;
    let a = session("a");
    assert_eq!(resolve(&world, wait, &Resolution::Run).await, Some(a.clone()));
    assert_eq!(resolve(&world, wait, &Resolution::Run).await, None, "one-shot");
    let taken = world.take(&a).await;
    assert_eq!(taken.id, turn.id);
    assert_eq!(taken.steps[0].calls[0].allowed.as_deref(), Some(SHOWN));
    assert_eq!(world.call_state(&a, call).await, CallState::Planned);
    assert_eq!(world.ports.turns.open_waits().await, Ok(vec![]));
}

/// An author who wrote before the question cannot mean that question.
pub async fn resolve_command_without_an_id_applies_to_an_earlier_wait_only(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["tool"]).await[0];
    let early = world.command(&a, "/approve").await;
    world.wait(&wait_of(call, WaitKind::Approval)).await;
    let mut kept = message(&a, "/approve, said at night", InboundKind::Command);
    kept.inbound.written_at = Some(Timestamp(0));
    let kept = world.accept(&kept).await.id;
    let late = world.command(&a, "/approve it").await;
    for (command, expected) in [
        (early, CommandEffect::Nothing),
        (kept, CommandEffect::Nothing),
        (late, CommandEffect::Resolved(a.clone())),
    ] {
        let (kind, resolution) = (WaitKind::Approval, Resolution::Run);
        let action = CommandAction::Resolve { wait: None, kind, anywhere: true, resolution };
        let inbox = &world.ports.inbox;
        let effect = inbox.settle_command(command, &action, &CommandReply::default()).await;
        assert_eq!(effect, Ok(expected));
    }
}

/// A denied, skipped or expired call gets an error as its result, and the turn goes on.
pub async fn resolve_makes_a_refusal_the_result_of_the_call(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, call, wait) = waiting(&world, WaitKind::Approval).await;
    let a = session("a");
    resolve(&world, wait, &Resolution::error("denied")).await;
    assert_eq!(world.take(&a).await.id, turn.id);
    let denied = CallState::Finished(CallResult::error("denied"));
    assert_eq!(world.call_state(&a, call).await, denied);
}

/// While a question is open, the next text is its answer instead of a new turn.
pub async fn accept_makes_plain_text_the_answer_to_a_question(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, call, _) = waiting(&world, WaitKind::Answer).await;
    let a = session("a");
    let asked = turn.origin.messages()[0].id;
    let answer = world.accept(&message(&a, "blue", InboundKind::Text)).await;
    assert_eq!(answer.what, AcceptedAs::Answer(a.clone()));
    assert_eq!(world.outcome(answer.id).await, None, "its turn has not ended");
    let world = world.restart().await;
    let resumed = world.take(&a).await;
    assert_eq!((resumed.id, resumed.origin.messages().len()), (turn.id, 1));
    let result = CallResult::ok(json!({ "answer": "blue" }));
    assert_eq!(world.call_state(&a, call).await, CallState::Finished(result));
    world.say(&a, "and another thing").await;
    world.reply(turn.id, "blue it is").await;
    assert_eq!(world.outcome(answer.id).await, Some(Outcome::Merged));
    assert_eq!(world.outcome(asked).await, Some(Outcome::Replied));
}

/// While an approval is open, other text waits behind it.
pub async fn accept_queues_plain_text_behind_an_approval(backend: &impl Backend) {
    let world = World::new(backend).await;
    waiting(&world, WaitKind::Approval).await;
    world.say(&session("a"), "yes").await;
    assert_eq!(world.turn(&session("a")).await.state, TurnState::Waiting);
}

/// Spawns a child in the transaction that makes the parent wait.
pub(super) async fn spawn(world: &World<'_>) -> (TurnRecord, CallId, TurnRecord) {
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["spawn"]).await[0];
    let writes = vec![LogWrite::Spawn(NewChild::awaited_child("count the files"))];
    let wait = NewWait { writes, ..wait_of(call, WaitKind::Child) };
    world.wait(&wait).await;
    let open = world.ports.turns.open_sessions().await.unwrap();
    assert_eq!(open, [SessionId::of_child(call)]);
    let child = world.take(&open[0]).await;
    let origin = Origin::Child {
        parent: turn.id,
        prompt: "count the files".to_owned(),
        trust: Trust::Full,
        label: None,
        mode: ChildMode::Awaited,
    };
    assert_eq!(child.origin, origin);
    (turn, call, child)
}

/// The child's final text is the result of the call, and the parent goes on.
pub async fn settle_of_a_child_answers_the_waiting_call(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, call, child) = spawn(&world).await;
    let a = session("a");
    let end = avocet_protocol::store::Settlement { reply: None, ..reply("seven") };
    assert_eq!(world.settle(child.id, &end).await.unwrap().parent, Some(a.clone()));
    assert_eq!(world.take(&a).await.id, turn.id);
    let result = CallResult::ok(json!({ "answer": "seven" }));
    assert_eq!(world.call_state(&a, call).await, CallState::Finished(result));
}

/// A failed child ends the wait of its parent.
pub async fn settle_of_a_failed_child_is_an_error_of_the_waiting_call(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (_, call, child) = spawn(&world).await;
    let a = session("a");
    world.settle(child.id, &failure("no model")).await.unwrap();
    world.take(&a).await;
    let failed = CallState::Finished(CallResult::error("no model"));
    assert_eq!(world.call_state(&a, call).await, failed);
}

/// Children end with their parent.
pub async fn stop_of_a_parent_stops_its_children(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (turn, call, child) = spawn(&world).await;
    let a = session("a");
    let stop = world.command(&a, "/stop").await;
    let effect = world
        .ports
        .inbox
        .settle_command(stop, &CommandAction::Stop(None), &CommandReply::default())
        .await;
    assert_eq!(effect, Ok(CommandEffect::Stopped(vec![turn.id, child.id])));
    assert_eq!(world.turn(&SessionId::of_child(call)).await.state, TurnState::Cancelled);
    assert_eq!(world.ports.turns.open_waits().await, Ok(vec![]));
    let late = world.settle(child.id, &reply("late")).await;
    assert!(late.is_err());
}

/// `/retry` and `/skip` work with and without the id of the wait.
pub async fn resolve_command_makes_a_choice_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (_, call, wait) = waiting(&world, WaitKind::Choice).await;
    let a = session("a");
    let settle = async |text: &str, wait, resolution| {
        let command = world.command(&a, text).await;
        let action =
            CommandAction::Resolve { wait, kind: WaitKind::Choice, anywhere: false, resolution };
        world.ports.inbox.settle_command(command, &action, &CommandReply::default()).await.unwrap()
    };
    let other = settle("/skip w99", Some(WaitId(99)), Resolution::Run).await;
    assert_eq!(other, CommandEffect::Nothing);
    let skip = settle("/skip", None, Resolution::error("skipped")).await;
    assert_eq!(skip, CommandEffect::Resolved(a.clone()));
    let again = settle("/retry", Some(wait), Resolution::Run).await;
    assert_eq!(again, CommandEffect::Nothing, "one-shot");
    let skipped = CallState::Finished(CallResult::error("skipped"));
    assert_eq!(world.call_state(&a, call).await, skipped);
}
