//! Tests of the choice of agent and model for a session.

use avocet_protocol::model::{Model, ModelFacts, Models, NoModel, Price};
use avocet_protocol::store::SessionStatus;
use parking_lot::Mutex;

use super::*;

fn named(name: &'static str) -> Arc<ScriptedModel> {
    let says =
        move |request: &ModelRequest| Scripted::says(&format!("{name}: {}", last_said(request)));
    Arc::new(ScriptedModel::answering(says).named(name))
}

/// Two models beside the configured one; all facts about the first are known.
fn choice() -> Setup {
    let price = Some(Price { input: 0.5, output: 1.5, ..Price::default() });
    let facts = ModelFacts { context: Some(128_000), price, ..ModelFacts::default() };
    let known = ScriptedModel::answering(|request| {
        Scripted::says(&format!("a/known: {}", last_said(request)))
    });
    let known = Arc::new(known.named("a/known").with_facts(facts));
    let models = BTreeMap::from([("a/known", known), ("b/new", named("b/new"))]);
    Setup { models, ..Setup::default() }
}

/// Sends these texts to chat `a` one by one, and returns all replies.
pub(super) async fn says(harness: &SessionHarness, texts: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    for text in texts {
        harness.say(text).await;
        said = harness.channel.texts(said.len() + 1).await;
    }
    said
}

