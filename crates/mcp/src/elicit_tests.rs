//! Tests of servers that ask a person during a call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::access::Role;
use avocet_protocol::tool::{
    AskPerson, McpServers, OutsideTool, PersonAnswer, PersonQuestion, ToolContext, ToolError,
    ToolOutcome, ToolSource, UnansweredQuestion,
};
use avocet_testkit::{ManualClock, tool_context};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::testing::{FakeServer, make_client};
use crate::{McpClient, McpServerConfig, McpServices};

/// Gives these answers in order, and then leaves every question open.
#[derive(Debug, Default)]
struct FakePeople {
    answers: Mutex<VecDeque<&'static str>>,
    questions: Mutex<Vec<PersonQuestion>>,
    refusals: Mutex<Vec<String>>,
    withdrawn: AtomicUsize,
}

/// Counts a question whose future is dropped.
struct Withdrawal<'p>(&'p FakePeople);

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        self.0.withdrawn.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl AskPerson for FakePeople {
    async fn ask(&self, question: PersonQuestion) -> Result<PersonAnswer, UnansweredQuestion> {
        self.questions.lock().push(question.clone());
        loop {
            let next = self.answers.lock().pop_front();
            match next {
                None => {
                    let _withdrawal = Withdrawal(self);
                    std::future::pending::<()>().await;
                }
                Some("late") => return Err(UnansweredQuestion::Late(600)),
                Some("decline") => return Ok(PersonAnswer::Declined),
                Some(text) => match question.check.check(text) {
                    Ok(()) => return Ok(PersonAnswer::Text(text.to_owned())),
                    Err(why) => self.refusals.lock().push(why),
                },
            }
        }
    }
}

struct World {
    _home: TempDir,
    clock: Arc<ManualClock>,
    fake: Arc<FakeServer>,
    people: Arc<FakePeople>,
    client: McpClient,
}

