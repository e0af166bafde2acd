//! The endpoints of channels, at `/CHANNEL/ACCOUNT`: a platform posts updates, with a header instead
//! of a token. They are not a part of the OpenAPI document, because no client uses them.

use std::sync::Arc;

use avocet_protocol::channel::{ChannelWebhook, WebhookError};
use axum::Router;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use axum::routing::post;

use crate::input::{PathPart, WholeBody};
use crate::problem::Problem;
use crate::state::HttpState;

/// Adds a route for each channel that has an endpoint.
pub(crate) fn with_webhooks(
    router: Router<Arc<HttpState>>,
    webhooks: &[ChannelWebhook],
) -> Router<Arc<HttpState>> {
    let mut channels: Vec<&str> = webhooks.iter().map(|one| one.channel.as_str()).collect();
    channels.sort_unstable();
    channels.dedup();
    channels.into_iter().fold(router, |router, channel| {
        let name = channel.to_owned();
        let receive = async move |State(state), PathPart(account): PathPart<String>, request| {
            receive(state, &name, &account, request).await
        };
        router.route(&format!("/{channel}/{{account}}"), post(receive))
    })
}

/// Returns `true` if a path is that of an endpoint, which checks its requests itself.
pub(crate) fn is_webhook(path: &str, webhooks: &[ChannelWebhook]) -> bool {
    let channel = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    channel.is_some_and(|(channel, _)| webhooks.iter().any(|one| one.channel.as_str() == channel))
}

/// Takes an update. The response comes after the commit.
async fn receive(
    state: Arc<HttpState>,
    channel: &str,
    account: &str,
    request: Request,
) -> Result<StatusCode, Problem> {
    // An unknown account gets the same answer as a wrong secret, so that strangers cannot discover
    // accounts.
    let refused =
        || Problem::unauthorized("the account is unknown, or the header with its secret is wrong");
    let is_it =
        |one: &&ChannelWebhook| (one.channel.as_str(), one.account.as_str()) == (channel, account);
    let webhook = state.access.webhooks.iter().find(is_it).ok_or_else(refused)?;
    let mut values = request.headers().get_all(webhook.endpoint.header()).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(refused()) };
    if !webhook.endpoint.is_genuine(value.as_bytes()) {
        return Err(refused());
    }
    let WholeBody(body) = WholeBody::from_request(request, &state).await?;
    match webhook.endpoint.receive(&body).await {
        Ok(()) => Ok(StatusCode::OK),
        Err(WebhookError::Malformed(why)) => Err(Problem::bad_request(why)),
        Err(WebhookError::Unavailable(why)) => Err(Problem::unavailable(why)),
    }
}