#[tokio::test]
async fn model_command_selects_the_model_of_a_session_until_default() {
    let harness = SessionHarness::with(parrot(), choice()).await;
    let said = says(&harness, &["hi", "/model b/new", "hi 2", "/model default", "hi 3"]).await;
    let expected = [
        "hi",
        "b/new answers here from now on; /model default goes back. Price unknown: budgets in \
         dollars do not count it.",
        "b/new: hi 2",
        "test/scripted answers here again, set by the configuration.",
        "hi 3",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn model_choice_applies_to_one_session_and_survives_a_restart() {
    let harness = SessionHarness::with(parrot(), choice()).await;
    says(&harness, &["/model b/new"]).await;
    // A reply without a recorded outcome would be sent again.
    harness.sent().await;
    let harness = harness.restart(parrot()).await;
    harness.say("hi").await;
    assert_eq!(harness.channel.texts(2).await[1], "b/new: hi");
    harness.say_in("other", "hello").await;
    assert_eq!(harness.channel.texts(3).await[2], "hello");
}

#[tokio::test]
async fn model_command_shows_the_current_model_its_reason_and_the_alternatives() {
    let harness = SessionHarness::with(parrot(), choice()).await;
    // A message equal to an earlier one would be absorbed.
    let said = says(&harness, &["/model", "/model a/known", "/model "]).await;
    let list = "\n\nThe models of the configuration:\n\
        a/known: 128 thousand tokens, $0.5 in and $1.5 out a million\n\
        b/new: 66 thousand tokens, price unknown\n\n\
        /model provider/model chooses one for this conversation.";
    assert_eq!(said[0], format!("test/scripted answers here, set by the configuration.{list}"));
    assert_eq!(said[2], format!("a/known answers here, chosen with /model.{list}"));
}

/// A daemon with ten models, on a channel with buttons.
async fn with_ten_models() -> SessionHarness {
    const NAMES: [&str; 10] =
        ["a/0", "a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8", "a/9"];
    // Short facts, because the list has to fit into one message.
    let facts = ModelFacts { price: Some(Price::default()), ..ModelFacts::default() };
    let model = |name: &'static str| {
        let says = move |request: &ModelRequest| {
            Scripted::says(&format!("{name}: {}", last_said(request)))
        };
        Arc::new(ScriptedModel::answering(says).named(name).with_facts(facts))
    };
    let models = NAMES.into_iter().map(|name| (name, model(name))).collect();
    let (channel, setup) = (FakeChannel::with_preview(SECOND), Setup { models, ..choice() });
    SessionHarness::on(TempStore::new(), Arc::new(channel), parrot(), setup).await
}

/// Presses a button of the message.
async fn press(harness: &SessionHarness, sender: &str, message: &str, says: &str) {
    let content = Content { pressed: Some(message.parse().unwrap()), ..Content::text(says) };
    let key = format!("c {sender} {}", says.replace('/', "-")).parse().unwrap();
    let sender = Sender::new(sender.parse().unwrap());
    let inbound = Inbound::new(session("a").address(), sender, key, content);
    harness.bus.publish(inbound, None).await.unwrap();
}

#[tokio::test]
async fn model_command_offers_buttons_whose_presses_change_the_same_message() {
    let harness = with_ten_models().await;
    harness.say("/model").await;
    let list = harness.channel.taken(1).await.remove(0);
    let labels = |delivery: &avocet_protocol::chat::Delivery| -> Vec<String> {
        delivery.content.choices.iter().map(|choice| choice.label.clone()).collect()
    };
    assert_eq!(labels(&list).len(), 9);
    assert_eq!(labels(&list)[7..], ["a/7", "More ›"]);
    assert!(list.content.text.contains("configuration, 1 to 8 of 10:"), "{list:?}");
    assert!(!list.content.text.contains("/model page"), "the button says it: {list:?}");
    let shown = format!("p{}", list.id);
    press(&harness, "me", &shown, "/model page 2").await;
    let second = harness.channel.taken(2).await.remove(1);
    assert_eq!(second.shown_as.as_ref().unwrap().as_str(), shown);
    assert_eq!(labels(&second), ["a/8", "a/9", "‹ Back"]);
    press(&harness, "me", &shown, "/model a/9").await;
    let chosen = harness.channel.taken(3).await.remove(2);
    assert_eq!((chosen.shown_as, chosen.content.choices), (second.shown_as, Vec::new()));
    assert!(chosen.content.text.starts_with("a/9 answers here from now on"));
    harness.channel.shows(|shown| shown.len() == 1).await;
    harness.say("hi").await;
    assert_eq!(harness.channel.texts(4).await[3], "a/9: hi");
}

#[tokio::test]
async fn model_button_whose_message_is_gone_is_answered_in_a_new_one() {
    let harness = with_ten_models().await;
    harness.say("/model").await;
    let list = harness.channel.taken(1).await.remove(0);
    harness.channel.delete_all();
    press(&harness, "me", &format!("p{}", list.id), "/model a/1").await;
    let chosen = harness.channel.taken(2).await.remove(1);
    assert_eq!(chosen.shown_as, None);
    assert!(chosen.content.text.starts_with("a/1 answers here from now on"));
}

#[tokio::test]
async fn model_buttons_are_only_for_owners() {
    let mut harness = with_ten_models().await;
    harness.setup.allow = Allow::Listed(AllowLists {
        users: ["you".parse().unwrap()].into(),
        owners: ["me".parse().unwrap()].into(),
        ..AllowLists::default()
    });
    let harness = harness.restart(parrot()).await;
    for (count, says) in (1..).zip(["/model", "/model page 2", "/model a/1"]) {
        press(&harness, "you", "p1", says).await;
        let answer = harness.channel.taken(count).await.remove(count - 1);
        assert_eq!((answer.shown_as, answer.content.choices), (None, Vec::new()), "{says}");
    }
    let texts = harness.channel.texts(3).await;
    assert!(texts[0].contains("a/9") && texts[0].contains("of the configuration:"), "{texts:?}");
    assert!(texts[1].contains("configuration, 9 to 10 of 10:"), "{texts:?}");
    assert!(texts[2].starts_with("Only my owner can choose the model"), "{texts:?}");
}

#[tokio::test]
async fn answer_of_a_model_with_an_unknown_window_comes_without_a_remark() {
    let answers = vec![Scripted::says("done"), Scripted::says("again")];
    let model = ScriptedModel::new(answers).named("b/new").with_facts(ModelFacts::default());
    let models = BTreeMap::from([("b/new", Arc::new(model))]);
    let harness = SessionHarness::with(parrot(), Setup { models, ..Setup::default() }).await;
    says(&harness, &["/model b/new"]).await;
    harness.say("one").await;
    harness.say("two").await;
    assert_eq!(harness.channel.texts(3).await[1..], ["done", "again"]);
}

#[tokio::test]
async fn model_command_refuses_an_unknown_model_and_names_the_providers() {
    let harness = SessionHarness::with(parrot(), choice()).await;
    let said = says(&harness, &["/model nope/x", "/model x", "hi"]).await;
    let expected = [
        "I cannot use that model: there is no provider \"nope\"; there are a, b.",
        "I cannot use that model: \"x\" is not of the form provider/model.",
        "hi",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn model_choice_that_is_unavailable_is_skipped_and_shown_by_model() {
    let harness = SessionHarness::with(parrot(), choice()).await;
    says(&harness, &["/model b/new"]).await;
    harness.sent().await;
    let mut harness = harness;
    harness.setup.models.remove("b/new");
    let harness = harness.restart(parrot()).await;
    harness.say("hi").await;
    harness.channel.texts(2).await;
    harness.say("/model").await;
    let said = harness.channel.texts(3).await;
    assert_eq!(said[1], "hi");
    let why = "test/scripted answers here, set by the configuration; b/new was chosen, but cannot \
        be asked: there is no provider \"b\"; there are a.";
    assert!(said[2].starts_with(why), "{}", said[2]);
}

#[tokio::test]
async fn model_command_lets_only_owners_choose_and_everybody_see_the_model() {
    let setup = Setup { allow: users(&["me"]), ..choice() };
    let harness = SessionHarness::with(parrot(), setup).await;
    let said = says(&harness, &["/model b/new", "/model", "hi"]).await;
    assert_eq!(said[0], "Only my owner can choose the model; /model shows the current one.");
    assert!(said[1].starts_with("test/scripted answers here"), "{}", said[1]);
    assert!(!said[1].contains("chooses one"), "{}", said[1]);
    assert_eq!(said[2], "hi");
}

#[tokio::test]
async fn agent_answers_its_sessions_and_saves_attachments_in_its_workspace() {
    let (work, files) = (named("a/work"), Arc::<FakeFiles>::default());
    let setup = Setup { work: Some((work.clone(), files.clone())), ..Setup::default() };
    let harness = SessionHarness::with(parrot(), setup).await;
    harness.channel.keep("f1", [OnFetch::Give(b"pdf".to_vec())]);
    let source = AttachmentSource::Platform("f1".to_owned());
    let attachments = vec![Attachment::new(AttachmentKind::Document, source)];
    let at_work = harness.say_with("work1", "read this", attachments).await.id;
    let said = harness.channel.texts(1).await;
    assert!(said[0].starts_with("a/work: read this"), "{said:?}");
    let path = format!("inbox/{at_work}-0.bin");
    assert_eq!(files.get(&path).unwrap(), b"pdf");
    assert_eq!(harness.setup.files.get(&path), None);
    harness.say_in("home", "hello").await;
    assert_eq!(harness.channel.texts(2).await[1], "hello");
    harness.say_in("work1", "/model").await;
    let shown = harness.channel.texts(3).await.remove(2);
    assert!(shown.starts_with("a/work answers here, set by the agent work."), "{shown}");
}

#[tokio::test]
async fn child_is_answered_by_the_agent_of_its_root_session() {
    let answers = vec![
        Scripted::calls(&[("spawn", json!({ "prompt": "count" }))]),
        Scripted::says("three"),
        Scripted::says("the child says three"),
    ];
    let work = Arc::new(ScriptedModel::new(answers).named("a/work"));
    let setup = Setup { work: Some((work.clone(), Arc::default())), ..Setup::default() };
    let harness = SessionHarness::with(ScriptedModel::new(vec![]), setup).await;
    harness.say_in("work1", "ask a child").await;
    assert_eq!(harness.channel.texts(1).await, ["the child says three"]);
    assert_eq!(work.requests().len(), 3);
}

#[tokio::test]
async fn child_is_answered_by_the_model_that_its_parent_has_chosen() {
    let answers = vec![
        Scripted::calls(&[("spawn", json!({ "prompt": "count" }))]),
        Scripted::says("three"),
        Scripted::says("the child says three"),
    ];
    let chosen = Arc::new(ScriptedModel::new(answers).named("b/new"));
    let setup = Setup { models: BTreeMap::from([("b/new", chosen.clone())]), ..Setup::default() };
    let harness = SessionHarness::with(ScriptedModel::new(vec![]), setup).await;
    let said = says(&harness, &["/model b/new", "ask a child"]).await;
    assert_eq!(said[1], "the child says three");
    assert_eq!(chosen.requests().len(), 3);
}

#[tokio::test]
async fn model_command_warns_if_dollar_budgets_do_not_count_the_model() {
    let remark = "Price unknown: budgets in dollars do not count it.";
    let none = Budgets { turn_cost: None, day_cost: None, ..Budgets::default() };
    let table = [
        ("/model a/known", Budgets::default(), false),
        ("/model b/new", Budgets::default(), true),
        ("/model b/new", none, false),
    ];
    for (command, budgets, remarked) in table {
        let harness = SessionHarness::with(parrot(), Setup { budgets, ..choice() }).await;
        let said = says(&harness, &[command]).await.remove(0);
        assert_eq!(said.ends_with(remark), remarked, "{said}");
    }
}

/// Provides models of any name, and records the requested fallbacks.
#[derive(Debug, Default)]
struct AnyModels(Mutex<Vec<(String, Vec<String>)>>);

impl Models for AnyModels {
    fn model(&self, name: &str, fallbacks: &[String]) -> Result<Arc<dyn Model>, NoModel> {
        self.0.lock().push((name.to_owned(), fallbacks.to_vec()));
        Ok(named(if name == "b/new" { "b/new" } else { "c/cheap" }))
    }

    fn configured(&self) -> Vec<String> {
        Vec::new()
    }
}

#[tokio::test]
async fn for_session_puts_the_chosen_model_behind_or_in_place_of_the_cheap_one() {
    let harness = SessionHarness::new(parrot()).await;
    for (has_cheap_model, cheap) in [(true, "c/cheap"), (false, "b/new")] {
        let models = Arc::<AnyModels>::default();
        let mut agent = harness.sessions.lanes.parts.agents.now().agents.default().clone();
        agent.fallbacks = vec!["d/behind".to_owned()];
        agent.has_cheap_model = has_cheap_model;
        agent.run.models.cheap = named("c/cheap");
        let agents = Agents {
            agents: BySession::new(agent, Vec::new()),
            models: models.clone(),
            directories: Arc::new(NoDirectories),
        };
        let status =
            harness.sessions.lanes.parts.query.session_status(&session("a")).await.unwrap();
        let status = SessionStatus { model: Some("b/new".to_owned()), ..status };
        let run = agents.for_session(&session("a"), &status);
        assert_eq!((run.models.main.name(), run.models.cheap.name()), ("b/new", cheap));
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut expected = vec![("b/new".to_owned(), of(&["d/behind"]))];
        if has_cheap_model {
            expected.push(("c/cheap".to_owned(), of(&["b/new", "d/behind"])));
        }
        assert_eq!(*models.0.lock(), expected);
    }
}
