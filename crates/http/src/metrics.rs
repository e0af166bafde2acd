//! Metrics in the text format of Prometheus (prometheus.io, "Exposition formats"), made from the
//! status report and from the events since the start.

use std::fmt::{self, Display, Write};

use avocet_protocol::daemon::{
    DaemonStatus, EventMeter, METRIC_FAMILIES, MetricFamily, MetricForm, MetricLabels, MetricValue,
};
use avocet_protocol::store::{EventFilter, EventLog, EventSeq, StoreError};

/// The media type of version 0.0.4 of the format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Events that are read at once.
const PAGE: u32 = 500;

/// Meters the events of the log. It reads them when somebody asks, so that an unused page costs nothing.
#[derive(Debug)]
pub(crate) struct MeteredLog {
    pub(crate) meter: EventMeter,
    /// The last metered event.
    pub(crate) at: EventSeq,
}

impl MeteredLog {
    /// Meters the events since the last call.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read; the events before the error are metered.
    pub(crate) async fn catch_up(&mut self, log: &dyn EventLog) -> Result<(), StoreError> {
        let filter = EventFilter { session: None, kinds: EventMeter::KINDS.to_vec() };
        let newest = *log.newest_event().borrow();
        while self.at < newest {
            let page = log.events(self.at, &filter, PAGE).await?;
            for event in page.events {
                let history = if EventMeter::is_timed(event.kind) {
                    log.event_history(&event).await?
                } else {
                    None
                };
                self.meter.add_event(&event, history.as_ref());
                self.at = event.seq;
            }
            if page.next <= self.at {
                break;
            }
            self.at = page.next;
        }
        Ok(())
    }
}

pub(crate) fn render_metrics(status: &DaemonStatus, meter: &EventMeter) -> String {
    let mut page = MetricsPage::default();
    // Writing to a string never fails.
    let written = write_status(&mut page, status).and_then(|()| write_meter(&mut page, meter));
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

    /// Writes the buckets of a histogram, each with the values up to its boundary.
    fn histogram(
        &mut self,
        name: &str,
        labels: &MetricLabels,
        bounds: &[f64],
        counts: &[u64],
    ) -> fmt::Result {
        let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut total = 0;
        for (bound, count) in bounds.zip(counts) {
            total += count;
            writeln!(self.text, "{name}_bucket{} {total}", written_labels(labels, Some(&bound)))?;
        }
        Ok(())
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
    let stuck = log.stuck_chats;
    page.one("avocet_chats_stuck", "gauge", "Chats whose next delivery fails.", stuck)?;
    page.one("avocet_schedules", "gauge", "Active schedules.", log.schedules)?;
    let name = "avocet_updates_ignored_total";
    page.family(name, "counter", "Updates that were not for the agent.")?;
    for ignored in &log.ignored {
        let (account, reason) = (escaped(&ignored.account), escaped(&ignored.reason));
        let count = ignored.count;
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

/// Writes the counters and histograms of a meter. They begin at the start of the daemon.
fn write_meter(page: &mut MetricsPage, meter: &EventMeter) -> fmt::Result {
    for family in METRIC_FAMILIES {
        let name = prometheus_name(family);
        match family.form {
            MetricForm::Counter => {
                page.family(&name, "counter", family.help)?;
                // A counter without labels exists before its first event.
                if family.name == "avocet.messages" && meter.series(family).next().is_none() {
                    writeln!(page.text, "{name} 0")?;
                }
            }
            MetricForm::Histogram(_) => page.family(&name, "histogram", family.help)?,
        }
        for (labels, value) in meter.series(family) {
            match (value, family.form) {
                (MetricValue::Sum(sum), _) => {
                    writeln!(page.text, "{name}{} {sum}", written_labels(labels, None))?;
                }
                (MetricValue::Histogram { counts, sum }, MetricForm::Histogram(bounds)) => {
                    page.histogram(&name, labels, bounds, counts)?;
                    let labels = written_labels(labels, None);
                    let count = counts.iter().sum::<u64>();
                    writeln!(page.text, "{name}_sum{labels} {sum}\n{name}_count{labels} {count}")?;
                }
                (MetricValue::Histogram { .. }, MetricForm::Counter) => {}
            }
        }
    }
    Ok(())
}

/// Spells the name of a family as OpenTelemetry's rules for Prometheus ask for: underscores, and the
/// unit at the end.
fn prometheus_name(family: &MetricFamily) -> String {
    let name = family.name.replace('.', "_");
    let unit = match family.unit {
        "s" => "_seconds",
        "USD" => "_dollars",
        _ => "",
    };
    let total = if family.form == MetricForm::Counter { "_total" } else { "" };
    format!("{name}{unit}{total}")
}

/// Writes labels with their braces, and the upper boundary of a bucket behind them.
fn written_labels(labels: &MetricLabels, upto: Option<&str>) -> String {
    let labels = labels.iter().map(|(key, value)| (key.replace('.', "_"), escaped(value)));
    let upto = upto.map(|upto| ("le".to_owned(), upto.to_owned()));
    let pairs = labels.chain(upto).map(|(key, value)| format!("{key}=\"{value}\""));
    let pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::SessionId;
    use avocet_protocol::clock::Timestamp;
    use avocet_protocol::ids::TurnId;
    use avocet_protocol::store::{EventHistory, EventKind, LogEvent};

    use super::*;

    fn event(seconds: i64, kind: EventKind) -> LogEvent {
        LogEvent {
            seq: EventSeq(seconds),
            at: Timestamp(seconds * 1000),
            kind,
            session: Some(SessionId::parse("terminal:local:a").unwrap()),
            turn: Some(TurnId(1)),
            step: None,
            call: None,
            detail: None,
        }
    }

    #[test]
    fn meter_is_written_as_counters_and_histograms() {
        let mut meter = EventMeter::default();
        for end in [3, 9] {
            let events = vec![event(0, EventKind::TurnRunning), event(end, EventKind::TurnDone)];
            let (turn, root) = (TurnId(1), TurnId(1));
            let history = EventHistory { turn, root, parent: None, call: None, events };
            meter.add_event(&event(end, EventKind::TurnDone), Some(&history));
        }
        let mut page = MetricsPage::default();
        write_meter(&mut page, &meter).unwrap();
        for line in [
            "avocet_turns_ended_total{state=\"done\"} 2",
            "avocet_turn_duration_seconds_bucket{state=\"done\",le=\"2.56\"} 0",
            "avocet_turn_duration_seconds_bucket{state=\"done\",le=\"5.12\"} 1",
            "avocet_turn_duration_seconds_bucket{state=\"done\",le=\"10.24\"} 2",
            "avocet_turn_duration_seconds_bucket{state=\"done\",le=\"+Inf\"} 2",
            "avocet_turn_duration_seconds_sum{state=\"done\"} 12",
            "avocet_turn_duration_seconds_count{state=\"done\"} 2",
        ] {
            assert!(page.text.lines().any(|found| found == line), "{line}\n{}", page.text);
        }
    }

    #[test]
    fn escaped_label_stays_on_one_line() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }
}
