//! What a model is told about the moment: the time and the chat. It stands behind the messages that a
//! turn answers, and is the same in every request that carries them.

use avocet_protocol::{ChatKind, MOMENT, Origin, Timestamp, TurnRecord};
use jiff::tz::TimeZone;

use crate::history::shown_name;

/// The note of a turn, in this time zone.
pub(crate) fn note(turn: &TurnRecord, zone: &TimeZone) -> String {
    let time = time(turn.started_at, zone);
    match &turn.origin {
        Origin::Messages(messages) => match messages.last() {
            Some(message) => {
                let inbound = &message.message.inbound;
                let with = match (&inbound.sender.name, inbound.chat) {
                    (_, ChatKind::Group) => "a group".to_owned(),
                    (Some(name), ChatKind::Private) => {
                        format!("private, with {}", shown_name(name))
                    }
                    (None, ChatKind::Private) => "private".to_owned(),
                };
                let channel = &inbound.address.channel;
                format!("{MOMENT}{time}. This chat: {channel}, {with}.]")
            }
            None => format!("{MOMENT}{time}.]"),
        },
        Origin::Child { .. } => format!(
            "{MOMENT}{time}. Nobody reads along: your answer goes to \
             the agent that gave you this errand.]"
        ),
    }
}

fn time(at: Timestamp, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime("%A, %-d %B %Y, %H:%M %Z").to_string()
}
