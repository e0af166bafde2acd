//! The health of the daemon, for supervisors and for Prometheus.

use std::sync::Arc;

use avocet_protocol::daemon::DaemonStatus;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::metrics;
use crate::problem::Problem;
use crate::state::HttpState;

/// The answer of a healthy daemon.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Healthy {
    /// `ok`.
    status: &'static str,
}

const HEALTHY: Json<Healthy> = Json(Healthy { status: "ok" });

/// Answer as long as the process lives.
#[cfg_attr(test, utoipa::path(
    get, path = "/healthz", tag = "operation", security(()),
    responses((status = 200, description = "The process lives", body = Healthy), Problem),
))]
pub(crate) async fn healthz() -> Json<Healthy> {
    HEALTHY
}

/// Answer if the daemon accepts messages: the log can be written and every channel is up.
#[cfg_attr(test, utoipa::path(
    get, path = "/readyz", tag = "operation", security(()),
    responses(
        (status = 200, description = "The daemon accepts messages", body = Healthy),
        (status = 503, description = "The detail names the faults", body = Problem, content_type = "application/problem+json"),
        Problem,
    ),
))]
pub(crate) async fn readyz(State(state): State<Arc<HttpState>>) -> Result<Json<Healthy>, Problem> {
    if state.stop.is_cancelled() {
        return Err(Problem::unavailable("the daemon is stopping"));
    }
    match faults(&report(&state).await?) {
        faults if faults.is_empty() => Ok(HEALTHY),
        faults => Err(Problem::unavailable(faults.join("; "))),
    }
}

/// Show counters, gauges and histograms in the text format of Prometheus.
#[cfg_attr(test, utoipa::path(
    get, path = "/metrics", tag = "operation", security(()),
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain"), Problem),
))]
pub(crate) async fn metrics(State(state): State<Arc<HttpState>>) -> Result<Response, Problem> {
    let status = report(&state).await?;
    let mut metered = state.metered.lock().await;
    let caught_up = metered.catch_up(state.parts.event_log.as_ref()).await;
    caught_up.map_err(|error| Problem::unavailable(error.to_string()))?;
    let text = metrics::render_metrics(&status, &metered.meter);
    Ok(([("content-type", metrics::CONTENT_TYPE)], text).into_response())
}

async fn report(state: &HttpState) -> Result<DaemonStatus, Problem> {
    let report = state.parts.report.report().await;
    report.map_err(|error| Problem::unavailable(error.to_string()))
}

/// Returns the reasons why the daemon is not ready. A provider may be down: its messages wait.
fn faults(status: &DaemonStatus) -> Vec<String> {
    let disk = status.disk.fault.iter().map(|fault| format!("disk: {fault}"));
    let channels = status.channels.iter().filter_map(|channel| {
        channel.fault.as_ref().map(|fault| format!("{}: {fault}", channel.account))
    });
    disk.chain(channels).collect()
}
