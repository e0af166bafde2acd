//! Embeddings of OpenAI-compatible servers (OpenAI API reference, "Create embeddings") and of Ollama
//! (Ollama API, "Generate embeddings").

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{HttpClient, HttpResponse};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::{
    EmbedError, EmbeddedTexts, Embedder, Price, Spent, Usage, decode_json, estimated_tokens,
};
use avocet_text::Secret;
use backon::{BackoffBuilder, ExponentialBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::detail::{clean_detail, error_text};
use crate::wire_json::read_count;

/// Maximum number of texts in one request. A larger batch delays the first vector.
const MAX_BATCH: usize = 64;
/// Maximum bytes of a text; the rest is cut. No text has more tokens than bytes, and OpenAI's models
/// read 8,192 tokens.
const MAX_TEXT: usize = 8000;
/// Maximum bytes that are read of a response: [`MAX_BATCH`] vectors of [`MAX_DIMENSIONS`] numbers.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Maximum length of a vector.
const MAX_DIMENSIONS: usize = 8192;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The model that turns memories into vectors, so that a search finds related words and other
/// languages too. Without this table, a search compares words alone.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddingsConfig {
    /// The name of a table in `[providers]` of kind `openai` or `ollama`. Must be set.
    pub provider: String,
    /// The server's name of the model: `text-embedding-3-small`, `nomic-embed-text`. Must be set.
    pub model: String,
    /// The length of the vectors, for models that can shorten them. At least 1, at most 8192.
    /// Default: decided by the model.
    pub dimensions: Option<usize>,
    /// A memory that shares no word with a message is recalled if the cosine of the angle between
    /// their vectors is at least this. From 0 to 1; models differ. Default: 0.6.
    pub least_similarity: f64,
}

impl Default for EmbeddingsConfig {
    fn default() -> Self {
        let (provider, model) = (String::new(), String::new());
        Self { provider, model, dimensions: None, least_similarity: 0.6 }
    }
}

impl EmbeddingsConfig {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the requirement.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        if self.provider.is_empty() {
            return Err(("provider", "it must name a table in [providers]".to_owned()));
        }
        if self.model.is_empty() {
            return Err(("model", "it must name an embedding model of the server".to_owned()));
        }
        if !(0.0..=1.0).contains(&self.least_similarity) {
            let found = self.least_similarity;
            return Err(("least_similarity", format!("{found} is not between 0 and 1")));
        }
        match self.dimensions {
            Some(found) if !(1..=MAX_DIMENSIONS).contains(&found) => {
                Err(("dimensions", format!("{found} is not between 1 and {MAX_DIMENSIONS}")))
            }
            _ => Ok(()),
        }
    }
}

/// The API of an embedding server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbeddingWire {
    OpenAi,
    Ollama,
}

/// The server of a provider, as its table describes it.
#[derive(Debug)]
pub(crate) struct EmbeddingServer {
    pub(crate) wire: EmbeddingWire,
    /// The base URL, without a slash at its end.
    pub(crate) base_url: String,
    pub(crate) api_key: Option<Secret>,
    pub(crate) http: HttpClient,
    /// Timeout of one request.
    pub(crate) timeout: Duration,
    pub(crate) retries: usize,
}

/// An embedding model behind a server.
#[derive(Debug)]
pub struct ServedEmbedder {
    /// `provider/model`, with the number of dimensions if it was chosen.
    name: String,
    provider: String,
    model: String,
    dimensions: Option<usize>,
    /// `None` if the price is unknown.
    price: Option<Price>,
    server: EmbeddingServer,
    clock: Arc<dyn Clock>,
}

impl ServedEmbedder {
    pub(crate) fn new(
        config: &EmbeddingsConfig,
        server: EmbeddingServer,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let EmbeddingsConfig { provider, model, dimensions, .. } = config.clone();
        let name = match dimensions {
            Some(dimensions) => format!("{provider}/{model}@{dimensions}"),
            None => format!("{provider}/{model}"),
        };
        Self { name, provider, model, dimensions, price: None, server, clock }
    }

    /// Sets the price of tokens, for the ledger.
    #[must_use]
    pub fn with_price(self, price: Option<Price>) -> Self {
        Self { price, ..self }
    }

