//! The exporter of traces. In a program that is built without it, its type has no value.

#[cfg(feature = "telemetry")]
mod exporter {
    use std::sync::Arc;

    use avocet_protocol::clock::Clock;
    use avocet_store::SqliteStore;
    use avocet_supervise::Group;
    use avocet_telemetry::ExporterParts;
    pub(crate) use avocet_telemetry::TelemetryExporter;

    use crate::configuration::Configuration;
    use crate::exit::Failure;
    use crate::{redaction, registry};

    /// Starts the exporter, if one is configured.
    pub(crate) fn start_exporter(
        configuration: &Configuration,
        store: &Arc<SqliteStore>,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Result<Option<Arc<TelemetryExporter>>, Failure> {
        let Configuration { document, settings, .. } = configuration;
        let Some(config) = registry::telemetry_config(document, settings)? else { return Ok(None) };
        let (redactor, clock) = (redaction::shared_redactor(), clock.clone());
        let providers = registry::provider_names(document, settings);
        let parts = ExporterParts { log: store.clone(), redactor, clock, providers };
        let exporter = TelemetryExporter::new(&config, parts)
            .map_err(|error| document.error_at("telemetry", format!("`telemetry`: {error}")))?;
        let exporter = Arc::new(exporter);
        exporter.start(group);
        Ok(Some(exporter))
    }
}

#[cfg(not(feature = "telemetry"))]
mod exporter {
    use avocet_protocol::daemon::TelemetryStatus;

    #[derive(Debug)]
    pub(crate) enum TelemetryExporter {}

    impl TelemetryExporter {
        pub(crate) fn export_status(&self) -> TelemetryStatus {
            match *self {}
        }
    }
}

pub(crate) use exporter::TelemetryExporter;
#[cfg(feature = "telemetry")]
pub(crate) use exporter::start_exporter;
