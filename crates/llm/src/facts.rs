//! What is known of a model, and from whom: the operator, its provider's table, its server, or the
//! list of well-known models.

mod builtin;
mod config;

use avocet_protocol::{ModelFacts, Price};

use crate::{TextCalls, ToolStyle};

pub(crate) use builtin::{BuiltIn, host};
pub use config::{ModelConfig, ModelTable};

/// What somebody says of a model; none where they say nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Facts {
    /// [`ModelFacts::context`].
    pub context: Option<u64>,
    /// [`ModelFacts::max_output`].
    pub max_output: Option<u64>,
    /// [`ModelFacts::images`].
    pub images: Option<bool>,
    /// How it calls tools.
    pub tools: Option<ToolStyle>,
    /// What is done with a call that it writes as text, if it calls tools natively.
    pub text_calls: Option<TextCalls>,
    /// [`ModelFacts::price`].
    pub price: Option<Price>,
}

impl Facts {
    /// These, and those of `other` where these say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            context: self.context.or(other.context),
            max_output: self.max_output.or(other.max_output),
            images: self.images.or(other.images),
            tools: self.tools.or(other.tools),
            text_calls: self.text_calls.or(other.text_calls),
            price: self.price.or(other.price),
        }
    }
}

/// What a model's server says of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Learned {
    /// All but how it calls tools.
    pub facts: ModelFacts,
    /// Whether it sees pictures; none if the server does not say.
    pub images: Option<bool>,
    /// Whether it can call tools by the API; none if the server does not say.
    pub native_tools: Option<bool>,
}

/// From whom something is known. The first wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The operator, in `[models]`.
    Models,
    /// The operator, in the provider's table.
    Provider,
    /// The model's server.
    Server,
    /// The list of well-known models.
    BuiltIn,
}

impl Source {
    /// A word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Provider => "provider",
            Self::Server => "server",
            Self::BuiltIn => "built-in",
        }
    }
}

/// Something that is known, and from whom; none if nobody knows.
pub type Fact<T> = Option<(T, Source)>;

/// All that is known of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Known {
    /// [`ModelFacts::context`].
    pub context: Fact<u64>,
    /// [`ModelFacts::max_output`].
    pub max_output: Fact<u64>,
    /// [`ModelFacts::images`].
    pub images: Fact<bool>,
    /// How it calls tools.
    pub tools: Fact<ToolStyle>,
    /// What is done with a call that it writes as text, if it calls tools natively.
    pub text_calls: Fact<TextCalls>,
    /// [`ModelFacts::price`].
    pub price: Fact<Price>,
}

impl Known {
    /// What these say; of several who speak of the same, the first is believed.
    pub(crate) fn from_all(said: &[(Source, Facts)]) -> Self {
        fn first<T>(said: &[(Source, Facts)], field: impl Fn(&Facts) -> Option<T>) -> Fact<T> {
            said.iter().find_map(|(source, facts)| Some((field(facts)?, *source)))
        }
        Self {
            context: first(said, |facts| facts.context),
            max_output: first(said, |facts| facts.max_output),
            images: first(said, |facts| facts.images),
            tools: first(said, |facts| facts.tools),
            text_calls: first(said, |facts| facts.text_calls),
            price: first(said, |facts| facts.price),
        }
    }

    /// How it is asked to call tools: natively if that is unknown, since calls that it writes as text all
    /// the same are read.
    #[must_use]
    pub fn tool_style(&self) -> ToolStyle {
        self.tools.map(|(tools, _)| tools).unwrap_or_default()
    }

    /// What is done with a call that it writes as text, if it calls tools natively.
    #[must_use]
    pub fn text_calls(&self) -> TextCalls {
        self.text_calls.map(|(text_calls, _)| text_calls).unwrap_or_default()
    }
}

/// For whoever asks the model: it is shown no pictures if nobody knows whether it sees them.
impl From<Known> for ModelFacts {
    fn from(known: Known) -> Self {
        Self {
            context: known.context.map(|(tokens, _)| tokens),
            max_output: known.max_output.map(|(tokens, _)| tokens),
            images: known.images.is_some_and(|(images, _)| images),
            price: known.price.map(|(price, _)| price),
        }
    }
}
