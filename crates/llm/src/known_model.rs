//! A wrapper around every provider's model. The known facts about a model decide how it gets tools
//! and pictures; they also give the price of its answers.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use avocet_protocol::model::{
    Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest, RequestOptions, Spent,
};

use crate::dialected::LatestTools;
use crate::endpoint::{ModelListError, OfferedModel, ProbeResult};
use crate::facts::{
    BuiltIn, CatalogueFacts, FactSource, KnownFacts, LearnedFacts, ModelCatalogue, SourcedFacts,
    host_of,
};
use crate::keys::KeyRing;
use crate::repair::names_missing_tools;
use crate::{DialectModel, ToolStyle};

/// A model of a provider. Calls that it writes as text stay in the text.
#[async_trait]
pub(crate) trait ServedModel: Model {
    /// Returns the facts that its server reports; empty for servers without such an API. Asks the
    /// server once.
    async fn learn_facts(&self) -> LearnedFacts {
        let facts = self.facts().await;
        LearnedFacts { facts, images: facts.images.then_some(true), native_tools: None }
    }

    /// Checks that the model can be used, without an answer if its API allows that.
    ///
    /// # Errors
    /// [`ModelError`] as for a request.
    async fn probe_model(&self) -> Result<ProbeResult, ModelError>;

    /// Returns the models that the provider offers, with the facts of its list. By default, the API
    /// has no list.
    ///
    /// # Errors
    /// [`ModelListError`].
    async fn list_models(&self) -> Result<Vec<OfferedModel>, ModelListError> {
        Err(ModelListError::Missing { model: self.name().to_owned() })
    }

    /// The API keys of the provider.
    fn key_ring(&self) -> &KeyRing;
}

/// A model with the known facts about it.
#[derive(Debug)]
pub struct KnownModel {
    model: Arc<dyn ServedModel>,
    /// The same model as the trait object that `DialectModel` takes.
    asked: Arc<dyn Model>,
    said: ConfiguredFacts,
    latest_tools: LatestTools,
    /// `true` once the server has said that it takes no tools.
    has_refused_tools: Arc<AtomicBool>,
}

/// The facts about a model that are known without asking its server.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredFacts {
    pub(crate) models: SourcedFacts,
    pub(crate) provider: SourcedFacts,
    pub(crate) catalogue: CatalogueFacts,
    pub(crate) built_in: BuiltIn,
    /// The provider's name for the model, and the host of the provider: the key in a catalogue.
    name: String,
    host: Option<String>,
}

impl ConfiguredFacts {
    /// Gathers the facts about `model` at `base_url`: those that the provider's table states about
    /// all its models, and those of `[models]`.
    pub(crate) fn new(
        model: &str,
        base_url: &str,
        table: SourcedFacts,
        models: SourcedFacts,
    ) -> Self {
        let host = host_of(base_url);
        let (built_in, catalogue) =
            (BuiltIn::find_model(model, host), ModelCatalogue::default().find_facts(model, host));
        // A request for more output than the model allows would be refused.
        let most = catalogue.or_facts(built_in.facts).max_output.unwrap_or(u64::MAX);
        let max_output = table.max_output.map(|tokens| tokens.min(most));
        let provider = SourcedFacts { max_output, ..table };
        let (name, host) = (model.to_owned(), host.map(str::to_owned));
        Self { models, provider, catalogue, built_in, name, host }
    }

    /// The limit on the output of a request, in tokens; `None` if the operator states none.
    pub(crate) fn max_output(&self) -> Option<u32> {
        let tokens = self.models.max_output.or(self.provider.max_output)?;
        Some(u32::try_from(tokens).unwrap_or(u32::MAX))
    }

    /// Returns `true` if the operator leaves the way of calling tools to the other sources.
    fn is_auto(&self) -> bool {
        self.models.tools.or(self.provider.tools) == Some(ToolStyle::Auto)
    }

    fn with_learned(&self, learned: LearnedFacts) -> KnownFacts {
        let LearnedFacts { facts, images, native_tools } = learned;
        let as_text = self.built_in.dialect.unwrap_or(ToolStyle::Json);
        let tools = native_tools.map(|native| if native { ToolStyle::Native } else { as_text });
        let ModelFacts { context, max_output, price, thinking, .. } = facts;
        let server = SourcedFacts {
            context,
            max_output,
            images,
            tools,
            price,
            thinking,
            ..SourcedFacts::default()
        };
        let is_auto = self.is_auto();
        let stated =
            |facts: SourcedFacts| SourcedFacts { tools: facts.tools.filter(|_| !is_auto), ..facts };
        // The server of a model with open weights may allow less than the hosts in the catalogue.
        KnownFacts::from_all(&[
            (FactSource::Models, stated(self.models)),
            (FactSource::Provider, stated(self.provider)),
            (FactSource::Server, server),
            (FactSource::Catalogue, self.catalogue.here),
            (FactSource::BuiltIn, self.built_in.facts),
            (FactSource::Catalogue, self.catalogue.elsewhere),
        ])
    }
}

