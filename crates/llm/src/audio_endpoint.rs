//! A server with the audio APIs of OpenAI. Spoken answers and transcriptions use it: it sends their requests,
//! limits their time, and turns failures into errors for the operator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_net::{FormData, HttpClient, HttpResponse, NetError};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::{AudioError, decode_json};
use avocet_text::{Secret, nearest};
use serde_json::Value;

use crate::audio_health::AudioHealth;
use crate::detail::{clean_detail, error_text};
use crate::provider::{AllowedReach, OPENAI_PATHS, check_base_url};

/// The base URL of tables without one.
pub(crate) const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// Maximum bytes that are read of an error.
const MAX_ERROR: usize = 64 * 1024;
/// Maximum bytes that are read of a list of models or voices.
const MAX_LIST: usize = 1024 * 1024;

/// The server of a table, as the table describes it.
#[derive(Debug, Clone)]
pub(crate) struct AudioServer {
    /// The name of the table, for errors.
    pub(crate) table: &'static str,
    /// The base URL of the API, including its version.
    pub(crate) base_url: String,
    /// `None` if the server needs no key.
    pub(crate) api_key: Option<Secret>,
    /// The server's name of the model.
    pub(crate) model: String,
    /// The server's name of the voice; `None` if the API has no voices.
    pub(crate) voice: Option<String>,
    /// Timeout in seconds until the end of the answer.
    pub(crate) total_seconds: u64,
    /// `true` if requests go to public addresses only.
    pub(crate) is_untrusted: bool,
    /// The keys to check after a refused request; `None` if the sender's recording is at fault.
    pub(crate) keys_of_request: Option<&'static str>,
}

impl AudioServer {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the requirement.
    pub(crate) fn check_values(&self) -> Result<(), (&'static str, String)> {
        check_base_url(&self.base_url, self.allowed_reach(), &OPENAI_PATHS)?;
        match self.total_seconds {
            0 => Err(("total_seconds", "0 is too small; at least 1 second".to_owned())),
            _ => Ok(()),
        }
    }

    fn allowed_reach(&self) -> AllowedReach {
        if self.is_untrusted { AllowedReach::PublicOnly } else { AllowedReach::Everywhere }
    }
}

/// The result of a check of a server for audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AudioProbe {
    /// The server has shown a list to this key. These names of the table are in its lists: `model`,
    /// `voice`.
    Listed(Vec<&'static str>),
    /// A list of the server lacks the name of this key of the table.
    Missing {
        /// `model` or `voice`.
        key: &'static str,
        /// The most similar name in the list.
        nearest: Option<String>,
    },
    /// The server answers, and has no list.
    NoList,
}

/// A server that takes requests for audio.
#[derive(Debug)]
pub struct AudioEndpoint {
    server: AudioServer,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    /// The record of the outcomes of requests, if somebody reads it.
    health: Option<Arc<AudioHealth>>,
}

impl AudioEndpoint {
    /// Creates the endpoint of a server.
    ///
    /// # Errors
    /// [`NetError`] if creating the HTTP client fails.
    pub(crate) fn new(server: AudioServer, clock: Arc<dyn Clock>) -> Result<Self, NetError> {
        let http = match server.allowed_reach() {
            AllowedReach::Everywhere => Ok(HttpClient::new()),
            AllowedReach::PublicOnly => HttpClient::with_public_only(&BTreeMap::new()),
        };
        Ok(Self { server, http: http?, clock, health: None })
    }

    /// Records the outcomes of requests there.
    pub(crate) fn record_in(&mut self, health: Arc<AudioHealth>) {
        self.health = Some(health);
    }

    /// Returns the server's name of the model.
    pub(crate) fn model_name(&self) -> &str {
        &self.server.model
    }

    /// Checks the key, the model and the voice with the lists of models and voices, which cost
    /// nothing. Many servers have neither.
    ///
    /// # Errors
    /// The reason why the endpoint is unusable.
    pub async fn probe_endpoint(&self) -> Result<AudioProbe, String> {
        let AudioServer { model, voice, .. } = &self.server;
        let lists = [("model", "models", Some(model)), ("voice", "audio/voices", voice.as_ref())];
        let (mut has_list, mut listed) = (false, Vec::new());
        for (key, path, name) in lists {
            let Some(name) = name else { continue };
            let Some(names) = self.list_names(path).await? else { continue };
            has_list = true;
            if names.iter().any(|known| known == name) {
                listed.push(key);
            } else if !names.is_empty() {
                let nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
                return Ok(AudioProbe::Missing { key, nearest });
            }
        }
        Ok(if has_list { AudioProbe::Listed(listed) } else { AudioProbe::NoList })
    }

