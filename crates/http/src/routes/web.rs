//! The web console: its page, which needs no token, and the exchange of a code for a token.

use std::borrow::Cow;
use std::sync::Arc;

use avocet_gateway::{ListBrowsers, SignOutWeb};
use avocet_protocol::channel::WebAsset;
use avocet_text::in_hexadecimal;
use axum::Json;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, USER_AGENT, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::caller::HttpCaller;
use crate::console::ConsoleToken;
use crate::input::{JsonBody, PathPart};
use crate::problem::Problem;
use crate::state::HttpState;

/// The path of [`login`].
pub(crate) const LOGIN: &str = "/v1/web/login";
/// The path of the built files.
const ASSETS: &str = "/assets/";

/// The page may load its own files and call this server, and nothing else. No other page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; \
    media-src blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The headers of the page and its files.
const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A file with the hash of its content in its name never changes.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// The browser asks each time if its copy is still the present one.
const ASK_FIRST: &str = "no-cache";

/// Returns `true` for the paths of the page, which browsers load without a token.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/" || path == "/icon.svg" || path.starts_with(ASSETS)
}

/// Shows the page.
pub(crate) async fn page(State(state): State<Arc<HttpState>>, headers: HeaderMap) -> Response {
    file(&state, "index.html", ASK_FIRST, &headers)
}

/// Shows the icon.
pub(crate) async fn icon(State(state): State<Arc<HttpState>>, headers: HeaderMap) -> Response {
    file(&state, "icon.svg", ASK_FIRST, &headers)
}

/// Shows a built file of the page.
pub(crate) async fn asset(
    State(state): State<Arc<HttpState>>,
    PathPart(name): PathPart<String>,
    headers: HeaderMap,
) -> Response {
    file(&state, &format!("assets/{name}"), FOREVER, &headers)
}

fn file(state: &HttpState, path: &str, caching: &'static str, request: &HeaderMap) -> Response {
    let assets = state.access.console.assets();
    let found = assets.iter().find(|asset| asset.path == path);
    let mut response = match found {
        Some(asset) => content(asset, caching, request),
        None => Problem::not_found("the console has no such file").into_response(),
    };
    let headers = HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
    response
}

/// Returns the file in the form that the browser takes. Each form has a tag of its own.
fn content(asset: &WebAsset, caching: &'static str, request: &HeaderMap) -> Response {
    let is_gzip = asset.is_gzipped && takes_gzip(request);
    let bytes = if asset.is_gzipped && !is_gzip {
        inflated(asset.bytes).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(asset.bytes))
    };
    let Some(bytes) = bytes else {
        return Problem::unavailable("the file is damaged".to_owned()).into_response();
    };
    let tag = format!("\"{}\"", in_hexadecimal(&Sha256::digest(&bytes)[..16]));
    let known = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|tags| tags.split(',')).any(|known| known.trim() == tag);
    let headers =
        [(CACHE_CONTROL, caching.to_owned()), (ETAG, tag), (VARY, "Accept-Encoding".to_owned())];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let mut response = (headers, [(CONTENT_TYPE, asset.media_type)], bytes).into_response();
    if is_gzip {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns `true` if the request accepts gzip (RFC 9110, section 12.5.3).
fn takes_gzip(request: &HeaderMap) -> bool {
    let codings = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    codings.flat_map(|list| list.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            weight.is_some_and(|weight| weight <= 0.0)
        });
        is_gzip && !is_refused
    })
}

/// Returns the bytes of a file of gzip with the shortest header; `None` if it is damaged.
fn inflated(file: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 10;
    const SUM_AND_LENGTH: usize = 8;
    let deflated = file.get(HEADER..file.len().checked_sub(SUM_AND_LENGTH)?)?;
    miniz_oxide::inflate::decompress_to_vec(deflated).ok()
}

/// A code of `avocet web`.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WebLogin {
    /// The part of the link behind `#code=`.
    code: String,
}

/// A token of the web console.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct WebSession {
    /// The token for the header Authorization.
    token: String,
    /// The id of the browser in the list of browsers.
    browser: String,
    /// The sender of the messages that are sent with it.
    sender: String,
    /// Its end, in milliseconds since 1970.
    expires_at: i64,
}

/// Exchange a code of `avocet web` for a token. A code works once, for ten minutes.
#[cfg_attr(test, utoipa::path(
    post, path = "/v1/web/login", tag = "web console", request_body = WebLogin, security(()),
    responses((status = 200, description = "The token, which has the rights of an operator", body = WebSession), Problem),
))]
pub(crate) async fn login(
    State(state): State<Arc<HttpState>>,
    headers: HeaderMap,
    JsonBody(WebLogin { code }): JsonBody<WebLogin>,
) -> Result<Response, Problem> {
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let redeemed = state.access.console.redeem_code(&code, agent).await.ok_or_else(|| {
        Problem::unauthorized(
            "the code is unknown, used or older than 10 minutes; run `avocet web` again",
        )
    })?;
    let ConsoleToken { token, browser, sender, expires_at } = redeemed;
    let sender = sender.as_str().to_owned();
    let session = WebSession { token, browser, sender, expires_at: expires_at.0 };
    Ok(([(CACHE_CONTROL, "no-store")], Json(session)).into_response())
}

/// List the browsers that are signed in, the last sign-in first.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/web/browsers", tag = "web console",
    responses((status = 200, description = "The browsers"), Problem),
))]
pub(crate) async fn list_browsers(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
) -> Result<Json<Value>, Problem> {
    state.call::<ListBrowsers>(&caller, json!({})).await.map(Json)
}

/// Sign out a browser.
#[cfg_attr(test, utoipa::path(
    delete, path = "/v1/web/browsers/{id}", tag = "web console",
    params(("id" = String, Path, pattern = "^[0-9a-f]{8}$", description = "The id in the list of browsers")),
    responses((status = 204, description = "Its token is no longer valid"), Problem),
))]
pub(crate) async fn sign_out(
    State(state): State<Arc<HttpState>>,
    caller: HttpCaller,
    PathPart(id): PathPart<String>,
) -> Result<StatusCode, Problem> {
    state.call::<SignOutWeb>(&caller, json!({ "browser": id })).await?;
    Ok(StatusCode::NO_CONTENT)
}
