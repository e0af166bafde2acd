//! The webhook of the bot: the checks of `setWebhook`, and the delivery of updates in order. An
//! update is repeated until the daemon answers with a 2xx.

use std::io;
use std::net::SocketAddr;
use std::sync::Weak;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bot::{BotState, SharedBot};
use super::set_webhook::{FOREIGN, SetWebhook};
use super::wire::{ApiError, MethodCall};

/// The pause between two attempts. The real platform waits longer.
const RETRY: Duration = Duration::from_millis(20);

/// The methods about webhooks.
impl BotState {
    pub(super) fn set_webhook(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        if call.text("url").is_empty() {
            return Ok(self.delete_webhook(call));
        }
        let webhook = SetWebhook::read(call)?;
        if let Some(Value::Array(kinds)) = call.json("allowed_updates")? {
            self.updates.allow(&kinds);
        }
        if call.flag("drop_pending_updates") {
            self.updates.clear();
        }
        self.webhook = Some(webhook);
        let why = "Conflict: terminated by setWebhook request";
        self.end_poll(ApiError::new(409, why).pieces());
        Ok(Value::Bool(true))
    }

    pub(super) fn delete_webhook(&mut self, call: &MethodCall) -> Value {
        self.webhook = None;
        if call.flag("drop_pending_updates") {
            self.updates.clear();
        }
        Value::Bool(true)
    }

    pub(super) fn webhook_info(&self) -> Value {
        let waiting = self.updates.waiting().len();
        let mut info = json!({
            "url": "", "has_custom_certificate": false, "pending_update_count": waiting });
        if let Some(webhook) = &self.webhook {
            info["url"] = webhook.url().into();
            info["max_connections"] = webhook.connections.into();
            if let Some((date, message)) = &webhook.last_error {
                info["last_error_date"] = (*date).into();
                info["last_error_message"] = message.as_str().into();
            }
        }
        info
    }

    /// Returns the oldest update, with its id and its webhook, if it can be delivered.
    fn due(&mut self) -> Option<Due> {
        let webhook = self.webhook.clone().filter(|webhook| webhook.host != FOREIGN)?;
        let server = self.webhook_server?;
        let (id, update) = self.updates.first(self.now)?;
        let body = self.odd_bytes.write(&update.to_string());
        Some(Due { webhook, server, id, body })
    }

    /// Records the result of a delivery. Returns `true` if the update is delivered.
    fn delivered(&mut self, due: &Due, result: Result<u16, String>) -> bool {
        let error = match result {
            Ok(200..300) => {
                self.updates.remove(due.id);
                return true;
            }
            Ok(status) => format!("Wrong response from the webhook: {status}"),
            Err(error) => error,
        };
        let date = self.date();
        // The webhook may have been set again meanwhile.
        if let Some(webhook) = self.webhook.as_mut().filter(|set| set.url() == due.webhook.url()) {
            webhook.last_error = Some((date, error));
        }
        false
    }
}

/// An update to deliver.
struct Due {
    webhook: SetWebhook,
    server: SocketAddr,
    id: i64,
    body: Vec<u8>,
}

/// Delivers updates one by one until the fake is dropped.
pub(super) async fn deliver(shared: Weak<SharedBot>) {
    while let Some(bot) = shared.upgrade() {
        let mut changed = bot.changed.subscribe();
        let due = bot.lock().due();
        drop(bot);
        let Some(due) = due else {
            if changed.changed().await.is_err() {
                return;
            }
            continue;
        };
        let result = post(due.server, &due.webhook.request(&due.body)).await;
        let Some(bot) = shared.upgrade() else { return };
        let is_delivered = bot.change(|bot| bot.delivered(&due, result));
        drop(bot);
        if !is_delivered {
            pause().await;
        }
    }
}

/// Sends a request and returns the status of the answer.
async fn post(server: SocketAddr, request: &[u8]) -> Result<u16, String> {
    let exchange = async {
        let mut stream = TcpStream::connect(server).await?;
        stream.write_all(request).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(answer)
    };
    let answer: io::Result<Vec<u8>> = exchange.await;
    let answer = answer.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => "Connection refused".to_owned(),
        _ => "Connection reset by peer".to_owned(),
    })?;
    let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let status = String::from_utf8_lossy(line).split(' ').nth(1).and_then(|text| text.parse().ok());
    status.ok_or_else(|| "Connection closed".to_owned())
}

#[expect(clippy::disallowed_methods, reason = "a platform waits before it repeats an update")]
async fn pause() {
    tokio::time::sleep(RETRY).await;
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
