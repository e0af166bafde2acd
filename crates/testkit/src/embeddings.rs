//! The embedding APIs of OpenAI and Ollama on loopback. Each refuses the requests that the real one
//! refuses.
//!
//! The vectors come from a list of concepts: words of one concept in several languages get nearly the
//! same vector. All other words get directions of their own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use avocet_protocol::model::{EmbedError, EmbeddedTexts, Embedder, Spent, Usage};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http::{HttpFake, HttpRequest, Piece, whole};
use crate::openai::{OpenAiRefusal, check_key, invalid, wrong_url};
use crate::request_log::{FakeRefusal, RequestLog};

/// The only model of the fakes.
pub const MODEL: &str = "embed-test";
/// Length of a vector, unless a request asks for fewer dimensions.
pub const DIMENSIONS: usize = 256;
/// Maximum number of texts in a request (OpenAI API reference, "Create embeddings").
const MAX_INPUTS: usize = 2048;
/// Maximum tokens of a text. The fake counts one for each character.
const MAX_TOKENS: usize = 8192;
const JSON: &str = "application/json";

/// Words of one concept in English, German, Spanish, Russian and Japanese, without endings.
pub const CONCEPTS: &[[&str; 5]] = &[
    ["dentist", "zahnarzt", "dentista", "стоматолог", "歯医者"],
    ["birthday", "geburtstag", "cumpleaños", "рождения", "誕生日"],
    ["car", "auto", "coche", "машин", "車"],
    ["dog", "hund", "perro", "собак", "犬"],
    ["cat", "katze", "gato", "кошк", "猫"],
    ["house", "haus", "casa", "дом", "家"],
    ["coffee", "kaffee", "café", "кофе", "珈琲"],
    ["train", "zug", "tren", "поезд", "電車"],
    ["flight", "flug", "vuelo", "рейс", "飛行"],
    ["hotel", "unterkunft", "alojamiento", "гостиниц", "宿"],
    ["school", "schule", "escuela", "школ", "学校"],
    ["doctor", "arzt", "médico", "врач", "医師"],
    ["medicine", "medikament", "medicina", "лекарств", "薬"],
    ["garden", "garten", "jardín", "сад", "庭"],
    ["music", "musik", "música", "музык", "音楽"],
    ["book", "buch", "libro", "книг", "本"],
    ["kitchen", "küche", "cocina", "кухн", "台所"],
    ["bicycle", "fahrrad", "bicicleta", "велосипед", "自転車"],
    ["invoice", "rechnung", "factura", "счёт", "請求"],
    ["bank", "sparkasse", "banco", "банк", "銀行"],
    ["insurance", "versicherung", "seguro", "страхов", "保険"],
    ["beach", "strand", "playa", "пляж", "海岸"],
    ["mountain", "berg", "montaña", "гор", "山"],
    ["bread", "brot", "pan", "хлеб", "麺麭"],
    ["cheese", "käse", "queso", "сыр", "乾酪"],
    ["wine", "wein", "vino", "вино", "葡萄酒"],
    ["tea", "tee", "infusión", "чай", "茶"],
    ["sister", "schwester", "hermana", "сестр", "妹"],
    ["brother", "bruder", "hermano", "брат", "弟"],
    ["wedding", "hochzeit", "boda", "свадьб", "結婚"],
    ["meeting", "besprechung", "reunión", "встреч", "会議"],
    ["rent", "miete", "alquiler", "аренд", "家賃"],
    ["key", "schlüssel", "llave", "ключ", "鍵"],
    ["glasses", "brille", "gafas", "очк", "眼鏡"],
    ["shoe", "schuh", "zapato", "обув", "靴"],
    ["allergy", "allergie", "alergia", "аллерг", "過敏"],
    ["passport", "reisepass", "pasaporte", "паспорт", "旅券"],
    ["lawyer", "anwalt", "abogado", "адвокат", "弁護士"],
    ["painting", "gemälde", "cuadro", "картин", "絵"],
    ["guitar", "gitarre", "guitarra", "гитар", "三味線"],
];

/// Returns the vector of a text, of length 1.
#[must_use]
pub fn vector(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let concepts = CONCEPTS.iter().enumerate().filter(|(_, words)| is_about(word, words));
        let mut is_known = false;
        for (axis, _) in concepts {
            vector[axis] += 1.0;
            is_known = true;
        }
        if !is_known {
            let own = DIMENSIONS - CONCEPTS.len();
            let hash = word
                .bytes()
                .fold(5381_usize, |hash, byte| hash * 33 % 1_000_003 + usize::from(byte));
            vector[CONCEPTS.len() + hash % own] += 0.2;
        }
    }
    // A text without words has a direction, too.
    vector[DIMENSIONS - 1] += 0.01;
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}

