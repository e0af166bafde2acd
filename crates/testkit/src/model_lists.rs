//! The lists of models of all provider APIs on loopback, with pages. It refuses the requests that
//! the real APIs refuse.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http::{HttpFake, HttpRequest, whole};

/// The required key.
pub const KEY: &str = "key-of-lists-1234567890";
/// Most models of a page of Anthropic's and Gemini's lists. The real APIs send more on request.
const PAGE: usize = 2;

/// A server with the list of models of each API: OpenAI's at `/v1/models`, Anthropic's at the same
/// path for clients with its headers, Gemini's at `/v1beta/models`, Ollama's at `/api/tags`.
#[derive(Debug)]
pub struct ModelListFake {
    server: HttpFake,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ModelListFake {
    /// Starts a server that lists these models.
    pub async fn start(models: &'static [&'static str]) -> Self {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = asked.clone();
        let server = HttpFake::start(move |request| {
            noted.lock().push(format!("{} {}", request.method, request.path));
            let (status, body) = answer(&request, models);
            whole(status, &[("content-type", "application/json")], &body.to_string())
        })
        .await;
        Self { server, asked }
    }

    /// The URL of the server, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns the method and path of each request.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}

fn answer(request: &HttpRequest, models: &[&str]) -> (u16, Value) {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let query: Vec<(&str, &str)> =
        query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let answered = match (request.method.as_str(), path) {
        ("GET", "/v1/models") if request.header("anthropic-version").is_some() => {
            anthropic(request, &query, models)
        }
        ("GET", "/v1/models") => openai(request, &query, models),
        // A model that thinks, and has no tokens left for the answer.
        ("POST", "/v1/messages") => {
            Err((400, "max_tokens or model output limit was reached".to_owned()))
        }
        ("GET", "/v1beta/models") => gemini(request, &query, models),
        ("GET", "/api/tags") => ollama(&query, models),
        ("POST", "/api/chat") => Ok(json!({
            "model": models.first(), "message": { "role": "assistant", "content": "ok" },
            "done": true, "done_reason": "stop",
        })),
        _ => Err((404, "Not found".to_owned())),
    };
    answered.map_or_else(
        |(status, message)| (status, json!({ "error": { "message": message } })),
        |body| (200, body),
    )
}

type ListAnswer = Result<Value, (u16, String)>;

/// OpenAI API reference, "List models": one page, with the fields of OpenRouter for the first.
fn openai(request: &HttpRequest, query: &[(&str, &str)], models: &[&str]) -> ListAnswer {
    require(request, "authorization", &format!("Bearer {KEY}"))?;
    known(query, &[])?;
    let model = |(place, id): (usize, &&str)| {
        let mut model = json!({ "id": id, "object": "model", "created": 1, "owned_by": "fake" });
        if place == 0 {
            model["context_length"] = json!(65_536);
            model["pricing"] = json!({ "prompt": "0.0000005", "completion": "0.000002" });
            model["architecture"] = json!({ "input_modalities": ["text", "image"] });
        }
        model
    };
    let data: Vec<Value> = models.iter().enumerate().map(model).collect();
    Ok(json!({ "object": "list", "data": data }))
}

/// Anthropic API reference, "List Models".
fn anthropic(request: &HttpRequest, query: &[(&str, &str)], models: &[&str]) -> ListAnswer {
    require(request, "x-api-key", KEY)?;
    require(request, "anthropic-version", "2023-06-01")?;
    known(query, &["limit", "after_id"])?;
    let limit = number(query, "limit")?.unwrap_or(20);
    if !(1..=1000).contains(&limit) {
        return Err((400, "limit: Input should be between 1 and 1000".to_owned()));
    }
    let start = match value(query, "after_id") {
        None => 0,
        Some(id) => match models.iter().position(|model| *model == id) {
            Some(place) => place + 1,
            None => return Err((400, format!("after_id: {id} is not a model"))),
        },
    };
    let page: Vec<&&str> = models.iter().skip(start).take(limit.min(PAGE)).collect();
    let more = start + page.len() < models.len();
    let model = |id: &&&str| {
        json!({ "type": "model", "id": id, "display_name": "Fake", "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": 200_000, "max_tokens": 64_000 })
    };
    Ok(json!({ "data": page.iter().map(model).collect::<Vec<_>>(), "has_more": more,
        "first_id": page.first(), "last_id": page.last() }))
}

/// Gemini API reference, "models.list". The last model makes embeddings.
fn gemini(request: &HttpRequest, query: &[(&str, &str)], models: &[&str]) -> ListAnswer {
    require(request, "x-goog-api-key", KEY)?;
    known(query, &["pageSize", "pageToken"])?;
    let size = number(query, "pageSize")?.unwrap_or(50).min(1000);
    let start = number(query, "pageToken")?.unwrap_or(0);
    let page: Vec<&&str> = models.iter().skip(start).take(size.min(PAGE)).collect();
    let model = |id: &&&str| {
        let methods = if models.last() == Some(*id) { "embedContent" } else { "generateContent" };
        json!({ "name": format!("models/{id}"), "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536, "supportedGenerationMethods": [methods] })
    };
    let mut body = json!({ "models": page.iter().map(model).collect::<Vec<_>>() });
    if start + page.len() < models.len() {
        body["nextPageToken"] = json!((start + page.len()).to_string());
    }
    Ok(body)
}

/// Ollama API, "List Local Models".
fn ollama(query: &[(&str, &str)], models: &[&str]) -> ListAnswer {
    known(query, &[])?;
    let model = |name: &&str| json!({ "name": name, "model": name, "size": 1, "digest": "abc" });
    Ok(json!({ "models": models.iter().map(model).collect::<Vec<_>>() }))
}

fn require(request: &HttpRequest, header: &str, expected: &str) -> Result<(), (u16, String)> {
    match request.header(header) {
        Some(found) if found == expected => Ok(()),
        found => Err((401, format!("{header} is {found:?}"))),
    }
}

fn known(query: &[(&str, &str)], names: &[&str]) -> Result<(), (u16, String)> {
    match query.iter().find(|(name, _)| !names.contains(name)) {
        Some((name, _)) => Err((400, format!("unknown parameter {name}"))),
        None => Ok(()),
    }
}

fn value<'q>(query: &[(&str, &'q str)], name: &str) -> Option<&'q str> {
    query.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
}

fn number(query: &[(&str, &str)], name: &str) -> Result<Option<usize>, (u16, String)> {
    let parse = |text: &str| text.parse().map_err(|_| (400, format!("{name}: not a number")));
    value(query, name).map(parse).transpose()
}
