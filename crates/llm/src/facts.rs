//! Known facts about a model and their sources: the operator, the provider's table, the model's
//! server, the catalogue, or the list of well-known models.

mod bad_catalogue;
mod builtin;
mod catalogue;
mod config;
mod litellm;

use avocet_protocol::model::{Effort, ModelFacts, Price};

use crate::{TextCalls, ToolStyle};

pub use bad_catalogue::BadCatalogue;
pub(crate) use builtin::{BuiltIn, host_of};
pub(crate) use catalogue::CatalogueFacts;
pub use catalogue::{CatalogueSummary, ModelCatalogue};
pub use config::{ModelConfig, ModelTable};

/// Facts about a model from one source. A field is `None` if the source omits it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SourcedFacts {
    /// See [`ModelFacts::context`].
    pub context: Option<u64>,
    /// See [`ModelFacts::max_output`].
    pub max_output: Option<u64>,
    /// See [`ModelFacts::images`].
    pub images: Option<bool>,
    /// The way in which it calls tools.
    pub tools: Option<ToolStyle>,
    /// The treatment of calls that it writes as text although it has native calls.
    pub text_calls: Option<TextCalls>,
    /// See [`ModelFacts::price`].
    pub price: Option<Price>,
    /// See [`ModelFacts::thinking`].
    pub thinking: Option<bool>,
    /// The thinking effort of requests that state none.
    pub effort: Option<Effort>,
}

impl SourcedFacts {
    /// Fills the missing fields from `other`.
    #[must_use]
    pub fn or_facts(self, other: Self) -> Self {
        Self {
            context: self.context.or(other.context),
            max_output: self.max_output.or(other.max_output),
            images: self.images.or(other.images),
            tools: self.tools.or(other.tools),
            text_calls: self.text_calls.or(other.text_calls),
            price: self.price.or(other.price),
            thinking: self.thinking.or(other.thinking),
            effort: self.effort.or(other.effort),
        }
    }
}

/// Returns the facts about a model from the shipped catalogue and the list of well-known models.
pub(crate) fn shipped_facts(model: &str, base_url: &str) -> SourcedFacts {
    let host = host_of(base_url);
    ModelCatalogue::default()
        .find_facts(model, host)
        .or_facts(BuiltIn::find_model(model, host).facts)
}

/// Facts that a model's server reports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LearnedFacts {
    /// All facts except the way in which it calls tools.
    pub facts: ModelFacts,
    /// `true` if it sees pictures; `None` if unknown.
    pub images: Option<bool>,
    /// `true` if it can call tools through the API; `None` if unknown.
    pub native_tools: Option<bool>,
}

/// The source of a fact. The first one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactSource {
    /// The operator, in `[models]`.
    Models,
    /// The operator, in the provider's table.
    Provider,
    /// The model's server.
    Server,
    /// The catalogue of models.
    Catalogue,
    /// The list of well-known models.
    BuiltIn,
}

impl FactSource {
    /// A word for display.
    #[must_use]
    pub fn as_word(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Provider => "provider",
            Self::Server => "server",
            Self::Catalogue => "catalogue",
            Self::BuiltIn => "built-in",
        }
    }
}

/// A fact and its source; `None` if it is unknown.
pub type Fact<T> = Option<(T, FactSource)>;

/// All known facts about a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct KnownFacts {
    /// See [`ModelFacts::context`].
    pub context: Fact<u64>,
    /// See [`ModelFacts::max_output`].
    pub max_output: Fact<u64>,
    /// See [`ModelFacts::images`].
    pub images: Fact<bool>,
    /// The way in which it calls tools.
    pub tools: Fact<ToolStyle>,
    /// The treatment of calls that it writes as text although it has native calls.
    pub text_calls: Fact<TextCalls>,
    /// See [`ModelFacts::price`].
    pub price: Fact<Price>,
    /// See [`ModelFacts::thinking`].
    pub thinking: Fact<bool>,
}

impl KnownFacts {
    /// Merges facts from several sources. For each field, the first source that states it wins.
    pub(crate) fn from_all(said: &[(FactSource, SourcedFacts)]) -> Self {
        fn first<T>(
            said: &[(FactSource, SourcedFacts)],
            field: impl Fn(&SourcedFacts) -> Option<T>,
        ) -> Fact<T> {
            said.iter().find_map(|(source, facts)| Some((field(facts)?, *source)))
        }
        Self {
            context: first(said, |facts| facts.context),
            max_output: first(said, |facts| facts.max_output),
            images: first(said, |facts| facts.images),
            tools: first(said, |facts| facts.tools),
            text_calls: first(said, |facts| facts.text_calls),
            price: first(said, |facts| facts.price),
            thinking: first(said, |facts| facts.thinking),
        }
    }

    /// The way in which the model is asked to call tools. The default is native calls, because
    /// calls as text are read as well.
    #[must_use]
    pub fn tool_style(&self) -> ToolStyle {
        self.tools.map(|(tools, _)| tools).unwrap_or_default()
    }

    /// The treatment of calls that it writes as text although it has native calls.
    #[must_use]
    pub fn text_calls(&self) -> TextCalls {
        self.text_calls.map(|(text_calls, _)| text_calls).unwrap_or_default()
    }
}

/// The facts for callers of the model. A model gets pictures only if it is known to see them.
impl From<KnownFacts> for ModelFacts {
    fn from(known: KnownFacts) -> Self {
        Self {
            context: known.context.map(|(tokens, _)| tokens),
            max_output: known.max_output.map(|(tokens, _)| tokens),
            images: known.images.is_some_and(|(images, _)| images),
            price: known.price.map(|(price, _)| price),
            thinking: known.thinking.map(|(thinking, _)| thinking),
        }
    }
}