/// Returns `true` if a word begins with one of these; in Japanese, if it contains one.
fn is_about(word: &str, concept: &[&str; 5]) -> bool {
    let [others @ .., japanese] = concept;
    let begins = |stem: &&str| {
        let rest = word.strip_prefix(*stem).map(|rest| rest.chars().count());
        rest.is_some_and(|rest| rest <= 3)
    };
    others.iter().any(begins) || word.contains(japanese)
}

/// The API that a fake speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingApi {
    /// `/v1/embeddings`. It requires the key [`crate::openai::KEY`] if one is sent.
    OpenAi,
    /// `/api/embed`.
    Ollama,
}

/// An accepted request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedCall {
    /// The texts.
    pub inputs: Vec<String>,
    /// The number of dimensions that the client asked for.
    pub dimensions: Option<usize>,
}

/// A server with one model.
pub struct EmbeddingsFake {
    server: HttpFake,
    api: EmbeddingApi,
    log: RequestLog<EmbeddedCall>,
    answers: Arc<Mutex<Vec<Vec<Piece>>>>,
}

impl fmt::Debug for EmbeddingsFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingsFake").field("address", &self.server.address()).finish()
    }
}

impl EmbeddingsFake {
    /// Starts a server.
    pub async fn start(api: EmbeddingApi) -> Self {
        Self::answering(api, Vec::new()).await
    }

    /// Starts a server that first gives these answers to valid requests, each once.
    pub async fn answering(api: EmbeddingApi, answers: Vec<Vec<Piece>>) -> Self {
        let log = RequestLog::default();
        let answers = Arc::new(Mutex::new(answers));
        let (kept, first) = (log.clone(), answers.clone());
        let server = HttpFake::start(move |request| {
            kept.answer(check(api, &request), |call| {
                let mut first = first.lock();
                if first.is_empty() { answer(api, call) } else { first.remove(0) }
            })
        })
        .await;
        Self { server, api, log, answers }
    }

    /// Returns the value for `base_url` of a provider.
    #[must_use]
    pub fn base_url(&self) -> String {
        let address = self.server.address();
        match self.api {
            EmbeddingApi::OpenAi => format!("http://{address}/v1"),
            EmbeddingApi::Ollama => format!("http://{address}"),
        }
    }

    /// Returns the accepted requests.
    #[must_use]
    pub fn calls(&self) -> Vec<EmbeddedCall> {
        self.log.accepted()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        self.log.refusals()
    }

    /// Gives these answers to the next valid requests.
    pub fn answer_next(&self, answers: Vec<Vec<Piece>>) {
        *self.answers.lock() = answers;
    }
}

fn check(api: EmbeddingApi, request: &HttpRequest) -> Result<EmbeddedCall, FakeRefusal> {
    match api {
        EmbeddingApi::OpenAi => check_openai(request).map_err(Into::into),
        EmbeddingApi::Ollama => check_ollama(request),
    }
}

fn check_openai(request: &HttpRequest) -> Result<EmbeddedCall, OpenAiRefusal> {
    if request.method != "POST" || !request.path.ends_with("/v1/embeddings") {
        return Err(wrong_url(request));
    }
    check_key(request)?;
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| invalid("We could not parse the JSON body of your request."))?;
    for (key, value) in body.as_object().into_iter().flatten() {
        match key.as_str() {
            "model" | "input" | "dimensions" | "user" => {}
            "encoding_format" if value == "float" || value == "base64" => {}
            _ => return Err(invalid(format!("Unrecognized request argument supplied: {key}"))),
        }
    }
    match body["model"].as_str() {
        None | Some("") => return Err(invalid("you must provide a model parameter")),
        Some(MODEL) => {}
        Some(other) => {
            let message =
                format!("The model `{other}` does not exist or you do not have access to it.");
            return Err(OpenAiRefusal { status: 404, message, body: None });
        }
    }
    let wrong = || invalid("'$.input' is invalid. Please check the API reference.");
    let inputs = inputs(&body["input"]).ok_or_else(wrong)?;
    if inputs.is_empty() || inputs.iter().any(String::is_empty) || inputs.len() > MAX_INPUTS {
        return Err(wrong());
    }
    if let Some(long) = inputs.iter().map(|text| text.chars().count()).find(|n| *n > MAX_TOKENS) {
        return Err(invalid(format!(
            "This model's maximum context length is {MAX_TOKENS} tokens, however you requested \
             {long} tokens. Please reduce your prompt; or completion length."
        )));
    }
    let range = format!("Invalid value for 'dimensions': expected 1 to {DIMENSIONS}");
    let dimensions = dimensions(&body).map_err(|()| invalid(range))?;
    Ok(EmbeddedCall { inputs, dimensions })
}

