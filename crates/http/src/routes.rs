//! The routes, and the checks in front of them.

pub(crate) mod approvals;
pub(crate) mod config;
pub(crate) mod dead_letters;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod memories;
pub(crate) mod messages;
pub(crate) mod schedules;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod web;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, delete, get, post, put};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "mcp-server")]
use crate::caller::HttpCaller;
use crate::caller::{CheckedCaller, caller};
use crate::guard::RequestedHost;
use crate::hooks;
#[cfg(feature = "mcp-server")]
use crate::mcp::McpEndpoint;
use crate::openai::{chat, files as uploaded, models, responses, stored};
use crate::openapi;
use crate::problem::Problem;
use crate::sse::is_stream;
use crate::state::HttpState;
use crate::webhooks::{is_webhook, with_webhooks};

/// The paths that a program on this machine may read without a token.
const OPEN: [&str; 3] = ["/healthz", "/metrics", "/readyz"];

/// The beginning of the paths whose requests have a signature instead of a token.
const HOOKS: &str = "/hooks/";

/// The endpoint of the Model Context Protocol. The OpenAPI document leaves it out, since it has a
/// description of its own.
const MCP: &str = "/mcp";

/// The address of the client. The server puts it into each request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAddress(pub(crate) SocketAddr);

/// Every route of the API. A test compares the paths with the OpenAPI document.
pub(crate) fn routes() -> Vec<(&'static str, MethodRouter<Arc<HttpState>>)> {
    vec![
        ("/healthz", get(health::healthz)),
        ("/hooks/{name}", post(hooks::receive)),
        ("/metrics", get(health::metrics)),
        ("/openapi.json", get(openapi::document)),
        ("/readyz", get(health::readyz)),
        ("/v1/approvals", get(approvals::list)),
        ("/v1/approvals/{id}", post(approvals::decide)),
        ("/v1/chat/completions", post(chat::complete)),
        ("/v1/config", get(config::show).put(config::save)),
        ("/v1/config/check", post(config::check)),
        ("/v1/config/form", post(config::form)),
        ("/v1/dead-letters", get(dead_letters::list)),
        ("/v1/dead-letters/{id}", get(dead_letters::show).delete(dead_letters::discard)),
        ("/v1/dead-letters/{id}/retry", post(dead_letters::retry)),
        ("/v1/events", get(events::list)),
        ("/v1/events/stream", get(events::stream)),
        ("/v1/files", get(uploaded::list_files).post(files::upload)),
        ("/v1/files/{id}", get(uploaded::show_file).delete(uploaded::remove_file)),
        ("/v1/files/{id}/content", get(uploaded::read_content)),
        ("/v1/jobs", get(jobs::list).post(jobs::submit)),
        ("/v1/jobs/{id}", get(jobs::show)),
        ("/v1/jobs/{id}/cancel", post(jobs::cancel)),
        ("/v1/memories", get(memories::list).post(memories::add)),
        ("/v1/memories/{id}", get(memories::show).delete(memories::forget)),
        ("/v1/memory-changes", get(memories::changes)),
        ("/v1/memory-changes/{id}/undo", post(memories::undo)),
        ("/v1/messages", post(messages::publish)),
        ("/v1/messages/{id}", get(messages::show)),
        ("/v1/messages/{id}/trace", get(events::trace)),
        ("/v1/models", get(models::list)),
        ("/v1/models/{model}", get(models::show)),
        ("/v1/responses", post(responses::create)),
        ("/v1/responses/{id}", get(stored::show_response).delete(stored::remove_response)),
        ("/v1/schedules", get(schedules::list).post(schedules::add)),
        ("/v1/schedules/{id}", get(schedules::show).delete(schedules::remove)),
        ("/v1/schedules/{id}/pause", post(schedules::pause)),
        ("/v1/schedules/{id}/resume", post(schedules::resume)),
        ("/v1/schedules/{id}/run", post(schedules::run)),
        ("/v1/search", get(sessions::search)),
        ("/v1/sends", post(messages::send)),
        ("/v1/sessions", get(sessions::list)),
        (
            "/v1/sessions/{session}",
            delete(sessions::remove).get(sessions::show).patch(sessions::change),
        ),
        ("/v1/sessions/{session}/branches", post(sessions::branch)),
        ("/v1/sessions/{session}/sent", get(sessions::sent)),
        ("/v1/sessions/{session}/files/{turn}/{index}", get(files::of_reply)),
        ("/v1/sessions/{session}/options", get(sessions::options)),
        ("/v1/sessions/{session}/options/{option}", put(sessions::set_option)),
        ("/v1/sessions/{session}/received/{message}/{index}", get(files::of_message)),
        ("/v1/sessions/{session}/stream", get(sessions::stream)),
        ("/v1/status", get(status::status)),
        ("/v1/usage", get(status::usage)),
        (web::LOGIN, post(web::login)),
        ("/v1/web/browsers", get(web::list_browsers)),
        ("/v1/web/browsers/{id}", delete(web::sign_out)),
    ]
}

