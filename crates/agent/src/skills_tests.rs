//! Skills in the request of a turn, and the calls that load them.

use avocet_protocol::ids::CallId;
use avocet_protocol::model::Message;
use avocet_protocol::tool::{SkillCall, SkillLimit};
use avocet_testkit::Scripted;
use serde_json::json;

use super::skill_calls;
use crate::harness::{AgentHarness, answered};

/// The system message of each request, and the names of its tools.
fn requests(harness: &AgentHarness) -> Vec<(String, Vec<String>)> {
    let requests = harness.model.requests().into_iter().map(|request| {
        let Some(Message::System { text }) = request.messages.first() else {
            panic!("{request:?}")
        };
        (text.clone(), request.tools.iter().map(|spec| spec.name.clone()).collect())
    });
    requests.collect()
}

#[tokio::test]
async fn instructions_list_skills_last_only_if_use_skill_is_offered() {
    for (offered, skills, listed) in [
        (&["echo", "use_skill"][..], &["tidy"][..], true),
        (&["echo", "use_skill"], &[], false),
        (&["echo"], &["tidy"], false),
    ] {
        let answers = vec![Scripted::says("one"), Scripted::says("two")];
        let harness = AgentHarness::new(answers).await;
        harness.tools.offer(offered);
        harness.files.put("AGENTS.md", b"test first");
        skills.iter().for_each(|name| harness.skills.put(name, None, "body"));
        assert_eq!(answered(&harness.turn("hi").await), "one");
        harness.settle("one").await;
        assert_eq!(answered(&harness.turn("again").await), "two");
        let requests = requests(&harness);
        assert_eq!(requests[0], requests[1], "unchanged skills leave the prefix as it is");
        let (system, tools) = &requests[0];
        let list = "test first\n\n# Skills\n\ntidy";
        assert_eq!(system.ends_with(list), listed, "{offered:?} {skills:?}: {system}");
        assert!(!system.contains("body"), "{system}");
        let expected = if listed { &["echo", "use_skill"][..] } else { &["echo"] };
        assert_eq!(tools, expected, "{offered:?} {skills:?}");
    }
}

#[tokio::test]
async fn skill_calls_are_those_before_a_call_also_after_a_restart() {
    let limit = |skill: &str| SkillLimit { skill: skill.to_owned(), tools: None };
    let page = |skill: &str| ("page", json!({"text": format!("{}\nbody", limit(skill))}));
    let first = [("echo", json!({})), page("a"), ("echo", json!({"n": 2}))];
    let answers = vec![Scripted::calls(&first), Scripted::calls(&[page("b")]), Scripted::Hang];
    let harness = AgentHarness::new(answers).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    // The third request never ends, so the process dies in it.
    tokio::select! {
        biased;
        end = harness.run(turn) => panic!("{end:?}"),
        () = until_asked(&harness, 3) => {}
    }
    let (_, turn) = harness.restart(Vec::new()).await;
    let loaded = |step, ordinal| {
        let calls = skill_calls(&turn, CallId { turn: turn.id, step, ordinal });
        let name = |call: SkillCall| (call.tool, call.limit.skill);
        calls.into_iter().map(name).collect::<Vec<_>>()
    };
    let page = |skill: &str| ("page".to_owned(), skill.to_owned());
    assert_eq!(loaded(0, 0), []);
    assert_eq!(loaded(0, 1), []);
    assert_eq!(loaded(0, 2), [page("a")]);
    assert_eq!(loaded(1, 0), [page("a")]);
    assert_eq!(loaded(2, 0), [page("a"), page("b")]);
}

/// Waits until the model has got this number of requests.
async fn until_asked(harness: &AgentHarness, count: usize) {
    while harness.model.requests().len() < count {
        tokio::task::yield_now().await;
    }
}
