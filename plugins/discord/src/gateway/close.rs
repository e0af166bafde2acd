//! The meaning of close codes (Discord API, "Gateway Close Event Codes").

use serenity::constants::close_codes;

use super::ConnectionLoss;
use crate::Discord;

/// The gateway's API version is not supported. serenity lacks a name for this code.
const INVALID_VERSION: u16 = 4012;

/// Returns the consequence of a close, with its code if there was one.
pub(super) fn lost(discord: &Discord, code: Option<u16>) -> ConnectionLoss {
    let Some(code) = code else {
        return ConnectionLoss::Resumable(
            "the connection was closed without a close code".to_owned(),
        );
    };
    let why = format!("the gateway closed the connection ({code})");
    match code {
        close_codes::AUTHENTICATION_FAILED => ConnectionLoss::Refused(discord.unknown_token()),
        close_codes::INVALID_SHARD => fatal(code, "rejects the shard; update Avocet"),
        close_codes::SHARDING_REQUIRED => ConnectionLoss::Refused(format!(
            "Discord requires sharding for a bot in so many servers, which Avocet does not support; \
                remove the bot from some servers (close code {code})"
        )),
        INVALID_VERSION => {
            fatal(code, "no longer speaks this version of the gateway; update Avocet")
        }
        close_codes::INVALID_GATEWAY_INTENTS => fatal(code, "rejects the intents; update Avocet"),
        close_codes::DISALLOWED_GATEWAY_INTENTS => ConnectionLoss::Refused(no_content(discord)),
        close_codes::NOT_AUTHENTICATED
        | close_codes::INVALID_SEQUENCE
        | close_codes::SESSION_TIMEOUT => ConnectionLoss::Over(why),
        _ => ConnectionLoss::Resumable(why),
    }
}

fn fatal(code: u16, what: &str) -> ConnectionLoss {
    ConnectionLoss::Fatal(format!("Discord {what} (close code {code})"))
}

fn no_content(discord: &Discord) -> String {
    format!(
        "Discord does not let the bot of {} read messages (close code {}): switch on \"Message \
         Content Intent\" in the developer portal (your application, Bot), or set message_content \
         = false",
        discord.config_table(),
        close_codes::DISALLOWED_GATEWAY_INTENTS
    )
}
