//! Checks that the bot can work, by two requests that change nothing.

use std::time::Duration;

use avocet_protocol::{Check, within};
use serde_json::Value;
use teloxide::payloads::{GetMe, GetWebhookInfo};

use crate::Telegram;
use crate::fault::BotApiError;

/// The timeout of both requests together.
const LIMIT: Duration = Duration::from_secs(8);

impl Telegram {
    /// Checks the token, and looks for a webhook, which would take all updates.
    pub(crate) async fn run_checks(&self) -> Vec<Check> {
        let name = format!("{}:{}", self.name, self.account);
        let found = within(self.clock.as_ref(), LIMIT, self.check_both(&name)).await;
        let late = || {
            let says = format!("no answer within {} s", LIMIT.as_secs());
            vec![Check::bad(&name, says, "check api_url and the network")]
        };
        found.unwrap_or_else(|_| late())
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
            Ok(info) => found.extend(webhook_check(name, &info, self.api.bot().api_url().as_str())),
            Err(fault) => found.push(self.problem(name, &fault)),
        }
        found
    }

    /// Explains a failed request, with advice.
    fn problem(&self, name: &str, fault: &BotApiError) -> Check {
        match fault {
            BotApiError::NotSent(_) | BotApiError::Broken(_) => Check::bad(
                name,
                "there is no connection to the Bot API",
                "check api_url and the network",
            ),
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

/// A webhook receives all updates instead of us (Bot API, "getUpdates").
fn webhook_check(name: &str, info: &Value, api_url: &str) -> Option<Check> {
    let url = info["url"].as_str().filter(|url| !url.is_empty())?;
    let host = url.split('/').nth(2).unwrap_or_default();
    let says = format!("a webhook at {host} receives its messages, so they do not arrive here");
    let fix = format!("delete it: curl {api_url}bot$TELEGRAM_TOKEN/deleteWebhook");
    Some(Check::bad(name, says, fix))
}