/// The page of the web console. The OpenAPI document leaves it out, since it is for browsers alone.
pub(crate) fn pages() -> Vec<(&'static str, MethodRouter<Arc<HttpState>>)> {
    vec![("/", get(web::page)), ("/assets/{name}", get(web::asset)), ("/icon.svg", get(web::icon))]
}

/// Returns the service behind a connection.
pub(crate) fn router(state: &Arc<HttpState>) -> Router {
    let routes = routes().into_iter().chain(pages());
    let router = routes.fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    with_webhooks(router, &state.access.webhooks)
        .route(MCP, mcp(state))
        .fallback(async || {
            Problem::not_found("there is no such path; see /openapi.json").for_all_clients()
        })
        .method_not_allowed_fallback(async || {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "urn:avocet:problem:method",
                "the path has other methods; the header Allow lists them",
            )
            .for_all_clients()
        })
        .layer(from_fn_with_state(state.clone(), admit))
        .with_state(state.clone())
}

/// The endpoint for clients of the Model Context Protocol.
#[cfg(feature = "mcp-server")]
fn mcp(state: &Arc<HttpState>) -> MethodRouter<Arc<HttpState>> {
    let endpoint = McpEndpoint::new(state);
    any(async |caller: HttpCaller, request: Request| endpoint.serve(caller, request).await)
}

#[cfg(not(feature = "mcp-server"))]
fn mcp(_: &Arc<HttpState>) -> MethodRouter<Arc<HttpState>> {
    any(async || {
        Problem::not_found("this program was built without mcp-server; install a package of Avocet")
            .for_all_clients()
    })
}

/// Passes a request on if its host, its origin and its token are right.
async fn admit(State(state): State<Arc<HttpState>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match check(&state, &parts) {
        Ok(checked) => {
            let (caller, end) = checked.map(|one| (one.caller, one.end)).unzip();
            parts.extensions.insert(caller);
            let response = next.run(Request::from_parts(parts, body)).await;
            match end.flatten().filter(|_| is_stream(&response)) {
                Some(end) => until(response, end),
                None => response,
            }
        }
        Err(problem) => {
            tracing::debug!(path = parts.uri.path(), problem = problem.detail, "refused");
            problem.for_all_clients().into_response()
        }
    }
}

/// Ends the body of a response when the token fires.
fn until(response: Response, end: CancellationToken) -> Response {
    response
        .map(|body| Body::from_stream(body.into_data_stream().take_until(end.cancelled_owned())))
}

/// Returns the caller; `None` for an open path.
fn check(state: &HttpState, request: &Parts) -> Result<Option<CheckedCaller>, Problem> {
    let host = state.access.guard.check(request)?;
    let client = request.extensions.get::<ClientAddress>();
    let is_local = host == RequestedHost::Loopback
        && client.is_some_and(|ClientAddress(address)| address.ip().is_loopback());
    if is_local && OPEN.contains(&request.uri.path()) {
        return Ok(None);
    }
    let path = request.uri.path();
    let has_other_proof = path.starts_with(HOOKS) || is_webhook(path, &state.access.webhooks);
    if has_other_proof || path == web::LOGIN || web::is_page(path) {
        return Ok(None);
    }
    caller(request, &state.access.tokens, &state.access.console).map(Some)
}
