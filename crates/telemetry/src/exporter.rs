//! Follows the event log, and sends the spans of ended turns and deliveries. The position in the
//! log moves once the collector has answered, so that nothing is lost over a restart.
//!
//! ```text
//! position (a row of the subscriber `telemetry`)
//!   -> page      up to 100 events behind it
//!   -> spans     of each end of a turn or a delivery, from its history in the log
//!   -> metrics   the sums since the start, once for each page    -> collector
//!   -> batch     up to the size of a request                     -> collector
//!   -> position  accepted or refused: moved, and recorded
//!   -> next page, or wait for an event; then 1 s more, to collect several
//! ```
//!
//! **The log is the only queue.** A collector that is down costs no memory: the exporter waits, and
//! the events stay in the log up to their age in `[retention]`. A warning counts those that were
//! removed before.
//!
//! **At least once.** A crash between the answer and the record of the position sends the batch
//! again. Events without spans move the position in memory only, and it is recorded after 1,000 of
//! them: to read them again after a crash costs little.
//!
//! **A refusal is skipped**, with a warning, because the same request would be refused for ever. An
//! error that may pass is repeated: after the time that the collector asks for (10 minutes at
//! most), else after 1 s, and up to a minute.
//!
//! **Traces and metrics differ.** Spans are sent once each, so they are repeated. Metrics are sums,
//! so a lost request is made good by the next one. A page that an error has cut is read again, and
//! `upto` keeps each event from being counted twice. Sums begin at zero with each start.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use avocet_net::NetError;
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::daemon::{EventMeter, LastExchanges, TelemetryStatus};
use avocet_protocol::ids::SubscriberName;
use avocet_protocol::model::ProviderNames;
use avocet_protocol::store::{EventFilter, EventKind, EventLog, EventSeq, LogEvent, StoreError};
use avocet_supervise::{Backoff, Group, RepeatedLines};
use avocet_text::Redactor;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::batch::{SpanBatch, encode_spans};
use crate::collector::{CollectorAnswer, TraceCollector};
use crate::config::TelemetryConfig;
use crate::metrics::{MeteredTime, metrics_request};
use crate::spans::SpanMaker;

/// The most events of a page.
const PAGE: u32 = 100;
/// The time in which events are collected after the first new one, once the exporter has caught up.
/// One read and one request then serve several events.
const COLLECT: Duration = Duration::from_secs(1);
/// The pause after a failed read or write of the log.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// The first wait before a request is sent again.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The longest wait before a request is sent again.
const LONGEST_RETRY: Duration = Duration::from_mins(1);
/// The longest wait that a collector may ask for.
const LONGEST_ASKED: Duration = Duration::from_mins(10);
/// Events without spans after which the position is recorded.
const RECORD_AFTER: i64 = 1000;

/// The parts that an exporter uses.
#[derive(Debug, Clone)]
pub struct ExporterParts {
    /// The log that is followed.
    pub log: Arc<dyn EventLog>,
    /// Removes secrets from texts.
    pub redactor: Arc<Redactor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The names of the configured providers.
    pub providers: ProviderNames,
}

/// The exporter to a collector of OpenTelemetry.
#[derive(Debug)]
pub struct TelemetryExporter {
    collector: TraceCollector,
    content: bool,
    parts: ExporterParts,
    exchanges: Mutex<LastExchanges>,
    /// The last event that needs no further export.
    at: AtomicI64,
    lines: RepeatedLines,
    /// The beginning of all sums.
    started: Timestamp,
}

impl TelemetryExporter {
    /// Makes an exporter with a checked configuration.
    ///
    /// # Errors
    /// [`NetError`] if the HTTP client cannot be made.
    pub fn new(config: &TelemetryConfig, parts: ExporterParts) -> Result<Self, NetError> {
        Ok(Self {
            collector: TraceCollector::new(config)?,
            content: config.content,
            started: parts.clock.now(),
            parts,
            exchanges: Mutex::default(),
            at: AtomicI64::new(0),
            lines: RepeatedLines::new(),
        })
    }

    /// Follows the log in a task of the group until the group is cancelled.
    pub fn start(self: &Arc<Self>, group: &Group) {
        let (exporter, stop) = (self.clone(), group.cancel_token());
        group.spawn("telemetry", async move {
            tokio::select! {
                () = exporter.follow_events() => {}
                () = stop.cancelled() => {}
            }
        });
    }