    /// Requests the vectors of one batch, with retries.
    async fn embed_batch(&self, texts: &[String]) -> Result<EmbeddedBatch, EmbedError> {
        let mut waits = ExponentialBuilder::default()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(self.server.retries)
            .with_jitter()
            .build();
        loop {
            let limit = self.server.timeout;
            let asked = within(self.clock.as_ref(), limit, self.request_vectors(texts)).await;
            let failed = match asked {
                Ok(Err(failed @ FailedRequest { retry: RetryAfter::Wait(_), .. })) => failed,
                Ok(Err(failed)) => return Err(EmbedError::Refused(failed.why)),
                Ok(Ok(batch)) => return Ok(batch),
                Err(_) => {
                    let seconds = limit.as_secs();
                    self.failed_request(&format!("it did not answer within {seconds} s"))
                }
            };
            let FailedRequest { why, retry } = failed;
            let RetryAfter::Wait(asked) = retry else { return Err(EmbedError::Refused(why)) };
            let Some(wait) = waits.next() else { return Err(EmbedError::Failed(why)) };
            if asked.is_some_and(|asked| asked > LONGEST_WAIT) {
                return Err(EmbedError::Failed(why));
            }
            let wait = asked.unwrap_or(wait);
            tracing::info!(error = %why, ?wait, "retrying the embedding request after a pause");
            self.clock.sleep(wait).await;
        }
    }

    async fn request_vectors(&self, texts: &[String]) -> Result<EmbeddedBatch, FailedRequest> {
        let EmbeddingServer { wire, base_url, api_key, http, .. } = &self.server;
        let (path, mut body) = match wire {
            EmbeddingWire::OpenAi => {
                let body =
                    json!({ "model": self.model, "input": texts, "encoding_format": "float" });
                ("embeddings", body)
            }
            EmbeddingWire::Ollama => ("api/embed", json!({ "model": self.model, "input": texts })),
        };
        if let Some(dimensions) = self.dimensions {
            body["dimensions"] = json!(dimensions);
        }
        let bearer = api_key.as_ref().map(|key| format!("Bearer {}", key.expose()));
        let headers: Vec<_> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let url = format!("{base_url}/{path}");
        let answer = http.post_json(&url, &headers, body.to_string().into_bytes()).await;
        let answer = answer.map_err(|error| self.failed_request(&error.to_string()))?;
        if answer.status() != 200 {
            return Err(self.error_from_refusal(answer).await);
        }
        let body = answer.read_text(MAX_BODY).await;
        let body = body.map_err(|error| self.failed_request(&error.to_string()))?;
        let answer: Value = decode_json(body.as_bytes()).unwrap_or_default();
        let vectors = self.read_vectors(&answer, texts.len())?;
        let counted = match self.server.wire {
            EmbeddingWire::OpenAi => read_count(&answer["usage"]["prompt_tokens"]),
            EmbeddingWire::Ollama => read_count(&answer["prompt_eval_count"]),
        };
        let estimated = || texts.iter().map(|text| estimated_tokens(text)).sum();
        Ok(EmbeddedBatch { vectors, tokens: counted.unwrap_or_else(estimated) })
    }

    /// Reads the vectors of an answer, and checks their number and lengths.
    fn read_vectors(&self, answer: &Value, wanted: usize) -> Result<Vec<Vec<f32>>, FailedRequest> {
        let found: Option<Vec<Vec<f32>>> = match self.server.wire {
            EmbeddingWire::OpenAi => answer["data"].as_array().and_then(|data| by_index(data)),
            EmbeddingWire::Ollama => answer["embeddings"]
                .as_array()
                .and_then(|list| list.iter().map(read_numbers).collect()),
        };
        let Some(found) = found else {
            return Err(self.failed_request("its answer holds no vectors"));
        };
        if found.len() != wanted {
            let found = found.len();
            return Err(self.failed_request(&format!("it sent {found} vectors for {wanted} texts")));
        }
        let length = found.first().map_or(0, Vec::len);
        if length == 0 || length > MAX_DIMENSIONS || found.iter().any(|one| one.len() != length) {
            return Err(self.failed_request("its vectors have unusable lengths"));
        }
        match self.dimensions {
            Some(dimensions) if dimensions != length => Err(FailedRequest {
                why: self.clean_text(&format!(
                    "it sent vectors of length {length} instead of {dimensions}; leave out \
                     `dimensions` in [embeddings]"
                )),
                retry: RetryAfter::Never,
            }),
            _ => Ok(found),
        }
    }

