//! Writes metrics, among them those of `/metrics`, which keep their names.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::attributes;
use super::durations::{CUMULATIVE, Durations};
use super::spans::scope;

/// Writes the request that sends the durations and the metrics in `text`, which has Prometheus' format. Returns `None` if
/// there are no metrics. Both times are in nanoseconds.
pub(super) fn request(
    resource: &Value,
    durations: &Durations,
    text: Option<&str>,
    [started, now]: [&str; 2],
) -> Option<Vec<u8>> {
    let mut metrics = text.map(|text| read(text, started, now)).unwrap_or_default();
    metrics.extend(durations.json(started, now));
    let scope = json!({ "scope": scope(), "metrics": metrics });
    let body = json!({ "resourceMetrics": [{ "resource": resource, "scopeMetrics": [scope] }] });
    (!metrics.is_empty()).then(|| body.to_string().into_bytes())
}

/// The labels of a sample.
type Labels<'a> = Vec<(&'a str, &'a str)>;

/// The samples of one metric with the same labels.
#[derive(Default)]
struct Samples<'a> {
    value: &'a str,
    sum: &'a str,
    count: &'a str,
    /// The upper bounds of a histogram's buckets. Each has the number of values that are not above it.
    buckets: Vec<(f64, u64)>,
}

/// Parses metrics in Prometheus' format, as mcpkg writes it, and returns them as OTLP's JSON.
fn read(text: &str, started: &str, now: &str) -> Vec<Value> {
    let mut metrics = Vec::new();
    for metric in text.split("# TYPE ").skip(1) {
        let mut lines = metric.lines();
        let Some((name, kind)) = lines.next().and_then(|line| line.split_once(' ')) else { continue };
        let mut series: BTreeMap<Labels<'_>, Samples<'_>> = BTreeMap::new();
        for (sample, value) in lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' ')) {
            let (of, mut labels) = labels(sample);
            let bound = labels.iter().position(|(key, _)| *key == "le").map(|at| labels.remove(at).1);
            let samples = series.entry(labels).or_default();
            match (of.strip_prefix(name).unwrap_or_default(), bound) {
                ("_sum", _) => samples.sum = value,
                ("_count", _) => samples.count = value,
                ("_bucket", Some(bound)) => {
                    samples.buckets.extend(bound.parse().ok().zip(value.parse().ok()));
                }
                _ => samples.value = value,
            }
        }
        let points: Vec<Value> =
            series.iter().map(|(labels, samples)| point(kind, labels, samples, started, now)).collect();
        let data = match kind {
            "counter" => {
                json!({ "sum": { "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points } })
            }
            "histogram" => json!({ "histogram": { "aggregationTemporality": CUMULATIVE, "dataPoints": points } }),
            _ => json!({ "gauge": { "dataPoints": points } }),
        };
        if !points.is_empty() {
            let mut metric = data;
            metric["name"] = name.into();
            metrics.push(metric);
        }
    }
    metrics
}

fn point(kind: &str, labels: &Labels<'_>, samples: &Samples<'_>, started: &str, now: &str) -> Value {
    let mut point = json!({ "attributes": attributes::json(labels.iter().copied()), "timeUnixNano": now });
    match kind {
        "histogram" => {
            let mut below = 0;
            let buckets = samples.buckets.iter().map(|(_, count)| {
                let inside = count.saturating_sub(std::mem::replace(&mut below, *count));
                inside.to_string()
            });
            point["bucketCounts"] = buckets.collect();
            point["explicitBounds"] =
                samples.buckets.iter().map(|(bound, _)| *bound).filter(|bound| bound.is_finite()).collect();
            point["count"] = samples.count.into();
            point["sum"] = samples.sum.parse::<f64>().unwrap_or_default().into();
            point["startTimeUnixNano"] = started.into();
        }
        "counter" => {
            point["asInt"] = samples.value.into();
            point["startTimeUnixNano"] = started.into();
        }
        _ => point["asInt"] = samples.value.into(),
    }
    point
}

/// Splits a sample into its name and its labels.
fn labels(sample: &str) -> (&str, Labels<'_>) {
    let Some((name, labels)) = sample.split_once('{') else { return (sample, Vec::new()) };
    let labels = labels.trim_end_matches('}').split_terminator('"').collect::<Vec<_>>();
    let pairs = labels.chunks_exact(2).map(|pair| (pair[0].trim_matches([',', '=']), pair[1]));
    (name, pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_of_prometheus_keep_names_labels_and_values() {
        let text = "\
# HELP mcpkg_requests Requests answered.
# TYPE mcpkg_requests counter
mcpkg_requests_total{place=\"mcp\",status=\"200\"} 3
mcpkg_requests_total{place=\"sse\",status=\"404\"} 1
# HELP mcpkg_request_duration_seconds Time.
# TYPE mcpkg_request_duration_seconds histogram
mcpkg_request_duration_seconds_sum{place=\"mcp\"} 0.5
mcpkg_request_duration_seconds_count{place=\"mcp\"} 4
mcpkg_request_duration_seconds_bucket{le=\"0.1\",place=\"mcp\"} 1
mcpkg_request_duration_seconds_bucket{le=\"0.2\",place=\"mcp\"} 3
mcpkg_request_duration_seconds_bucket{le=\"+Inf\",place=\"mcp\"} 4
# HELP mcpkg_open_streams Open event streams.
# TYPE mcpkg_open_streams gauge
mcpkg_open_streams 2
# EOF
";
        let found = Value::from(read(text, "1", "2"));
        let place = |name: &str| json!({ "key": "place", "value": { "stringValue": name } });
        let status = |code: &str| json!({ "key": "status", "value": { "stringValue": code } });
        let expected = json!([
            {
                "name": "mcpkg_requests",
                "sum": { "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [
                    { "attributes": [place("mcp"), status("200")], "timeUnixNano": "2", "asInt": "3", "startTimeUnixNano": "1" },
                    { "attributes": [place("sse"), status("404")], "timeUnixNano": "2", "asInt": "1", "startTimeUnixNano": "1" },
                ] },
            },
            {
                "name": "mcpkg_request_duration_seconds",
                "histogram": { "aggregationTemporality": 2, "dataPoints": [{
                    "attributes": [place("mcp")], "timeUnixNano": "2", "startTimeUnixNano": "1",
                    "bucketCounts": ["1", "2", "1"], "explicitBounds": [0.1, 0.2], "count": "4", "sum": 0.5,
                }] },
            },
            { "name": "mcpkg_open_streams", "gauge": { "dataPoints": [{ "attributes": [], "timeUnixNano": "2", "asInt": "2" }] } },
        ]);
        assert_eq!(found, expected);
    }
}
