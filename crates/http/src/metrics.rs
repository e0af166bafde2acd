//! Metrics in the text format of Prometheus (prometheus.io, "Exposition formats"), made from the
//! status report.

use std::fmt::{self, Display, Write};

use avocet_protocol::{DaemonStatus, UsageRow};

/// The media type of version 0.0.4 of the format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns all metrics.
pub(crate) fn text(status: &DaemonStatus, usage: &[UsageRow]) -> String {
    let mut page = MetricsPage::default();
    // Writing to a string never fails.
    let written = write_status(&mut page, status).and_then(|()| write_usage(&mut page, usage));
    debug_assert!(written.is_ok());
    page.text
}

#[derive(Default)]
struct MetricsPage {
    text: String,
}

impl MetricsPage {
    fn family(&mut self, name: &str, kind: &str, help: &str) -> fmt::Result {
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}")
    }

    /// Writes a metric without labels.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) -> fmt::Result {
        self.family(name, kind, help)?;
        writeln!(self.text, "{name} {value}")
    }

    /// Writes a metric with one label.
    fn each<L: AsRef<str>, V: Display>(
        &mut self,
        [name, kind, help]: [&str; 3],
        label: &str,
        rows: impl IntoIterator<Item = (L, V)>,
    ) -> fmt::Result {
        self.family(name, kind, help)?;
        for (of, value) in rows {
            writeln!(self.text, "{name}{{{label}=\"{}\"}} {value}", escaped(of.as_ref()))?;
        }
        Ok(())
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn write_status(page: &mut MetricsPage, status: &DaemonStatus) -> fmt::Result {
    let log = &status.log;
    page.each(
        ["avocet_info", "gauge", "The version of the daemon."],
        "version",
        [(&status.version, 1)],
    )?;
    let uptime = status.uptime_seconds;
    page.one("avocet_uptime_seconds", "gauge", "Seconds since the start.", uptime)?;
    page.one("avocet_epoch", "gauge", "Number of starts on this log.", log.epoch)?;
    page.one("avocet_sessions", "gauge", "Conversations in the log.", log.sessions)?;
    page.one("avocet_messages", "gauge", "Accepted messages in the log.", log.messages)?;
    page.one("avocet_messages_queued", "gauge", "Messages that wait for a turn.", log.queued)?;
    page.each(
        ["avocet_turns", "gauge", "Open turns by state."],
        "state",
        [("running", log.running), ("waiting", log.waiting)],
    )?;
    page.each(
        ["avocet_deliveries", "gauge", "Deliveries by state."],
        "state",
        [("pending", log.pending), ("unconfirmed", log.unconfirmed), ("dead", log.dead)],
    )?;
    let stuck = log.stuck.len();
    page.one("avocet_chats_stuck", "gauge", "Chats whose next delivery fails, at most 20.", stuck)?;
    page.one("avocet_schedules", "gauge", "Active schedules.", log.schedules)?;
    page.family("avocet_updates_ignored", "gauge", "Updates that were not for the agent.")?;
    for ignored in &log.ignored {
        let (account, reason) = (escaped(&ignored.account), escaped(&ignored.reason));
        let count = ignored.count;
        let name = "avocet_updates_ignored";
        writeln!(page.text, "{name}{{account=\"{account}\",reason=\"{reason}\"}} {count}")?;
    }
    let up = |fault: &Option<String>| u8::from(fault.is_none());
    let channels = status.channels.iter().map(|one| (&one.account, up(&one.fault)));
    page.each(["avocet_channel_up", "gauge", "1 if the channel works."], "account", channels)?;
    let providers = status.providers.iter().map(|one| (&one.provider, up(&one.fault)));
    page.each(["avocet_provider_up", "gauge", "1 if the provider works."], "provider", providers)?;
    page.one("avocet_disk_up", "gauge", "1 if the log can be written.", up(&status.disk.fault))?;
    if let Some(free) = status.disk.free_bytes {
        page.one("avocet_disk_free_bytes", "gauge", "Bytes that can still be written.", free)?;
    }
    Ok(())
}

/// Writes the totals of all models. Retention may shorten them, so they are gauges.
fn write_usage(page: &mut MetricsPage, usage: &[UsageRow]) -> fmt::Result {
    let answers = usage.iter().map(|row| (&row.of, row.answers));
    page.each(["avocet_model_answers", "gauge", "Answers of the model."], "model", answers)?;
    page.family("avocet_model_tokens", "gauge", "Tokens by model and kind.")?;
    for row in usage {
        let (model, tokens) = (escaped(&row.of), row.total.usage);
        let kinds = [("input", tokens.input), ("output", tokens.output), ("cached", tokens.cached)];
        for (kind, count) in kinds {
            let name = "avocet_model_tokens";
            writeln!(page.text, "{name}{{model=\"{model}\",kind=\"{kind}\"}} {count}")?;
        }
    }
    let costs = usage.iter().map(|row| (&row.of, row.total.cost.in_dollars()));
    let help = "Cost of the tokens with a known price, in US dollars.";
    page.each(["avocet_model_cost_dollars", "gauge", help], "model", costs)?;
    let unpriced = usage.iter().map(|row| (&row.of, row.total.unpriced));
    let help = "Tokens whose price is unknown.";
    page.each(["avocet_model_unpriced_tokens", "gauge", help], "model", unpriced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_label_stays_on_one_line() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }
}
