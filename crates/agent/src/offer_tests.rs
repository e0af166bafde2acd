use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::model::{Arguments, Usage};
use avocet_protocol::store::TurnLog;
use avocet_protocol::tool::ToolSpec;
use avocet_protocol::turn::{AnswerEnding, CallState, ResultKind, Step};
use avocet_testkit::{FakeToolbox, Scripted};

use super::*;
use crate::Compaction;
use crate::harness::{AgentHarness, answered, session};
use crate::small_models::facts;

fn spec(name: &str, group: &str, properties: &Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        aliases: vec![format!("{name}_alias")],
        group: group.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": properties }),
    }
}

/// Tools with the names of real ones, which [`FakeToolbox`] runs if it knows them.
fn specs() -> Arc<[ToolSpec]> {
    [
        spec("echo", "echo", &json!({})),
        spec(
            "exec_shell",
            "process",
            &json!({
                "background": { "type": "boolean", "x-loads": "process", "x-aliases": ["later"] },
                "timeout": { "type": "integer", "x-rare": true },
            }),
        ),
        spec("files__open", "files", &json!({})),
        spec("git_diff", "git", &json!({})),
        spec("git_log", "git", &json!({})),
        spec("process_poll", "process", &json!({})),
        spec("read_result", "read_result", &json!({})),
        spec("use_skill", "skills", &json!({})),
    ]
    .into()
}

fn core() -> Arc<[String]> {
    ["exec_shell", "use_*"].map(str::to_owned).into()
}