impl KnownModel {
    /// Wraps `model` with these facts.
    #[must_use]
    pub(crate) fn new<M: ServedModel + 'static>(model: M, said: ConfiguredFacts) -> Self {
        let model = Arc::new(model);
        let (latest_tools, has_refused_tools) = Default::default();
        Self { asked: model.clone(), model, said, latest_tools, has_refused_tools }
    }

    /// Returns the same model with the facts of this catalogue instead of the shipped one.
    #[must_use]
    pub fn with_catalogue(&self, catalogue: &ModelCatalogue) -> Self {
        let said = &self.said;
        let found = catalogue.find_facts(&said.name, said.host.as_deref());
        let said = ConfiguredFacts { catalogue: found, ..said.clone() };
        let (model, asked) = (self.model.clone(), self.asked.clone());
        let latest_tools = self.latest_tools.clone();
        Self { model, asked, said, latest_tools, has_refused_tools: self.has_refused_tools.clone() }
    }

    /// Returns all known facts with their sources. May ask the server once.
    pub async fn known_facts(&self) -> KnownFacts {
        let mut learned = self.model.learn_facts().await;
        if self.has_refused_tools.load(Ordering::Relaxed) {
            learned.native_tools = Some(false);
        }
        self.said.with_learned(learned)
    }

    /// Adds the configured effort of the model to a request without one. A model that is known to
    /// be unable to think gets no effort.
    fn with_effort<'r>(&self, request: &'r ModelRequest) -> Cow<'r, ModelRequest> {
        let SourcedFacts { thinking, effort, .. } =
            self.said.models.or_facts(self.said.built_in.facts);
        let effort = request.options.effort.or(effort).filter(|_| thinking != Some(false));
        if effort == request.options.effort {
            return Cow::Borrowed(request);
        }
        let options = RequestOptions { effort, ..request.options };
        Cow::Owned(ModelRequest { options, ..request.clone() })
    }

    /// Answers a request whose tools the server refused, with calls as text from now on. Returns
    /// the error if the operator has demanded native calls, or if it is another error.
    async fn ask_with_text_calls(
        &self,
        error: ModelError,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let ModelError::Refused { model, mut detail, lasting } = error else { return Err(error) };
        if request.tools.is_empty() || !names_missing_tools(&detail.text) {
            return Err(ModelError::Refused { model, detail, lasting });
        }
        self.has_refused_tools.store(true, Ordering::Relaxed);
        let known = self.known_facts().await;
        let style = known.tool_style();
        if style == ToolStyle::Native {
            detail.text.push_str("; set tools = \"json\" for this provider");
            return Err(ModelError::Refused { model, detail, lasting });
        }
        tracing::warn!(
            model,
            %detail,
            ?style,
            "the server takes no tools; calls are written as text until the next start. Set tools \
             for this provider"
        );
        self.with_dialect(known).complete(request, deltas).await
    }

    fn with_dialect(&self, known: KnownFacts) -> DialectModel {
        DialectModel::new(self.asked.clone(), known.tool_style())
            .with_text_calls(known.text_calls())
            .with_auto(self.said.is_auto())
            .with_latest_tools(self.latest_tools.clone())
    }

    /// Returns the models that the provider offers. Facts that its list omits come from the
    /// catalogue and the list of well-known models.
    ///
    /// # Errors
    /// [`ModelListError`].
    pub async fn list_models(
        &self,
        catalogue: &ModelCatalogue,
    ) -> Result<Vec<OfferedModel>, ModelListError> {
        let host = self.said.host.as_deref();
        let with_known = |OfferedModel { name, facts }: OfferedModel| {
            let known =
                catalogue.find_facts(&name, host).or_facts(BuiltIn::find_model(&name, host).facts);
            OfferedModel { facts: facts.or_facts(known), name }
        };
        Ok(self.model.list_models().await?.into_iter().map(with_known).collect())
    }

    /// Checks that the model can be used: see `ServedModel::probe_model`.
    ///
    /// # Errors
    /// [`ModelError`] as for a request.
    pub async fn probe_model(&self) -> Result<ProbeResult, ModelError> {
        self.model.probe_model().await
    }

    /// The number of API keys.
    #[must_use]
    pub fn count_keys(&self) -> usize {
        self.model.key_ring().len()
    }

    /// Uses only the API key at this place from now on, for a check of each key.
    pub fn use_only_key(&self, place: usize) {
        self.model.key_ring().use_only(place);
    }
}

#[async_trait]
impl Model for KnownModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn facts(&self) -> ModelFacts {
        self.known_facts().await.into()
    }

    async fn as_sent(&self, request: &ModelRequest) -> ModelRequest {
        self.with_dialect(self.known_facts().await).as_sent(request).await
    }

    /// Adds the price, if it is known, to the answer and to lost attempts.
    async fn complete(
        &self,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, ModelError> {
        let known = self.known_facts().await;
        // An answer by a schema is JSON, which a dialect could read as a call.
        let model: Arc<dyn Model> = match request.answer_schema {
            Some(_) => self.asked.clone(),
            None => Arc::new(self.with_dialect(known)),
        };
        let priced = |spent: &Spent| {
            let cost = spent
                .cost
                .or_else(|| known.price.map(|(price, _)| price.compute_cost(spent.usage)));
            Spent { cost, ..spent.clone() }
        };
        let with_price = |delta: Delta<'_>| match delta {
            Delta::Lost(spent) => deltas(Delta::Lost(&priced(spent))),
            Delta::Text(_) | Delta::Thought(_) | Delta::Retry(_) | Delta::Restart => deltas(delta),
        };
        let request = self.with_effort(request);
        let answered = match model.complete(&request, &with_price).await {
            Err(error) if known.tool_style() == ToolStyle::Native => {
                self.ask_with_text_calls(error, &request, &with_price).await
            }
            answered => answered,
        };
        let mut reply = answered?;
        reply.spent.iter_mut().for_each(|spent| *spent = priced(spent));
        Ok(reply)
    }
}

#[cfg(test)]
#[path = "known_model_tests.rs"]
mod tests;
