//! Benchmark of logging a call from its start to its result. A call with an effect also adds two
//! audit rows. Prints figures only; `cargo bench -p avocet-store --bench calls`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Content, Inbound, InboundKind, NewInbound, Sender, SessionId};
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::model::{Arguments, ToolCall, Usage};
use avocet_protocol::store::{Claim, Inbox, NewStep, Suspects, TurnLog, Turns};
use avocet_protocol::tool::ToolClass;
use avocet_protocol::turn::{AnswerEnding, CallResult};
use avocet_store::testing::TempStore;
use avocet_store::{Durability, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use avocet_testkit::ManualClock;
use divan::Bencher;
use serde_json::json;
use tokio::runtime::Builder;

fn main() {
    divan::main();
}

/// Calls that only read, which need no audit rows.
#[divan::bench(args = [Durability::Process, Durability::Synced], sample_count = 200, sample_size = 1)]
fn that_reads(bencher: Bencher<'_, '_>, durability: Durability) {
    calls(bencher, durability, ToolClass::Pure);
}

/// Calls with an effect, which add two audit rows.
#[divan::bench(args = [Durability::Process, Durability::Synced], sample_count = 200, sample_size = 1)]
fn that_does_more(bencher: Bencher<'_, '_>, durability: Durability) {
    calls(bencher, durability, ToolClass::Effect);
}

fn calls(bencher: Bencher<'_, '_>, durability: Durability, class: ToolClass) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let temp = TempStore::new();
    let (store, turn) = runtime.block_on(begun(&temp, durability));
    let next = AtomicU32::new(0);
    let step = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(store.record_step(turn, &step(number))).expect("T1");
        CallId { turn, step: number, ordinal: 0 }
    };
    bencher.with_inputs(step).bench_local_values(|call| {
        runtime.block_on(async {
            store.start_call(call, class, None).await.expect("T2");
            let result = CallResult::ok(json!({ "exit_code": 0, "output": "done" }));
            store.finish_call(call, &result, None, &[]).await.expect("T3");
        });
    });
}

/// A turn that runs.
async fn begun(temp: &TempStore, durability: Durability) -> (Arc<SqliteStore>, TurnId) {
    let options = OpenOptions { durability, ..temp.options() };
    let clock = Arc::new(ManualClock::default());
    let store = SqliteStore::open(options, clock, &Group::new("bench")).await.expect("a log");
    let session = SessionId::parse("terminal:local:a").expect("an id");
    let sender = Sender::new("user".parse().expect("an id"));
    let key = "1".parse().expect("a key");
    let inbound = Inbound::new(session.address(), sender, key, Content::text("go"));
    let kind = InboundKind::Text;
    let message =
        NewInbound { session: session.clone(), kind, inbound, removed: 0, trust: Trust::Full };
    store.accept(&message, None).await.expect("accepted");
    match store.claim(&session, Suspects::Include, Duration::ZERO).await.expect("claimed") {
        Claim::Turn(claimed) => (Arc::new(store), claimed.turn.id),
        other => panic!("{other:?}"),
    }
}

fn step(number: u32) -> NewStep {
    let arguments = json!({ "command": "cargo test --workspace", "timeout": 600 });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let call = ToolCall { name: "exec_shell".to_owned(), arguments: Arguments::Object(arguments) };
    NewStep {
        number,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![call],
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    }
}
