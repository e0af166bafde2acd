//! The metrics that the collector receives.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{JSON, MOST_BYTES, OtlpCheck, accepted, attributes, fields, list, nanoseconds};
use crate::http::{HttpRequest, Piece, whole};

const SUM_FIELDS: [&str; 4] = ["attributes", "startTimeUnixNano", "timeUnixNano", "asDouble"];
const HISTOGRAM_FIELDS: [&str; 7] = [
    "attributes",
    "startTimeUnixNano",
    "timeUnixNano",
    "count",
    "sum",
    "bucketCounts",
    "explicitBounds",
];

/// Requests with metrics, apart from those with spans.
#[derive(Debug, Default)]
pub(super) struct MetricsLog {
    requests: watch::Sender<Vec<Vec<Value>>>,
    refusals: Mutex<Vec<String>>,
    refuses: AtomicBool,
}

impl MetricsLog {
    pub(super) fn answer(&self, request: &HttpRequest) -> Vec<Piece> {
        let is_json = request.header("content-type").is_some_and(|media| media.starts_with(JSON));
        if self.refuses.load(Ordering::Relaxed) {
            return whole(404, &[], "404 page not found");
        }
        if request.method != "POST" || !is_json || request.body.len() > MOST_BYTES {
            return self.refused("no POST of JSON of at most 1 MiB".to_owned());
        }
        match read_metrics(&request.body) {
            Ok(metrics) => {
                self.requests.send_modify(|requests| requests.push(metrics));
                accepted()
            }
            Err(error) => self.refused(error),
        }
    }

    pub(super) fn requests(&self) -> Vec<Vec<Value>> {
        self.requests.borrow().clone()
    }

    pub(super) async fn received(&self, count: usize) {
        let mut requests = self.requests.subscribe();
        requests.wait_for(|requests| requests.len() >= count).await.unwrap();
    }

    pub(super) fn refusals(&self) -> Vec<String> {
        self.refusals.lock().clone()
    }

    pub(super) fn refuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
    }

    fn refused(&self, message: String) -> Vec<Piece> {
        let body = json!({ "code": 3, "message": message }).to_string();
        self.refusals.lock().push(message);
        whole(400, &[("content-type", JSON)], &body)
    }
}

fn read_metrics(body: &[u8]) -> OtlpCheck<Vec<Value>> {
    let request: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut metrics = Vec::new();
    for of_resource in list(fields(&request, &["resourceMetrics"])?, "resourceMetrics")? {
        let of_resource = fields(of_resource, &["resource", "scopeMetrics", "schemaUrl"])?;
        for of_scope in list(of_resource, "scopeMetrics")? {
            let of_scope = fields(of_scope, &["scope", "metrics", "schemaUrl"])?;
            for metric in list(of_scope, "metrics")? {
                check_metric(metric).map_err(|error| format!("{error}: {metric}"))?;
                metrics.push(metric.clone());
            }
        }
    }
    Ok(metrics)
}

fn check_metric(metric: &Value) -> OtlpCheck<()> {
    let metric = fields(metric, &["name", "description", "unit", "sum", "histogram"])?;
    let (data, is_sum) = match (metric.get("sum"), metric.get("histogram")) {
        (Some(sum), None) => {
            (fields(sum, &["dataPoints", "aggregationTemporality", "isMonotonic"])?, true)
        }
        (None, Some(data)) => (fields(data, &["dataPoints", "aggregationTemporality"])?, false),
        _ => return Err("not one kind of data".to_owned()),
    };
    if data["aggregationTemporality"] != 2 {
        return Err("sums are not cumulative".to_owned());
    }
    for point in list(data, "dataPoints")? {
        let known = if is_sum { &SUM_FIELDS[..] } else { &HISTOGRAM_FIELDS[..] };
        let point = fields(point, known)?;
        attributes(&point["attributes"])?;
        if nanoseconds(point, "startTimeUnixNano")? > nanoseconds(point, "timeUnixNano")? {
            return Err("a point ends before its start".to_owned());
        }
        if !is_sum {
            let (counts, bounds) = (list(point, "bucketCounts")?, list(point, "explicitBounds")?);
            let parse = |value: &Value| value.as_str().and_then(|text| text.parse::<u64>().ok());
            let total = counts.iter().map(parse).sum::<Option<u64>>();
            if counts.len() != bounds.len() + 1
                || total.is_none()
                || total != parse(&point["count"])
            {
                return Err("the buckets do not fit".to_owned());
            }
        }
    }
    Ok(())
}
