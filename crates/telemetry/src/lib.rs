//! Exports the timelines of turns as spans over OTLP (`[telemetry]`). The exporter follows the
//! event log under its own name, so that the log is its only queue.

mod batch;
mod collector;
mod config;
mod exporter;
mod ids;
mod metrics;
mod otlp;
mod spans;
#[cfg(test)]
mod testing;

pub use config::TelemetryConfig;
pub use exporter::{ExporterParts, TelemetryExporter};