    /// Turns a response with a status other than 200 into an error.
    async fn error_from_refusal(&self, answer: HttpResponse) -> FailedRequest {
        let (status, retry_after) = (answer.status(), answer.retry_after());
        let body = answer.read_text(MAX_BODY).await.unwrap_or_default();
        let error = decode_json::<Value>(body.as_bytes()).unwrap_or_default();
        let says = error_text(&error, &body);
        let says = says.trim();
        let advice = match (status, self.server.wire) {
            (401 | 403, _) => "; check api_key of the provider",
            (404, EmbeddingWire::Ollama) if says.contains("not found, try pulling") => {
                "; fetch it: ollama pull"
            }
            (404, _) => "; check base_url of the provider and `model` in [embeddings]",
            _ => "",
        };
        let why = self.clean_text(&format!("{status}: {says}{advice}"));
        let retry = match status {
            408 | 409 | 425 | 429 | 500.. => RetryAfter::Wait(retry_after),
            _ => RetryAfter::Never,
        };
        FailedRequest { why, retry }
    }

    fn failed_request(&self, why: &str) -> FailedRequest {
        FailedRequest { why: self.clean_text(why), retry: RetryAfter::Wait(None) }
    }

    fn clean_text(&self, text: &str) -> String {
        let name = &self.name;
        clean_detail(&format!("the embedding model {name}: {text}"), self.server.api_key.as_ref())
    }
}

/// The answer to one request.
#[derive(Debug)]
struct EmbeddedBatch {
    vectors: Vec<Vec<f32>>,
    /// As the server counts them, else estimated.
    tokens: u64,
}

#[derive(Debug)]
struct FailedRequest {
    why: String,
    retry: RetryAfter,
}

/// The use of a retry.
#[derive(Debug)]
enum RetryAfter {
    /// The same request would fail again.
    Never,
    /// A retry can help, after the time that the server asks for.
    Wait(Option<Duration>),
}

/// Returns the vectors in the order of their texts. Without readable indexes, they are in order.
fn by_index(data: &[Value]) -> Option<Vec<Vec<f32>>> {
    let has_indexes = data.iter().all(|one| read_count(&one["index"]).is_some());
    let read = |(place, one): (u64, &Value)| {
        let index = read_count(&one["index"]).filter(|_| has_indexes).unwrap_or(place);
        Some((index, read_numbers(&one["embedding"])?))
    };
    let mut found = (0..).zip(data).map(read).collect::<Option<Vec<_>>>()?;
    found.sort_by_key(|(index, _)| *index);
    let is_complete = found.iter().zip(0..).all(|((index, _), place)| *index == place);
    is_complete.then(|| found.into_iter().map(|(_, vector)| vector).collect())
}

fn read_numbers(vector: &Value) -> Option<Vec<f32>> {
    #[expect(clippy::cast_possible_truncation, reason = "a vector needs no more precision")]
    let number = |value: &Value| value.as_f64().map(|value| value as f32);
    vector
        .as_array()?
        .iter()
        .map(number)
        .collect::<Option<_>>()
        .filter(|all: &Vec<f32>| all.iter().all(|value| value.is_finite()))
}

#[async_trait]
impl Embedder for ServedEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    async fn embed(&self, texts: &[String]) -> Result<EmbeddedTexts, EmbedError> {
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(EmbedError::Refused(self.clean_text("a text without words has no vector")));
        }
        let cut = |text: &String| text[..text.floor_char_boundary(MAX_TEXT)].to_owned();
        let texts: Vec<String> = texts.iter().map(cut).collect();
        let (mut vectors, mut read) = (Vec::with_capacity(texts.len()), 0_u64);
        for batch in texts.chunks(MAX_BATCH) {
            let EmbeddedBatch { vectors: more, tokens } = self.embed_batch(batch).await?;
            vectors.extend(more);
            read = read.saturating_add(tokens);
        }
        let usage = Usage::new(read, 0);
        let cost = self.price.map(|price| price.compute_cost(usage));
        let model = format!("{}/{}", self.provider, self.model);
        Ok(EmbeddedTexts { vectors, spent: Spent { model, usage, cost } })
    }
}

#[cfg(test)]
#[path = "embeddings_tests.rs"]
mod tests;
