//! The JSON encoding of OTLP metrics: sums and histograms since the start of the process.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::{
    EventMeter, METRIC_FAMILIES, MetricFamily, MetricForm, MetricLabels, MetricValue,
};
use serde_json::{Value, json};

use crate::otlp::{SpanAttribute, format_nanoseconds, resource_json, scope_json};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: each request repeats the sums, so that a lost one loses nothing.
const CUMULATIVE: u8 = 2;

/// The time that a request covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeteredTime {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// Encodes a request (`ExportMetricsServiceRequest`). Families without a value are left out.
pub(crate) fn metrics_request(log: &str, meter: &EventMeter, time: MeteredTime) -> Vec<u8> {
    let families =
        METRIC_FAMILIES.into_iter().filter_map(|family| metric_json(family, meter, time));
    let metrics: Vec<_> = families.collect();
    let scope_metrics = json!([{ "scope": scope_json(), "metrics": metrics }]);
    let request = json!({ "resourceMetrics": [{ "resource": resource_json(log), "scopeMetrics": scope_metrics }] });
    request.to_string().into_bytes()
}

fn metric_json(family: &MetricFamily, meter: &EventMeter, time: MeteredTime) -> Option<Value> {
    let points: Vec<_> = meter
        .series(family)
        .map(|(labels, value)| point_json(family, labels, value, time))
        .collect();
    if points.is_empty() {
        return None;
    }
    let MetricFamily { name, unit, help, form } = *family;
    let (kind, mut data) = match form {
        MetricForm::Counter => ("sum", json!({ "isMonotonic": true })),
        MetricForm::Histogram(_) => ("histogram", json!({})),
    };
    data["aggregationTemporality"] = CUMULATIVE.into();
    data["dataPoints"] = points.into();
    Some(json!({ "name": name, "unit": unit, "description": help, kind: data }))
}

fn point_json(
    family: &MetricFamily,
    labels: &MetricLabels,
    value: &MetricValue,
    time: MeteredTime,
) -> Value {
    let attributes: Vec<_> =
        labels.iter().map(|(key, value)| SpanAttribute::from_text(key, value.as_str())).collect();
    let mut point = json!({
        "attributes": attributes,
        "startTimeUnixNano": format_nanoseconds(time.start),
        "timeUnixNano": format_nanoseconds(time.end),
    });
    match (value, family.form) {
        (MetricValue::Sum(sum), _) => point["asDouble"] = (*sum).into(),
        (MetricValue::Histogram { counts, sum }, MetricForm::Histogram(bounds)) => {
            // 64-bit numbers are strings.
            point["count"] = counts.iter().sum::<u64>().to_string().into();
            point["sum"] = (*sum).into();
            point["bucketCounts"] = counts.iter().map(u64::to_string).collect();
            point["explicitBounds"] = bounds.iter().copied().collect();
        }
        (MetricValue::Histogram { .. }, MetricForm::Counter) => {}
    }
    point
}
