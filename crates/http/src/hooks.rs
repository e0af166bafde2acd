//! Incoming webhooks: a signed JSON body becomes a message of a conversation. Its text is untrusted,
//! as that of a forwarded message.

mod plan;
mod template;

pub use plan::{HookConfig, HookPlan, hook_plans};

use std::sync::Arc;

use avocet_protocol::chat::{Content, Inbound, Sender};
use avocet_protocol::ids::{DedupeKey, MessageId};
use avocet_protocol::model::decode_json;
use avocet_protocol::store::AcceptedAs;
use avocet_text::plain_json;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

use crate::input::{PathPart, WholeBody};
use crate::problem::Problem;
use crate::state::HttpState;

/// The header with the kind of an event, at GitHub and servers like it.
const EVENT: &str = "x-github-event";

/// The message of a webhook, in the log.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AcceptedWebhook {
    /// The number of the message.
    #[cfg_attr(test, schema(value_type = String, example = "m1"))]
    id: MessageId,
    /// `true` if the message is a repetition.
    duplicate: bool,
}

// The body stays a plain object: each sender of webhooks has fields of its own.
/// Accept a signed webhook of `[hooks.NAME]`. The response comes after the commit.
#[cfg_attr(test, utoipa::path(
    post, path = "/hooks/{name}", tag = "hooks", request_body = Object, security(()),
    params(("name" = String, Path, description = "The name of the table")),
    responses(
        (status = 202, description = "The message is in the log", body = AcceptedWebhook),
        (status = 200, description = "A repetition: the message was accepted before", body = AcceptedWebhook),
        (status = 204, description = "The hook does not want events of this kind"),
        Problem,
    ),
))]
pub(crate) async fn receive(
    State(state): State<Arc<HttpState>>,
    PathPart(name): PathPart<String>,
    headers: HeaderMap,
    WholeBody(body): WholeBody,
) -> Result<Response, Problem> {
    // An unknown hook is refused as a wrong signature is, so that names cannot be found out.
    let refused = || Problem::unauthorized("there is no such hook, or its signature is wrong");
    let hook = state.access.hooks.iter().find(|hook| hook.name == name).ok_or_else(refused)?;
    let signature = headers.get(&hook.signature).and_then(|value| value.to_str().ok());
    if !signature.is_some_and(|signature| hook.is_signed(&body, signature)) {
        return Err(refused());
    }
    let event = headers.get(EVENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !hook.events.is_empty() && !hook.events.iter().any(|wanted| wanted == event) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let value: Value =
        decode_json(&body).map_err(|error| Problem::bad_request(plain_json(&error)))?;
    let key = headers.get(&hook.delivery).and_then(|value| value.to_str().ok());
    let message = message(hook, hook.text.render(&value), key)?;
    publish(&state, message).await
}

fn message(hook: &HookPlan, text: String, key: Option<&str>) -> Result<Inbound, Problem> {
    let key = key.map_or_else(|| uuid::Uuid::new_v4().to_string(), |key| format!("hook {key}"));
    let key = DedupeKey::parse(&key).map_err(|error| Problem::bad_request(error.to_string()))?;
    let from = format!("webhook {}", hook.name);
    let sender = Sender { name: Some(from.clone()), ..Sender::new(hook.sender.clone()) };
    let content = Content { forwarded_from: Some(from), ..Content::text(text) };
    Ok(Inbound::new(hook.session.address(), sender, key, content))
}

/// Publishes a message. Runs to its end even if the client disconnects.
async fn publish(state: &Arc<HttpState>, message: Inbound) -> Result<Response, Problem> {
    let publishing = state.parts.publish.clone();
    let accepted = state
        .complete("hook", async move { publishing.publish(message, None).await })
        .await?
        .map_err(|error| avocet_gateway::refusal(&error))?;
    let duplicate = accepted.what == AcceptedAs::Duplicate;
    let status = if duplicate { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(AcceptedWebhook { id: accepted.id, duplicate })).into_response())
}
