//! Model providers: the code that writes requests, reads streamed answers and retries after errors.
//! Also the offline provider, which works without key and network, embeddings, the transcription of
//! recordings, and spoken answers.

#[cfg(test)]
mod acme;
#[cfg(test)]
mod acme_tests;
mod answer_schema;
mod anthropic;
mod audio_endpoint;
mod audio_health;
#[cfg(feature = "testing")]
pub mod benching;
mod body;
mod call_marks;
mod chain;
#[cfg(test)]
mod contract;
mod cool_down;
mod cost;
mod deferred;
mod detail;
mod dialected;
mod dialects;
mod embeddings;
mod end_marks;
mod ending;
mod endpoint;
mod event;
mod facts;
mod finish;
#[cfg(test)]
mod frame_tests;
#[cfg(any(test, feature = "testing"))]
pub mod fuzzing;
mod gemini;
mod health;
mod keys;
mod known_model;
mod limits;
#[cfg(test)]
mod odd_answer_tests;
mod offline;
mod ollama;
mod openai;
mod provider;
mod repair;
mod retry;
mod schema;
mod speech;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod thought_calls_tests;
mod tool_style;
mod transcription;
mod visible;
mod wire_json;
mod written_tools;

pub use anthropic::{AnthropicConfig, AnthropicModel};
pub use audio_endpoint::{AudioEndpoint, AudioProbe};
pub use audio_health::AudioHealth;
pub use chain::ModelChain;
pub use cool_down::CoolDowns;
pub use dialected::DialectModel;
pub use embeddings::{EmbeddingsConfig, ServedEmbedder};
pub use endpoint::{ModelListError, OfferedModel, ProbeResult};
pub use facts::{
    BadCatalogue, CatalogueSummary, Fact, FactSource, KnownFacts, LearnedFacts, ModelCatalogue,
    ModelConfig, ModelTable, SourcedFacts,
};
pub use gemini::{GeminiConfig, GeminiModel};
pub use health::ModelHealth;
pub use keys::ApiKeys;
pub use known_model::KnownModel;
pub use limits::RequestTimeouts;
pub use offline::{OfflineConfig, OfflineModel};
pub use ollama::{OllamaConfig, OllamaModel};
pub use openai::{MaxTokensField, OpenAi, OpenAiApi, OpenAiConfig, SystemRole};
pub use provider::{ConfiguredModel, ProviderConfig};
pub use speech::{SpeechConfig, SpeechEndpoint};
pub use tool_style::{TextCalls, ToolStyle};
pub use transcription::{TranscriptionConfig, TranscriptionEndpoint};