fn names(tools: &[ToolSpec]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// The names of the tools of each request.
fn requested(harness: &AgentHarness) -> Vec<Vec<String>> {
    let requests = harness.model.requests().into_iter();
    requests.map(|one| one.tools.iter().map(|tool| tool.name.clone()).collect()).collect()
}

async fn harness(answers: Vec<Scripted>) -> AgentHarness {
    let mut harness = AgentHarness::new(answers).await;
    harness.tools.offer_specs(specs());
    harness.skills.put("tidy", None, "body");
    harness.agent.core_tools = CoreTools::fixed(core().to_vec());
    harness
}

const FIRST: [&str; 3] = ["exec_shell", "use_skill", "use_tools"];

#[test]
fn offer_lists_deferred_tools_by_group_and_appends_loaded_ones() {
    let offer = |loaded: &[&str]| {
        let loaded: Vec<String> = loaded.iter().map(|name| (*name).to_owned()).collect();
        ToolOffer::new(&specs(), &core(), &loaded)
    };
    let first = offer(&[]);
    assert_eq!(names(&first.tools), FIRST);
    let deferred = ["echo", "files__open", "git_diff", "git_log", "process_poll", "read_result"];
    assert_eq!(names(&first.deferred), deferred);
    let list = "echo files(open) git(diff log) process(poll) read_result";
    assert_eq!(first.tools[2].description, format!("Load more tools. Groups: {list}"));
    let loaded = offer(&["read_result", "git_diff", "git_log"]);
    assert_eq!(loaded.tools[..3], first.tools[..3], "the earlier tools stay as they are");
    assert_eq!(names(&loaded.tools[3..]), ["read_result", "git_diff", "git_log"]);
    assert_eq!(names(&loaded.deferred), ["echo", "files__open", "process_poll"]);
}

#[test]
fn offer_shows_rare_arguments_of_loaded_tools_and_without_deferred_ones() {
    let all: Arc<[String]> = ["*".to_owned()].into();
    let process = ["exec_shell".to_owned()];
    for (core, loaded, is_rare) in
        [(core(), &[][..], true), (core(), &process[..], false), (all.clone(), &[], false)]
    {
        let offer = ToolOffer::new(&specs(), &core, loaded);
        let shell = offer.tools.iter().find(|tool| tool.name == "exec_shell").unwrap();
        let timeout = &shell.parameters["properties"]["timeout"];
        assert_eq!(avocet_protocol::tool::is_rare(timeout), is_rare, "{core:?} {loaded:?}");
    }
    assert!(ToolOffer::new(&specs(), &all, &[]).deferred.is_empty());
    // The schemas of two tools cost less than `use_tools`.
    let two_more: Arc<[String]> = ["e*", "f*", "g*", "u*"].map(str::to_owned).into();
    assert_eq!(ToolOffer::new(&specs(), &two_more, &[]).tools.len(), specs().len());
}

#[test]
fn core_tools_are_fewer_for_a_small_window() {
    let core = |tools: &CoreTools, window, limit| tools.patterns_for(facts(window), limit).len();
    let default = CoreTools::default();
    for (window, limit, count) in [
        (200_000, 64_000, CORE.len()),
        (16_384, 64_000, SMALL_CORE.len()),
        (200_000, 8_000, SMALL_CORE.len()),
    ] {
        assert_eq!(core(&default, window, limit), count, "{window} {limit}");
    }
    let own = vec!["*".to_owned()];
    assert_eq!(core(&CoreTools::fixed(own.clone()), 8_192, 64_000), 1);
    assert_eq!(core(&CoreTools::by_window(own), 8_192, 64_000), SMALL_CORE.len());
    assert_eq!(
        **CoreTools::default().patterns_for(ModelFacts::default(), 64_000),
        CORE.map(str::to_owned)
    );
}

#[tokio::test]
async fn loaded_tools_follow_from_the_calls_in_the_log() {
    let harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
    harness.turn("hi").await;
    let turn = harness.record().await;
    let cut = crate::truncate::cut_result(json!("x".repeat(2000)), "t1s0c0", 1024).value;
    let skill = json!(
        "[skill a; until the end of this turn or the next skill, only these tools \
        run: git_l* echo]\nbody"
    );
    let (git, none) = (&["git_diff", "git_log"][..], &[][..]);
    for (name, arguments, result, expected) in [
        ("use_tools", json!({"group": "git"}), CallResult::ok(json!("ok")), git),
        ("use_tools", json!({"groups": ["Git"]}), CallResult::ok(json!("ok")), git),
        ("use_tools", json!({"group": "git_log"}), CallResult::ok(json!("ok")), git),
        ("use_tools", json!({"group": "nothing"}), CallResult::ok(json!("ok")), none),
        ("git_log", json!({}), CallResult::ok(json!("ok")), git),
        ("git_log_alias", json!({}), CallResult::ok(json!("ok")), git),
        ("exec_shell", json!({"command": "ls"}), CallResult::ok(json!("ok")), none),
        ("exec_shell", json!({"background": false}), CallResult::ok(json!("ok")), none),
        (
            "exec_shell",
            json!({"later": true}),
            CallResult::ok(json!("ok")),
            &["exec_shell", "process_poll"],
        ),
        (
            "exec_shell",
            json!({}),
            CallResult::ok(cut.clone()).with_kind(ResultKind::Cut),
            &["read_result"],
        ),
        (
            "git_log",
            json!({}),
            CallResult::ok(cut.clone()).with_kind(ResultKind::Cut),
            &["git_diff", "git_log", "read_result"],
        ),
        // A tool may write the same text.
        ("exec_shell", json!({}), CallResult::ok(cut), none),
        ("use_skill", json!({"name": "a"}), CallResult::ok(skill.clone()), &["echo", "git_log"]),
        ("exec_shell", json!({}), CallResult::ok(skill), none),
        ("unknown", json!({}), CallResult::ok(json!("ok")), none),
    ] {
        let call = ToolCall {
            name: name.to_owned(),
            arguments: Arguments::Object(arguments.as_object().unwrap().clone()),
        };
        let call = LoggedCall {
            id: CallId { turn: TurnId(1), step: 0, ordinal: 1 },
            call,
            state: CallState::Finished(result),
            allowed: None,
        };
        // An earlier call of the same tool, whose arguments load nothing.
        let nothing = Arguments::Object(serde_json::Map::new());
        let plain = LoggedCall {
            id: CallId { turn: TurnId(1), step: 0, ordinal: 0 },
            call: ToolCall { name: name.to_owned(), arguments: nothing },
            state: CallState::Finished(CallResult::ok(json!("ok"))),
            allowed: None,
        };
        let step = Step {
            number: 0,
            text: String::new(),
            ending: AnswerEnding::Complete,
            usage: Usage::default(),
            trust: Trust::Full,
            calls: vec![plain, call],
            written: None,
            reasoning: None,
            closed: true,
            steered: Vec::new(),
        };
        let turn = TurnRecord { steps: vec![step], ..turn.clone() };
        let toolbox = FakeToolbox::default();
        let now = loaded_tools(&toolbox, &specs(), &core(), &[], &turn);
        assert_eq!(now, expected, "{name} {arguments}");
        let past = [Arc::new(turn.clone())];
        let empty = TurnRecord { steps: Vec::new(), ..turn };
        let later = loaded_tools(&toolbox, &specs(), &core(), &past, &empty);
        assert_eq!(later, expected, "in a later turn: {name} {arguments}");
    }
}

#[tokio::test]
async fn use_tools_loads_a_group_until_a_compaction_leaves_its_turns_out() {
    let load = [("use_tools", json!({"group": "git"}))];
    let answers = vec![
        Scripted::calls(&load),
        Scripted::says("one"),
        Scripted::says("two"),
        Scripted::says("summary"),
        Scripted::says("three"),
    ];
    let harness = harness(answers).await;
    assert_eq!(answered(&harness.turn("hi").await), "one");
    assert_eq!(harness.last_results(), ["You can call: git_diff, git_log"]);
    harness.settle("one").await;
    assert_eq!(answered(&harness.turn(&"more ".repeat(100)).await), "two");
    harness.settle("two").await;
    let loaded = [&FIRST[..], &["git_diff", "git_log"]].concat();
    assert_eq!(requested(&harness), [&FIRST[..], &loaded, &loaded]);
    let requests = harness.model.requests();
    assert!(requests.iter().all(|one| one.messages[0] == requests[0].messages[0]));
    let Compaction::Done { compacted, .. } = harness.compact().await.unwrap() else {
        panic!("not compacted")
    };
    harness.store.record_compaction(&session(), &compacted).await.unwrap();
    assert_eq!(answered(&harness.turn("again").await), "three");
    assert_eq!(requested(&harness).pop().unwrap(), FIRST);
}

#[tokio::test]
async fn deferred_tool_runs_by_name_and_stays_loaded_after_a_restart() {
    let harness =
        harness(vec![Scripted::calls(&[("echo", json!({"a": 1}))]), Scripted::Hang]).await;
    harness.say("hi").await;
    let turn = harness.claim().await;
    // The second request never ends, so the process dies in it.
    tokio::select! {
        biased;
        end = harness.run(turn) => panic!("{end:?}"),
        () = async {
            while harness.model.requests().len() < 2 {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    assert_eq!(harness.runs("echo"), 1);
    let before = requested(&harness).pop().unwrap();
    assert_eq!(before, [&FIRST[..], &["echo"]].concat());
    let (mut harness, turn) = harness.restart(vec![Scripted::says("done")]).await;
    harness.agent.core_tools = CoreTools::fixed(core().to_vec());
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "done");
    assert_eq!(requested(&harness), [before]);
}

#[tokio::test]
async fn use_tools_without_a_known_group_names_the_groups() {
    let load = [("use_tools", json!({"group": "guit"}))];
    let harness = harness(vec![Scripted::calls(&load), Scripted::says("ok")]).await;
    harness.turn("hi").await;
    let groups = "echo, files, git, process, read_result, skills";
    assert_eq!(
        harness.last_results(),
        [json!({ "error": format!("there is no such group; the groups are {groups}") })
            .to_string()]
    );
}

#[test]
fn offer_of_untrusted_tools_hides_their_names_until_they_are_loaded_and_lowers_the_trust() {
    let untrusted = |name: &str| {
        let mut spec = spec(name, "foreign", &json!({}));
        spec.parameters[avocet_protocol::tool::UNTRUSTED_TOOL] = true.into();
        spec
    };
    let more = [untrusted("foreign__obey"), untrusted("foreign__run")];
    let specs: Arc<[ToolSpec]> = specs().iter().cloned().chain(more).collect();
    let offer = ToolOffer::new(&specs, &core(), &[]);
    let described = &offer.tools.iter().find(|tool| tool.name == USE_TOOLS).unwrap().description;
    assert!(described.contains("foreign(2 tools)"), "{described}");
    assert!(!described.contains("obey"), "{described}");
    assert_eq!(offer.trust, Trust::Full);
    let offer = ToolOffer::new(&specs, &core(), &["foreign__obey".to_owned()]);
    assert_eq!(offer.trust, Trust::Low);
}
