//! Checks that the bot can work, by one request that changes nothing.

use std::time::Duration;

use avocet_protocol::clock::within;
use avocet_protocol::daemon::Check;
use serde_json::Value;

use crate::Discord;
use crate::fault::RestError;
use crate::routes::Route;

/// Timeout of the request.
const LIMIT: Duration = Duration::from_secs(8);
/// Flags that allow the intent, in full or for a bot in few servers (Discord API, "Application
/// Flags").
const MESSAGE_CONTENT: u64 = 1 << 18 | 1 << 19;

impl Discord {
    /// Checks the token, and the permission that the operator has to give.
    pub(crate) async fn check_access(&self) -> Vec<Check> {
        let name = format!("{}:{}", self.name, self.account);
        let request = self.rest.get::<Value>(Route::Oauth2ApplicationCurrent);
        let fault = match within(self.clock.as_ref(), LIMIT, request).await {
            Ok(Ok(application)) => return self.application_checks(&name, &application),
            Ok(Err(fault)) => fault,
            Err(_) => RestError::Broken("no answer in time"),
        };
        vec![match fault {
            fault if fault.is_about_token() => Check::bad(
                name,
                format!("Discord does not know the token{}", self.describe_next_try()),
                format!(
                    "get the right one from the developer portal (your application, Bot, Reset Token), put \
                     it into [channels.{}]",
                    self.name
                ),
            ),
            RestError::Wait(wait) => {
                let says = format!("Discord asks to wait for {} s", wait.as_secs());
                Check::fair(name, says, "try again later")
            }
            fault => {
                let fix = match (self.rest.has_proxy, self.rest.is_official()) {
                    (true, true) => "check proxy and the network",
                    (true, false) => "check proxy, api_url and the network",
                    (false, true) => "check the network",
                    (false, false) => "check api_url and the network",
                };
                Check::bad(name, format!("{}: {fault}", self.rest.host()), fix)
            }
        }]
    }

    /// Says when the running bot asks again, if Discord refuses it.
    fn describe_next_try(&self) -> String {
        let next_try = self.health.refusals.describe_next_try();
        next_try.map(|next_try| format!(" ({next_try})")).unwrap_or_default()
    }

    fn application_checks(&self, name: &str, application: &Value) -> Vec<Check> {
        let bot = application["name"].as_str().unwrap_or_default();
        let mut found = vec![Check::good(name, format!("the token is that of {bot}"))];
        let flags = application["flags"].as_u64().unwrap_or(0);
        if self.settings.message_content && flags & MESSAGE_CONTENT == 0 {
            found.push(Check::bad(
                name,
                format!(
                    "Discord does not let the bot read messages, and closes its connection (4014){}",
                    self.describe_next_try()
                ),
                "switch on \"Message Content Intent\" in the developer portal (your application, Bot), or set \
                 message_content = false",
            ));
        }
        found
    }
}
