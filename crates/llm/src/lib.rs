//! Model providers: how a request looks on the wire, how an answer is read while it streams, what
//! is tried again. And the embedded one, which needs neither a key nor a network. Also whoever
//! listens to recordings.

mod anthropic;
mod asking;
mod chain;
mod detail;
mod dialected;
mod dialects;
mod facts;
mod hidden;
mod known;
mod limits;
mod offline;
mod openai;
mod provider;
mod rests;
mod retry;
mod sse;
#[cfg(test)]
mod testing;
mod transcription;

pub use anthropic::{Anthropic, AnthropicConfig};
pub use chain::Chain;
pub use dialected::{Dialected, ToolStyle};
pub use facts::{Fact, Facts, Known, Learned, ModelConfig, ModelTable, Source};
pub use known::{KnownModel, Served};
pub use limits::Limits;
pub use offline::Offline;
pub use openai::{OpenAi, OpenAiConfig};
pub use provider::ProviderConfig;
pub use rests::Rests;
pub use transcription::{Transcription, TranscriptionConfig};
