use avocet_protocol::model::{Delta, Message, Money, Price, Usage};
use avocet_testkit::{Scripted, ScriptedModel};
use parking_lot::Mutex;

use super::*;

/// A model with a server that reports these facts.
#[derive(Debug)]
struct Fake {
    model: Arc<ScriptedModel>,
    learned: Arc<Mutex<LearnedFacts>>,
    keys: KeyRing,
}

#[async_trait]
impl Model for Fake {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        self.model.complete(request, deltas).await
    }
}

#[async_trait]
impl ServedModel for Fake {
    async fn learn_facts(&self) -> LearnedFacts {
        *self.learned.lock()
    }

    async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        Ok(ProbeResult::Works)
    }

    fn key_ring(&self) -> &KeyRing {
        &self.keys
    }
}

fn fake(answers: Vec<Scripted>, learned: LearnedFacts) -> (Arc<ScriptedModel>, Fake) {
    let model = Arc::new(ScriptedModel::new(answers));
    (
        model.clone(),
        Fake { model, learned: Arc::new(Mutex::new(learned)), keys: KeyRing::default() },
    )
}

fn of(context: u64) -> SourcedFacts {
    SourcedFacts { context: Some(context), ..SourcedFacts::default() }
}

#[tokio::test]
async fn known_facts_of_the_operator_precede_the_servers_and_the_built_in_ones() {
    let built_in = BuiltIn { facts: of(4), dialect: None };
    let learned = LearnedFacts {
        facts: ModelFacts { context: Some(3), ..ModelFacts::default() },
        ..LearnedFacts::default()
    };
    let catalogue = CatalogueFacts { here: of(5), elsewhere: of(6) };
    let elsewhere = CatalogueFacts { here: SourcedFacts::default(), elsewhere: of(6) };
    let all = ConfiguredFacts {
        models: of(1),
        provider: of(2),
        catalogue,
        built_in,
        ..ConfiguredFacts::default()
    };
    let none = SourcedFacts::default();
    let table = [
        (all.clone(), learned, Some((1, FactSource::Models))),
        (ConfiguredFacts { models: none, ..all.clone() }, learned, Some((2, FactSource::Provider))),
        (
            ConfiguredFacts { models: none, provider: none, ..all.clone() },
            learned,
            Some((3, FactSource::Server)),
        ),
        (
            ConfiguredFacts { models: none, provider: none, ..all.clone() },
            LearnedFacts::default(),
            Some((5, FactSource::Catalogue)),
        ),
        (
            ConfiguredFacts { catalogue: elsewhere, built_in, ..ConfiguredFacts::default() },
            LearnedFacts::default(),
            Some((4, FactSource::BuiltIn)),
        ),
        (
            ConfiguredFacts { catalogue: elsewhere, ..ConfiguredFacts::default() },
            LearnedFacts::default(),
            Some((6, FactSource::Catalogue)),
        ),
        (ConfiguredFacts::default(), LearnedFacts::default(), None),
    ];
    for (said, learned, context) in table {
        let (_, fake) = fake(vec![], learned);
        let model = KnownModel::new(fake, said);
        assert_eq!(model.known_facts().await.context, context);
        assert_eq!(model.facts().await.context, context.map(|(tokens, _)| tokens));
    }
}

#[tokio::test]
async fn known_images_are_on_only_if_a_source_reports_them() {
    let sees = |images| SourcedFacts { images, ..SourcedFacts::default() };
    let table = [
        (None, None, None, false),
        (None, None, Some(true), true),
        (None, Some(false), Some(true), false),
        (Some(true), Some(false), None, true),
    ];
    for (operator, server, known, expected) in table {
        let learned = LearnedFacts { images: server, ..LearnedFacts::default() };
        let built_in = BuiltIn { facts: sees(known), dialect: None };
        let said =
            ConfiguredFacts { provider: sees(operator), built_in, ..ConfiguredFacts::default() };
        let model = KnownModel::new(fake(vec![], learned).1, said);
        assert_eq!(model.facts().await.images, expected);
    }
}

