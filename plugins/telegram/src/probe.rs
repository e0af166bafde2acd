//! Checks that the bot can work, by two requests that change nothing.

use std::time::Duration;

use avocet_protocol::clock::within;
use avocet_protocol::daemon::Check;
use serde_json::Value;
use teloxide::payloads::{GetMe, GetWebhookInfo};

use crate::fault::BotApiError;
use crate::{Telegram, webhook};

/// The timeout of both requests together.
const LIMIT: Duration = Duration::from_secs(8);

impl Telegram {
    /// Checks the token, and looks for a webhook, which would take all updates.
    pub(crate) async fn run_checks(&self) -> Vec<Check> {
        let name = format!("{}:{}", self.name, self.account);
        let found = within(self.clock.as_ref(), LIMIT, self.check_both(&name)).await;
        let late = || {
            let host = self.api.host().unwrap_or_default();
            let says = format!("no answer from {host} within {} s", LIMIT.as_secs());
            vec![Check::bad(&name, says, self.way())]
        };
        found.unwrap_or_else(|_| late())
    }

    /// Names the parts between the daemon and the Bot API.
    fn way(&self) -> &'static str {
        match (self.has_proxy, self.api.is_official()) {
            (true, true) => "check proxy and the network",
            (true, false) => "check proxy, api_url and the network",
            (false, true) => "check the network",
            (false, false) => "check api_url and the network",
        }
    }

    async fn check_both(&self, name: &str) -> Vec<Check> {
        let (me, webhook) = futures_util::join!(
            self.api.call::<Value, _>(GetMe::new()),
            self.api.call::<Value, _>(GetWebhookInfo::new()),
        );
        let me = match me {
            Ok(me) => me,
            Err(fault) => return vec![self.problem(name, &fault)],
        };
        let user = me["username"].as_str().unwrap_or_default();
        let mut found = vec![Check::good(name, format!("the token is that of @{user}"))];
        if me["can_read_all_group_messages"] == false && !self.unmentioned.is_empty() {
            found.push(Check::fair(
                name,
                "in groups it sees only commands, mentions and replies, but the configuration \
                    wants it to answer other messages too",
                "turn privacy mode off: @BotFather, /setprivacy; then remove the bot from the \
                    group and add it again",
            ));
        }
        match webhook {
            Ok(info) => found.extend(self.webhook_check(name, &info)),
            Err(fault) => found.push(self.problem(name, &fault)),
        }
        found
    }

    /// Checks the webhook of the bot. Another webhook than ours receives all updates instead of the
    /// daemon (Bot API, "getUpdates").
    fn webhook_check(&self, name: &str, info: &Value) -> Option<Check> {
        let url = info["url"].as_str().unwrap_or_default();
        let host = webhook::host(url);
        let Some(endpoint) = &self.webhook else {
            let says =
                format!("a webhook at {host} receives its messages, so they do not arrive here");
            let api_url = self.api.bot().api_url();
            let fix = format!(
                "restart the daemon, which deletes it, or: curl \
                 {api_url}bot$TELEGRAM_TOKEN/deleteWebhook"
            );
            return (!url.is_empty()).then(|| Check::bad(name, says, fix));
        };
        let own = webhook::host(endpoint.url());
        if url != endpoint.url() {
            let says = match url {
                "" => "Telegram has no webhook for this bot".to_owned(),
                _ => format!("the webhook of this bot is another one, at {host}"),
            };
            let fix = format!("start the daemon, which sets the webhook at {own}");
            return Some(Check::fair(name, says, fix));
        }
        let waiting = info["pending_update_count"].as_u64().unwrap_or_default();
        Some(match info["last_error_message"].as_str() {
            Some(error) if waiting > 0 => Check::bad(
                name,
                format!("Telegram cannot deliver to {own}: {error}; {waiting} updates wait"),
                "check the server with TLS in front, and that it passes requests to [http] listen",
            ),
            _ => Check::good(name, format!("Telegram posts to {own}; {waiting} updates wait")),
        })
    }

    /// Explains a failed request, with advice.
    fn problem(&self, name: &str, fault: &BotApiError) -> Check {
        match fault {
            BotApiError::NotSent(_) | BotApiError::Broken(_) => {
                let host = self.api.host().unwrap_or_default();
                let says = format!("there is no connection to the Bot API at {host}");
                Check::bad(name, says, self.way())
            }
            fault if fault.has_code(401) => Check::bad(
                name,
                "Telegram does not know the token",
                format!(
                    "get the right one from @BotFather (/mybots), put it into [channels.{}]",
                    self.name
                ),
            ),
            fault if fault.has_code(404) => Check::bad(
                name,
                "Not Found: this is not the Bot API, or the token is incomplete",
                "check api_url and token",
            ),
            fault => Check::bad(name, format!("Telegram says: {fault}"), "try again later"),
        }
    }
}