fn check_ollama(request: &HttpRequest) -> Result<EmbeddedCall, FakeRefusal> {
    let refused = |status: u16, message: &str| {
        let body = json!({ "error": message }).to_string();
        FakeRefusal::new(status, JSON, &body, message.to_owned())
    };
    if request.method != "POST" || request.path != "/api/embed" {
        let message = "404 page not found";
        return Err(FakeRefusal::new(404, "text/plain", message, message.to_owned()));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| refused(400, &format!("invalid character: {error}")))?;
    match body["model"].as_str() {
        Some(MODEL) => {}
        other => {
            let name = other.unwrap_or_default();
            let message = format!("model \"{name}\" not found, try pulling it first");
            return Err(refused(404, &message));
        }
    }
    let inputs = inputs(&body["input"]).ok_or_else(|| refused(400, "invalid input type"))?;
    let is_long = inputs.iter().any(|text| text.chars().count() > MAX_TOKENS);
    if is_long && body["truncate"] == false {
        return Err(refused(400, "the input length exceeds the context length"));
    }
    let dimensions = dimensions(&body).map_err(|()| refused(400, "invalid dimensions"))?;
    Ok(EmbeddedCall { inputs, dimensions })
}

fn inputs(input: &Value) -> Option<Vec<String>> {
    match input {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn dimensions(body: &Value) -> Result<Option<usize>, ()> {
    match &body["dimensions"] {
        Value::Null => Ok(None),
        value => {
            let wanted = value.as_u64().and_then(|value| usize::try_from(value).ok());
            wanted.filter(|wanted| (1..=DIMENSIONS).contains(wanted)).map(Some).ok_or(())
        }
    }
}

fn answer(api: EmbeddingApi, call: &EmbeddedCall) -> Vec<Piece> {
    let cut = |text: &String| {
        let mut vector = vector(text);
        vector.truncate(call.dimensions.unwrap_or(DIMENSIONS));
        vector
    };
    let vectors: Vec<Vec<f32>> = call.inputs.iter().map(cut).collect();
    let body = match api {
        // The order of the list is free; `index` counts.
        EmbeddingApi::OpenAi => {
            let data = vectors.iter().enumerate().rev().map(|(index, vector)| {
                json!({ "object": "embedding", "index": index, "embedding": vector })
            });
            let usage = json!({ "prompt_tokens": 8, "total_tokens": 8 });
            json!({ "object": "list", "data": data.collect::<Vec<_>>(), "model": MODEL, "usage": usage })
        }
        EmbeddingApi::Ollama => {
            json!({ "model": MODEL, "embeddings": vectors, "total_duration": 1, "prompt_eval_count": 8 })
        }
    };
    whole(200, &[("content-type", JSON)], &body.to_string())
}

/// An embedder with the name `fake` and the vectors of [`vector`].
#[derive(Debug, Default)]
pub struct FakeEmbedder {
    fails: AtomicBool,
    hangs: AtomicBool,
    requests: Mutex<Vec<Vec<String>>>,
}

impl FakeEmbedder {
    /// Lets requests fail, or succeed again.
    pub fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// Lets requests hang, or succeed again.
    pub fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }

    /// Returns the texts of all requests.
    #[must_use]
    pub fn requests(&self) -> Vec<Vec<String>> {
        self.requests.lock().clone()
    }
}

#[async_trait]
impl Embedder for FakeEmbedder {
    fn name(&self) -> &str {
        "fake"
    }

    async fn embed(&self, texts: &[String]) -> Result<EmbeddedTexts, EmbedError> {
        self.requests.lock().push(texts.to_vec());
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(EmbedError::Failed("the fake is down".to_owned()));
        }
        let vectors = texts.iter().map(|text| vector(text)).collect();
        let usage = Usage::new(10 * texts.len() as u64, 0);
        let spent = Spent { model: "fake/embedder".to_owned(), usage, cost: None };
        Ok(EmbeddedTexts { vectors, spent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: &str, other: &str) -> f32 {
        vector(one).iter().zip(vector(other)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn vector_puts_translations_near_each_other() {
        for words in CONCEPTS {
            for word in words {
                assert!(near(words[0], word) > 0.5, "{word}");
            }
        }
        assert!(near("my dentists", "歯医者の予約") > 0.5);
        assert!(near("the dentist", "the hotel") < 0.3);
        assert!(vector("").iter().all(|value| value.is_finite()));
    }
}