#[tokio::test]
async fn known_tool_style_without_native_calls_is_the_dialect_of_the_model_family() {
    use ToolStyle::{Auto, Hermes, Json, Native, Xml};
    let tools = |tools| SourcedFacts { tools, ..SourcedFacts::default() };
    let table = [
        (None, None, None, None, Native),
        (None, None, Some(Native), Some(Hermes), Native),
        (None, None, Some(Json), Some(Json), Json),
        (None, Some(true), Some(Json), Some(Json), Native),
        (None, Some(false), Some(Native), Some(Hermes), Hermes),
        (None, Some(false), None, None, Json),
        (Some(Xml), Some(false), Some(Native), Some(Hermes), Xml),
        (Some(Native), Some(false), Some(Json), Some(Json), Native),
        (Some(Auto), None, None, None, Native),
        (Some(Auto), Some(true), Some(Json), Some(Json), Native),
        (Some(Auto), Some(false), Some(Native), Some(Hermes), Hermes),
    ];
    for (operator, native_tools, known, dialect, expected) in table {
        let learned = LearnedFacts { native_tools, ..LearnedFacts::default() };
        let built_in = BuiltIn { facts: tools(known), dialect };
        let said =
            ConfiguredFacts { provider: tools(operator), built_in, ..ConfiguredFacts::default() };
        let model = KnownModel::new(fake(vec![], learned).1, said);
        assert_eq!(model.known_facts().await.tool_style(), expected);
    }
}

fn request() -> ModelRequest {
    let tool = avocet_protocol::tool::ToolSpec {
        name: "look".to_owned(),
        group: String::new(),
        description: "looks".to_owned(),
        parameters: serde_json::json!({ "type": "object" }),
        aliases: Vec::new(),
    };
    let (messages, images) = (vec![Message::user("hi")], Default::default());
    ModelRequest {
        messages: messages.into(),
        tools: Arc::new([tool]),
        images,
        ..ModelRequest::default()
    }
}

#[tokio::test]
async fn known_model_describes_tools_in_the_text_once_the_server_reports_no_native_calls() {
    let (asked, fake) = fake(["one", "two"].map(Scripted::says).to_vec(), LearnedFacts::default());
    let learned = fake.learned.clone();
    let model = KnownModel::new(fake, ConfiguredFacts::default());
    model.complete(&request(), &|_: Delta<'_>| {}).await.unwrap();
    learned.lock().native_tools = Some(false);
    model.complete(&request(), &|_: Delta<'_>| {}).await.unwrap();
    let native: Vec<bool> = asked.requests().iter().map(|asked| !asked.tools.is_empty()).collect();
    assert_eq!(native, [true, false]);
}

#[tokio::test]
async fn known_model_computes_the_cost_of_an_answer_from_its_price_if_known() {
    let price = Price { input: 3.0, output: 15.0, ..Price::default() };
    let spent = |cost| {
        let (model, usage) = ("a/b".to_owned(), Usage::new(1000, 100));
        Spent { model, usage, cost }
    };
    let table = [
        (Some(price), None, Some(Money::dollars(0.0045))),
        (Some(price), Some(Money(7)), Some(Money(7))),
        (None, None, None),
    ];
    for (price, said, expected) in table {
        let reply = ModelReply { spent: vec![spent(said)], ..ModelReply::default() };
        let (_, fake) = fake(vec![Scripted::Reply(reply)], LearnedFacts::default());
        let models = SourcedFacts { price, ..SourcedFacts::default() };
        let model = KnownModel::new(fake, ConfiguredFacts { models, ..ConfiguredFacts::default() });
        let reply = model.complete(&request(), &|_: Delta<'_>| {}).await.unwrap();
        assert_eq!(reply.spent, [spent(expected)]);
    }
}