    /// Returns the names in a list of the server; `None` if it has no such list.
    async fn list_names(&self, path: &str) -> Result<Option<Vec<String>>, String> {
        let bearer = self.bearer_header();
        let answer = self.http.get(&self.url_of(path), &bearer_headers(bearer.as_deref())).await;
        let answer = answer.map_err(|error| self.clean_text(&error.to_string()))?;
        match answer.status() {
            200 => {}
            404 | 405 | 501 => return Ok(None),
            _ => return Err(self.error_from_refusal(answer).await.to_string()),
        }
        let body = answer.read_text(MAX_LIST).await.unwrap_or_default();
        Ok(Some(names_in_list(&decode_json(body.as_bytes()).unwrap_or_default())))
    }

    /// Runs a request within the time limit of the table.
    ///
    /// # Errors
    /// [`AudioError::Failed`] after the limit, and the errors of the request.
    pub(crate) async fn run_in_time<T>(
        &self,
        request: impl Future<Output = Result<T, AudioError>>,
    ) -> Result<T, AudioError> {
        let AudioServer { table, total_seconds: seconds, .. } = &self.server;
        let limit = Duration::from_secs(*seconds);
        let answered = within(self.clock.as_ref(), limit, request).await.unwrap_or_else(|_| {
            let why = format!("the {table} endpoint did not answer within {seconds} s");
            Err(AudioError::Failed(why))
        });
        if let Some(health) = &self.health {
            health.note_outcome(table, answered.as_ref().map(|_| ()));
        }
        answered
    }

    /// Posts JSON. Returns when a successful answer begins.
    ///
    /// # Errors
    /// [`AudioError`] if the server cannot be reached or refuses the request.
    pub(crate) async fn post_json(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<HttpResponse, AudioError> {
        let (bearer, body) = (self.bearer_header(), body.to_string().into_bytes());
        let headers = bearer_headers(bearer.as_deref());
        self.successful_answer(self.http.post_json(&self.url_of(path), &headers, body).await).await
    }

    /// Posts a form with a file. Returns when a successful answer begins.
    ///
    /// # Errors
    /// As for [`Self::post_json`].
    pub(crate) async fn post_form(
        &self,
        path: &str,
        form: FormData<'_>,
    ) -> Result<HttpResponse, AudioError> {
        let key = self.server.api_key.as_ref();
        self.successful_answer(self.http.post_form(&self.url_of(path), key, form).await).await
    }

    /// Makes the error of a request that failed on the way.
    pub(crate) fn failed_request(&self, why: &str) -> AudioError {
        AudioError::Failed(self.clean_text(why))
    }

    async fn successful_answer(
        &self,
        answer: Result<HttpResponse, NetError>,
    ) -> Result<HttpResponse, AudioError> {
        let answer = answer.map_err(|error| self.failed_request(&error.to_string()))?;
        match answer.status() {
            200 => Ok(answer),
            _ => Err(self.error_from_refusal(answer).await),
        }
    }

    /// Turns a response with a status other than 200 into an error.
    async fn error_from_refusal(&self, answer: HttpResponse) -> AudioError {
        let AudioServer { table, keys_of_request, .. } = &self.server;
        let status = answer.status();
        let body = answer.read_text(MAX_ERROR).await.unwrap_or_default();
        let error = decode_json::<Value>(body.as_bytes()).unwrap_or_default();
        let reason = error_text(&error, &body);
        let reason = reason.trim();
        let says = self.clean_text(&format!("the {table} endpoint answered {status}: {reason}"));
        let keys = match status {
            408 | 409 | 425 | 429 | 500.. => return AudioError::Failed(says),
            401 | 403 => Some("api_key"),
            404 => Some("base_url and model"),
            _ => *keys_of_request,
        };
        AudioError::Refused(match keys {
            Some(keys) => format!("{says}; the operator has to check {keys} in [{table}]"),
            None => says,
        })
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}/{path}", self.server.base_url.trim_end_matches('/'))
    }

    fn bearer_header(&self) -> Option<String> {
        self.server.api_key.as_ref().map(|key| format!("Bearer {}", key.expose()))
    }

    fn clean_text(&self, text: &str) -> String {
        clean_detail(text, self.server.api_key.as_ref())
    }
}

/// Returns the names in a list of models or voices: `{"data": [{"id": ...}]}` as OpenAI has it, a list
/// `models` or `voices`, or a bare list. An entry is a name, or an object with it.
fn names_in_list(list: &Value) -> Vec<String> {
    let entries = ["data", "models", "voices"].iter().find_map(|key| list[key].as_array());
    let entries = entries.or_else(|| list.as_array()).into_iter().flatten();
    let name = |entry: &Value| {
        let named = ["id", "voice_id", "name"].iter().find_map(|key| entry[key].as_str());
        entry.as_str().or(named).map(str::to_owned)
    };
    entries.filter_map(name).collect()
}

fn bearer_headers(bearer: Option<&str>) -> Vec<(&str, &str)> {
    bearer.into_iter().map(|bearer| ("authorization", bearer)).collect()
}

#[cfg(test)]
#[path = "audio_endpoint_tests.rs"]
mod tests;
