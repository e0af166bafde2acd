//! The status text of the service: one line with the channels and the queues.

use avocet_outbox::ChannelRegistry;
use avocet_protocol::channel::Health;
use avocet_protocol::daemon::LogStatus;
use avocet_text::Redactor;

use crate::daemon::running::RunningDaemon;
use crate::redaction;

/// Characters of a channel's error in the text.
const ERROR_CHARACTERS: usize = 100;

/// Describes the state of the daemon in one line.
pub(super) async fn daemon_summary(daemon: &RunningDaemon) -> String {
    let log = daemon.log_status().await.ok();
    let parts = [format!("ready; {} answers", daemon.reloader().model())].into_iter();
    let parts = parts.chain(failing_channels(daemon.channels(), &redaction::shared_redactor()));
    parts
        .chain(log.as_ref().map(queues_text))
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Describes each channel that is down.
fn failing_channels(channels: &ChannelRegistry, redactor: &Redactor) -> Vec<String> {
    let down = channels.all_channels().into_iter().filter_map(|channel| match channel.health() {
        Health::Up => None,
        Health::Down(why) => {
            let why: String =
                redactor.redact(&why).split_whitespace().collect::<Vec<_>>().join(" ");
            let why: String = why.chars().take(ERROR_CHARACTERS).collect();
            Some(format!("{}:{} is down: {why}", channel.name(), channel.account()))
        }
    });
    down.collect()
}

/// Names the numbers that are not zero; empty while all is done.
fn queues_text(log: &LogStatus) -> String {
    let counted = [
        (log.running, "running"),
        (log.queued, "queued"),
        (log.waiting, "waiting for a person or a task"),
        (log.pending, "to deliver"),
        (log.unconfirmed, "unconfirmed"),
        (log.dead, "failed"),
    ];
    let counted = counted.into_iter().filter(|(number, _)| *number > 0);
    counted.map(|(number, what)| format!("{number} {what}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_names_only_what_is_open() {
        let log =
            LogStatus { running: 2, pending: 3, sessions: 9, messages: 70, ..LogStatus::default() };
        assert_eq!(queues_text(&log), "2 running, 3 to deliver");
        assert_eq!(queues_text(&LogStatus { sessions: 9, ..LogStatus::default() }), "");
    }
}