    /// Returns the last exchanges with the collector, and the number of events that are not
    /// exported yet.
    #[must_use]
    pub fn export_status(&self) -> TelemetryStatus {
        let exchanges = self.exchanges.lock().clone();
        let newest = self.parts.log.newest_event().borrow().0;
        let behind = newest.saturating_sub(self.at.load(Ordering::Relaxed));
        TelemetryStatus { exchanges, behind: behind.try_into().unwrap_or_default() }
    }

    async fn follow_events(&self) {
        let mut newest = self.parts.log.newest_event();
        let mut position = loop {
            match self.read_position().await {
                Ok(position) => break position,
                Err(error) => self.cannot_use_the_log(&error).await,
            }
        };
        let mut metrics = ExportedMetrics {
            meter: EventMeter::new(self.parts.providers.clone()),
            upto: EventSeq(0),
            are_refused: false,
        };
        loop {
            match self.export_page(&mut position, &mut metrics).await {
                Ok(()) => {}
                Err(error) => self.cannot_use_the_log(&error).await,
            }
            if !self.has_more(&mut newest, position.at).await {
                return;
            }
        }
    }

    /// Waits until there are events behind a position. Returns `false` once the log is closed.
    async fn has_more(&self, newest: &mut watch::Receiver<EventSeq>, at: EventSeq) -> bool {
        if *newest.borrow_and_update() > at {
            return true;
        }
        // The log keeps the sender for as long as it is open.
        if newest.wait_for(|newest| *newest > at).await.is_err() {
            return false;
        }
        self.parts.clock.sleep(COLLECT).await;
        true
    }

    /// Reads the position of the last start. The first start begins with the newest event.
    async fn read_position(&self) -> Result<ExportPosition, StoreError> {
        let log = &self.parts.log;
        let name = SubscriberName::telemetry();
        let at = log.subscribe(&name, None).await?;
        self.at.store(at.0, Ordering::Relaxed);
        Ok(ExportPosition { name, at, recorded: at })
    }

    /// Exports the events of the next page.
    async fn export_page(
        &self,
        position: &mut ExportPosition,
        metrics: &mut ExportedMetrics,
    ) -> Result<(), StoreError> {
        let log = &self.parts.log;
        let filter = EventFilter { session: None, kinds: EventMeter::KINDS.to_vec() };
        let range = log.event_range().await?;
        let removed = range.removed_after(position.at);
        if removed > 0 {
            tracing::warn!(
                removed,
                "up to this many events were removed because of their age before their turns were \
                 exported to the collector of [telemetry]; raise `events` in [retention]"
            );
        }
        let page = log.events(position.at, &filter, PAGE).await?;
        let identity = range.log;
        let maker = SpanMaker {
            log: &identity,
            content: self.content,
            redactor: &self.parts.redactor,
            providers: &self.parts.providers,
        };
        let mut batch = SpanBatch::default();
        let has_news = !page.events.is_empty();
        for event in page.events {
            let history = if has_spans(&event) { log.event_history(&event).await? } else { None };
            // A page that an error has cut is read again.
            if event.seq > metrics.upto {
                metrics.meter.add_event(&event, history.as_ref());
                metrics.upto = event.seq;
            }
            let Some(history) = history else { continue };
            let spans = encode_spans(&maker.spans_of_event(&event, history));
            if spans.is_empty() {
                continue;
            }
            if !batch.has_room(&spans) {
                self.export_batch(std::mem::take(&mut batch), &identity, position).await?;
            }
            batch.add_spans(event.seq, spans);
        }
        if has_news {
            self.export_metrics(&identity, metrics).await;
        }
        self.export_batch(batch, &identity, position).await?;
        self.move_to(page.next, position);
        if position.at.0 - position.recorded.0 >= RECORD_AFTER {
            self.record_position(position).await?;
        }
        Ok(())
    }

    /// Sends a batch until the collector has accepted or refused it, and records the position
    /// behind it.
    async fn export_batch(
        &self,
        batch: SpanBatch,
        log: &str,
        position: &mut ExportPosition,
    ) -> Result<(), StoreError> {
        let Some(upto) = batch.last_event() else { return Ok(()) };
        for body in batch.request_bodies(log) {
            self.send(body).await;
        }
        self.move_to(upto, position);
        self.record_position(position).await
    }

