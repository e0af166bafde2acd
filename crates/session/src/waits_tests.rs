//! Tests of questions and interrupted calls, which wait for a person.

use super::*;

#[tokio::test]
async fn question_waits_without_a_worker_and_takes_the_next_text_as_answer() {
    let harness = SessionHarness::new(ScriptedModel::new(vec![
        Scripted::calls(&[("ask", json!({}))]),
        Scripted::says("blue it is"),
    ]))
    .await;
    let question = harness.say("paint it").await;
    assert_eq!(harness.channel.texts(1).await, ["What colour?"]);
    harness.idle().await;
    let answer = harness.say("blue").await;
    assert_eq!(harness.channel.texts(2).await[1], "blue it is");
    assert_eq!(harness.outcome(question).await, Some(Outcome::Replied));
    assert_eq!(harness.outcome(answer).await, Some(Outcome::Merged));
}

#[tokio::test]
async fn question_survives_a_restart_and_accepts_a_button_or_a_text() {
    for (says_blue, answer) in [(true, "blue"), (false, "none of them: green")] {
        let asks = Scripted::calls(&[("ask", json!({}))]);
        let harness = SessionHarness::new(ScriptedModel::new(vec![asks])).await;
        let question = harness.say("paint it").await;
        harness.channel.taken(1).await;
        harness.sent().await;
        let harness = harness.restart(ScriptedModel::new(vec![Scripted::says("so be it")])).await;
        // The question is asked only once, despite the restart.
        assert_eq!(harness.channel.texts(1).await, ["What colour?"]);
        let button = harness.channel.taken(1).await.remove(0).content.choices.remove(0);
        assert_eq!(button.label, "Blue");
        let said = harness.say(if says_blue { &button.says } else { answer }).await;
        assert_eq!(harness.channel.texts(2).await[1], "so be it");
        let requests = harness.asked(1).await;
        let answered = requests[0].messages.iter().find_map(|message| match message {
            Message::ToolResult { result, .. } => Some(result.clone()),
            _ => None,
        });
        assert_eq!(answered, Some(json!({ "answer": answer }).to_string()));
        assert_eq!(harness.outcome(question).await, Some(Outcome::Replied));
        assert_eq!(harness.outcome(said).await, Some(Outcome::Merged));
        assert_eq!(harness.tools.runs("ask"), 0, "nothing is asked twice");
    }
}

#[tokio::test]
async fn expiry_ends_unanswered_waits_and_the_turn_goes_on() {
    let harness = SessionHarness::new(ScriptedModel::new(vec![
        Scripted::calls(&[("ask", json!({})), ("dangerous", json!({}))]),
        Scripted::says("never mind"),
    ]))
    .await;
    harness.say("paint it").await;
    for prompt in [1, 2] {
        harness.channel.taken(prompt).await;
        harness.clock.sleeper(WAIT).await;
        harness.clock.advance(WAIT);
    }
    assert_eq!(harness.channel.texts(3).await, ["What colour?", "May I?", "never mind"]);
    let requests = harness.asked(2).await;
    let results: Vec<String> = requests[1]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { result, .. } => Some(result.clone()),
            _ => None,
        })
        .collect();
    let unanswered = "unanswered: no answer came in time";
    let denied = "denied: no approval came in time";
    assert_eq!(results, [unanswered, denied].map(|text| format!("{{\"error\":\"{text}\"}}")));
    assert_eq!(harness.tools.runs("dangerous"), 0);
}

#[tokio::test]
async fn interrupted_effect_waits_for_skip_or_retry() {
    for (choice, said, ran) in
        [("/skip", "I continue without it.", 0), ("/retry", "I am running it again.", 1)]
    {
        let calls = Scripted::calls(&[("post", json!({"to": "bank"}))]);
        let setup = Setup { post_hangs: true, ..Setup::default() };
        let mut harness = SessionHarness::with(ScriptedModel::new(vec![calls]), setup).await;
        let started = harness.say("pay").await;
        while harness.tools.runs("post") == 0 {
            tokio::task::yield_now().await;
        }
        harness.setup.post_hangs = false;
        let harness = harness.restart(ScriptedModel::new(vec![Scripted::says("done")])).await;
        let prompt = harness.channel.taken(1).await.remove(0).content;
        assert!(prompt.text.starts_with("I was interrupted while running `post`"), "{prompt:?}");
        assert_eq!(prompt.choices[1].says, "/skip w1");
        assert_eq!(harness.outcome(started).await, None);
        harness.say(choice).await;
        let texts = harness.channel.texts(3).await;
        assert!(texts.contains(&said.to_owned()) && texts.contains(&"done".to_owned()));
        assert_eq!(harness.tools.runs("post"), ran);
    }
}

#[tokio::test]
async fn remind_repeats_open_prompts_at_start_if_button_presses_are_lost() {
    const HOUR: Duration = Duration::from_hours(1);
    // Start times with the number of prompts so far; prompts are repeated at most once an hour.
    let lost = [(Duration::ZERO, 2), (Duration::ZERO, 2), (HOUR, 2), (HOUR + SECOND, 3)];
    let kept = [(Duration::ZERO, 1), (HOUR + SECOND, 1)];
    for (channel, starts) in
        [(FakeChannel::forgetful(), &lost[..]), (FakeChannel::default(), &kept)]
    {
        let calls = Scripted::calls(&[("post", json!({"to": "bank"}))]);
        let setup = Setup { post_hangs: true, ..Setup::default() };
        let model = ScriptedModel::new(vec![calls]);
        let mut harness = SessionHarness::on(TempStore::new(), channel.into(), model, setup).await;
        harness.say("pay").await;
        while harness.tools.runs("post") == 0 {
            tokio::task::yield_now().await;
        }
        harness.setup.post_hangs = false;
        let mut harness = harness.restart(ScriptedModel::new(vec![])).await;
        let asked = harness.channel.taken(1).await.remove(0).content;
        harness.idle().await;
        harness.sent().await;
        for (start, times) in starts {
            harness.setup.starts = *start;
            harness = harness.restart(ScriptedModel::new(vec![])).await;
            let taken = harness.channel.taken(*times).await;
            harness.sent().await;
            assert_eq!(harness.channel.taken(*times).await.len(), *times, "{start:?}");
            for reminder in &taken[1..] {
                assert_eq!(
                    reminder.content.text,
                    format!("Still waiting for a decision:\n{}", asked.text)
                );
                assert_eq!(reminder.content.choices, asked.choices);
            }
        }
        let harness = harness.restart(ScriptedModel::new(vec![Scripted::says("done")])).await;
        harness.say("/skip").await;
        harness.channel.shows(|texts| texts.last().is_some_and(|last| last == "done")).await;
    }
}