impl World {
    /// Starts a server with the tools `ask` and `nag`, which ask this question.
    async fn asking(question: Value, answers: &[&'static str]) -> Self {
        let (home, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
        let fake = FakeServer::with_tools(&["ask", "nag"]);
        *fake.question.lock() = question;
        let config = McpServerConfig::default();
        let client = make_client(home.path(), &clock, vec![("fake", config, Some(fake.clone()))]);
        let people = Arc::new(FakePeople::default());
        people.answers.lock().extend(answers);
        client.start(McpServices { people: Some(people.clone()), ..McpServices::default() });
        McpServers::tools(&client, "fake", true).await.unwrap();
        Self { _home: home, clock, fake, people, client }
    }

    fn tool(&self, name: &str) -> Arc<dyn OutsideTool> {
        let tools = ToolSource::tools(&self.client);
        let full = format!("fake__{name}");
        tools.into_iter().find(|tool| tool.describe().name.as_str() == full).unwrap()
    }

    /// Calls a tool, and returns the answer that the server got.
    async fn call(&self, name: &str, context: &ToolContext) -> Result<Value, ToolError> {
        let outcome = self.tool(name).execute(&Map::new(), context).await?;
        let ToolOutcome::Finished(output) = outcome else { panic!("{outcome:?}") };
        Ok(serde_json::from_str(output.value.as_str().unwrap()).unwrap())
    }

    fn questions(&self) -> Vec<PersonQuestion> {
        self.people.questions.lock().clone()
    }

    async fn until_asked(&self) {
        while self.questions().is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

fn in_chat() -> ToolContext {
    ToolContext { chat: Some("terminal:local:a".parse().unwrap()), ..tool_context() }
}

fn form(properties: &Value, required: &[&str]) -> Value {
    json!({
        "mode": "form", "message": "Where to?",
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    })
}

#[tokio::test]
async fn form_asks_for_one_field_after_the_other_until_each_answer_is_valid() {
    let properties = json!({
        "city": {"type": "string", "title": "City", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "class": {"type": "string", "enum": ["first", "second"]},
        "meal": {"type": "boolean", "default": true},
        "note": {"type": "string"},
    });
    let answers = ["X", "Rome", "ten", "3", "#2", "default", "skip"];
    let form = form(&properties, &["city", "days", "class", "meal"]);
    let world = World::asking(form, &answers).await;
    let answer = world.call("ask", &in_chat()).await.unwrap();
    let content = json!({"city": "Rome", "days": 3, "class": "second", "meal": true});
    assert_eq!(answer, json!({"action": "accept", "content": content}));

    let refusals = world.people.refusals.lock().clone();
    assert_eq!(
        refusals,
        ["`X` is not a text of at least 2 characters.", "`ten` is not a whole number from 1 to 9."]
    );
    let questions = world.questions();
    let first = &questions[0].text;
    assert!(
        first.starts_with("The MCP server fake asks, and gets your answer:\n```\nWhere to?\n```")
    );
    assert!(first.contains("Field (1 of 5):\n```\nCity\n```"), "{first}");
    let labels: Vec<Vec<String>> = questions
        .iter()
        .map(|one| one.options.iter().map(|option| option.label.clone()).collect())
        .collect();
    let none: [&str; 0] = [];
    assert_eq!(labels[0], none);
    assert_eq!(labels[2], ["first", "second"]);
    assert_eq!(labels[3], ["Yes", "No", "Default"]);
    assert_eq!(labels[4], ["Skip"]);
    assert!(questions.iter().all(|one| one.is_from_owner && one.time_limit.as_secs() == 600));
}

#[tokio::test]
async fn form_that_asks_for_a_secret_is_marked_so() {
    let field = |name: &str, more: Value| {
        let mut field = json!({"type": "string"});
        field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ name: field })
    };
    let table = [
        ("Where to?", field("password", json!({})), true),
        ("Where to?", field("a", json!({"title": "One-time code"})), true),
        ("Where to?", field("a", json!({"description": "Paste your API key here."})), true),
        ("Log in again: type your PIN", field("a", json!({"type": "integer"})), true),
        ("Where to?", field("city", json!({"title": "Country code"})), false),
        ("Where to?", field("token", json!({"type": "boolean"})), false),
    ];
    for (message, properties, expected) in table {
        let mut question = form(&properties, &[]);
        question["message"] = json!(message);
        let world = World::asking(question, &["decline"]).await;
        world.call("ask", &in_chat()).await.unwrap();
        let text = world.questions()[0].text.clone();
        let warning = "**This asks for a secret.** fake and everyone who can read this chat would \
            get it. Decline, unless you are sure.";
        assert_eq!(text.ends_with(warning), expected, "{text}");
    }
}

#[tokio::test]
async fn form_is_declined_or_cancelled_without_the_earlier_answers() {
    let properties = json!({"a": {"type": "boolean"}, "b": {"type": "boolean"}});
    for (last, action) in [("decline", "decline"), ("late", "cancel")] {
        let world = World::asking(form(&properties, &["a", "b"]), &["yes", last]).await;
        assert_eq!(world.call("ask", &in_chat()).await, Ok(json!({"action": action})), "{last}");
    }
}

#[tokio::test]
async fn form_that_cannot_be_shown_is_cancelled_without_a_question() {
    let many: Map<String, Value> =
        (0..13).map(|number| (format!("f{number}"), json!({"type": "boolean"}))).collect();
    let world = World::asking(form(&Value::Object(many), &[]), &[]).await;
    assert_eq!(world.call("ask", &in_chat()).await, Ok(json!({"action": "cancel"})));
    assert!(world.questions().is_empty());
}

#[tokio::test]
async fn link_is_shown_with_its_host_and_only_the_person_opens_it() {
    let link =
        |url: &str| json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"});
    let world = World::asking(link("https://pay.example/x?y=1"), &["accept"]).await;
    assert_eq!(world.call("ask", &in_chat()).await, Ok(json!({"action": "accept"})));
    let text = world.questions()[0].text.clone();
    let shown =
        "this link to `pay.example`, if you trust that site:\n```\nhttps://pay.example/x?y=1";
    assert!(text.contains(shown), "{text}");
    for url in ["javascript:alert(1)", "https://a b.example", "ftp://x.example", ""] {
        let world = World::asking(link(url), &["accept"]).await;
        assert_eq!(world.call("ask", &in_chat()).await, Ok(json!({"action": "cancel"})), "{url}");
        assert!(world.questions().is_empty(), "{url}");
    }
}

#[tokio::test]
async fn question_without_fields_is_confirmed() {
    let world = World::asking(form(&json!({}), &[]), &["yes"]).await;
    let answer = world.call("ask", &in_chat()).await;
    assert_eq!(answer, Ok(json!({"action": "accept", "content": {}})));
}

#[tokio::test]
async fn question_in_a_turn_without_a_chat_is_declined() {
    let world = World::asking(form(&json!({}), &[]), &["yes"]).await;
    assert_eq!(world.call("ask", &tool_context()).await, Ok(json!({"action": "decline"})));
    let session = avocet_protocol::chat::SessionId::parse("schedule:local:1").unwrap();
    let scheduled = ToolContext { session, ..in_chat() };
    assert_eq!(world.call("ask", &scheduled).await, Ok(json!({"action": "decline"})));
    assert!(world.questions().is_empty());
}

#[tokio::test]
async fn question_for_a_user_is_marked_so_that_owners_are_asked() {
    let world = World::asking(form(&json!({}), &[]), &["yes"]).await;
    let context = ToolContext { role: Role::User, ..in_chat() };
    world.call("ask", &context).await.unwrap();
    assert!(!world.questions()[0].is_from_owner);
}

#[tokio::test]
async fn server_that_asks_in_a_loop_is_stopped_after_five_questions() {
    let world = World::asking(form(&json!({}), &[]), &["yes"; 10]).await;
    assert_eq!(world.call("nag", &in_chat()).await, Ok(json!({"action": "cancel"})));
    assert_eq!(world.questions().len(), 5);
    // The limit is per call.
    assert_eq!(world.call("nag", &in_chat()).await, Ok(json!({"action": "cancel"})));
    assert_eq!(world.questions().len(), 10);
}

#[tokio::test]
async fn call_that_asks_outlives_its_timeout_and_ends_with_stop() {
    let world = World::asking(form(&json!({}), &[]), &[]).await;
    let context = in_chat();
    let call = world.call("ask", &context);
    let stop = async {
        world.until_asked().await;
        for _ in 0..5 {
            // The timeout of the call is one minute.
            world.clock.advance(Duration::from_mins(1));
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        context.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(call, stop);
    assert_eq!(ended, Err(ToolError::ExecutionFailed("the call was cancelled".to_owned())));
    while world.people.withdrawn.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let cancelled = || {
        let received = world.fake.received.lock();
        received.iter().any(|one| one == "notifications/cancelled")
    };
    while !cancelled() {
        tokio::task::yield_now().await;
    }
}