    /// Sends a request until the collector has accepted or refused it.
    async fn send(&self, body: Vec<u8>) {
        let clock = self.parts.clock.as_ref();
        let mut backoff = Backoff::new(FIRST_RETRY, LONGEST_RETRY);
        loop {
            match self.collector.send(clock, body.clone()).await {
                CollectorAnswer::Accepted { warning } => return self.record_accepted(warning),
                CollectorAnswer::Refused(why) => return self.record_refused(&why),
                CollectorAnswer::Later { why, after } => {
                    let wait = after.map(|after| after.min(LONGEST_ASKED));
                    let wait = wait.unwrap_or_else(|| backoff.next_wait());
                    self.record_failure(&why);
                    if let Some(repeated) = self.lines.note_line("retry", &why, clock.elapsed()) {
                        tracing::warn!(
                            error = %why, ?wait, repeated,
                            "cannot send traces to the collector of [telemetry]; retrying; the \
                             event log keeps them"
                        );
                    }
                    clock.sleep(wait).await;
                }
            }
        }
    }

    /// Sends all sums once. Traces do not wait for them: the next request has the same sums.
    async fn export_metrics(&self, log: &str, metrics: &mut ExportedMetrics) {
        if metrics.are_refused {
            return;
        }
        let clock = self.parts.clock.as_ref();
        let time = MeteredTime { start: self.started, end: clock.now() };
        let body = metrics_request(log, &metrics.meter, time);
        match self.collector.send_metrics(clock, body).await {
            CollectorAnswer::Accepted { warning } => {
                self.lines.note_end("metrics");
                if let Some(warning) = warning
                    && let Some(repeated) =
                        self.lines.note_line("rejected", &warning, clock.elapsed())
                {
                    tracing::warn!(
                        %warning, repeated,
                        "the collector of [telemetry] did not accept all metrics"
                    );
                }
            }
            CollectorAnswer::Refused(why) => {
                metrics.are_refused = true;
                tracing::warn!(
                    error = %why,
                    "the collector of [telemetry] takes no metrics; none are sent until the next start"
                );
            }
            CollectorAnswer::Later { why, .. } => {
                if let Some(repeated) = self.lines.note_line("metrics", &why, clock.elapsed()) {
                    tracing::warn!(
                        error = %why, repeated,
                        "cannot send metrics to the collector of [telemetry]; the next request has \
                         the same sums"
                    );
                }
            }
        }
    }

    fn record_accepted(&self, warning: Option<String>) {
        let now = self.parts.clock.now();
        self.exchanges.lock().succeed(now);
        if self.lines.note_end("retry").is_some() {
            tracing::info!("the collector of [telemetry] accepts traces again");
        }
        if let Some(warning) = warning {
            tracing::warn!(
                %warning,
                "the collector of [telemetry] did not accept everything; it loses these spans"
            );
        }
    }

    fn record_refused(&self, why: &str) {
        self.record_failure(why);
        self.lines.note_end("retry");
        tracing::warn!(
            error = %why,
            "the collector of [telemetry] refused a batch of traces, which is skipped; correct \
             endpoint or headers"
        );
    }

    fn record_failure(&self, why: &str) {
        let now = self.parts.clock.now();
        self.exchanges.lock().fail(now, why);
    }

    fn move_to(&self, at: EventSeq, position: &mut ExportPosition) {
        position.at = at;
        self.at.store(at.0, Ordering::Relaxed);
    }

    async fn record_position(&self, position: &mut ExportPosition) -> Result<(), StoreError> {
        self.parts.log.confirm_events(&position.name, position.at).await?;
        position.recorded = position.at;
        Ok(())
    }

    async fn cannot_use_the_log(&self, error: &StoreError) {
        let now = self.parts.clock.elapsed();
        if let Some(repeated) = self.lines.note_line("log", &error.to_string(), now) {
            tracing::warn!(
                %error, repeated,
                "cannot read or write the event log for [telemetry]; retrying in 1 s"
            );
        }
        self.parts.clock.sleep(AFTER_ERROR).await;
    }
}

/// The metrics since the start.
struct ExportedMetrics {
    meter: EventMeter,
    /// The last metered event.
    upto: EventSeq,
    /// `true` if the collector has no place for metrics, as one for traces alone.
    are_refused: bool,
}

/// Returns `true` for the ends of turns and deliveries.
fn has_spans(event: &LogEvent) -> bool {
    !matches!(event.kind, EventKind::MessageQueued | EventKind::UsageRecorded)
}

/// The place of the exporter in the log.
struct ExportPosition {
    name: SubscriberName,
    at: EventSeq,
    /// The position that the log keeps.
    recorded: EventSeq,
}

#[cfg(test)]
#[path = "exporter_tests.rs"]
mod tests;
