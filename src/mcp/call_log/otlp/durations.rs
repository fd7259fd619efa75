//! Counts how long calls take, as the histogram `mcp.server.operation.duration`.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::attributes::{self, Attributes, OVERFLOW, borrowed};

/// The upper bounds of the buckets in seconds. The conventions ask for the bounds from 10 ms on. The lower ones are there
/// because most calls of mcpkg are faster than that.
const BOUNDS: [f64; 19] = [
    0.000_1, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0,
    300.0,
];

/// OTLP's number for cumulative values, which count from the start of the process.
pub(super) const CUMULATIVE: u8 = 2;

/// The maximum number of series. Calls of further series are counted together.
const MAX_SERIES: usize = 1_000;

/// The durations of all calls since the server started.
#[derive(Clone, Default)]
pub(super) struct Durations(HashMap<Attributes, Counts>);

#[derive(Clone, Copy, Default)]
struct Counts {
    buckets: [u64; BOUNDS.len() + 1],
    count: u64,
    sum: f64,
}

impl Durations {
    pub(super) fn add(&mut self, series: Attributes, took: Duration) {
        let series = match self.0.len() >= MAX_SERIES && !self.0.contains_key(&series) {
            true => vec![(OVERFLOW, "true".into())],
            false => series,
        };
        let (counts, seconds) = (self.0.entry(series).or_default(), took.as_secs_f64());
        counts.buckets[BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
        counts.count += 1;
        counts.sum += seconds;
    }

    /// Writes the metric as OTLP's JSON. Both times are in nanoseconds.
    pub(super) fn json(&self, started: &str, now: &str) -> Option<Value> {
        let point = |(series, counts): (&Attributes, &Counts)| {
            json!({
                "attributes": attributes::json(borrowed(series)),
                "startTimeUnixNano": started,
                "timeUnixNano": now,
                "count": counts.count.to_string(),
                "sum": counts.sum,
                "bucketCounts": counts.buckets.map(|count| count.to_string()),
                "explicitBounds": BOUNDS,
            })
        };
        let points: Vec<Value> = self.0.iter().map(point).collect();
        (!points.is_empty()).then(|| {
            json!({
                "name": "mcp.server.operation.duration",
                "unit": "s",
                "description": "Time from receiving a request of MCP to the end of its call",
                "histogram": { "aggregationTemporality": CUMULATIVE, "dataPoints": points },
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_once_and_series_are_limited() {
        let mut durations = Durations::default();
        assert_eq!(durations.json("1", "2"), None);
        for name in 0..MAX_SERIES + 7 {
            durations.add(vec![("gen_ai.tool.name", name.to_string().into())], Duration::from_millis(10));
        }
        durations.add(vec![("gen_ai.tool.name", "0".into())], Duration::from_secs(900));
        let metric = durations.json("1", "2").unwrap();
        let points = metric["histogram"]["dataPoints"].as_array().unwrap();
        assert_eq!(points.len(), MAX_SERIES + 1);
        let of = |key: &str, value: &str| {
            let has = |point: &&Value| {
                point["attributes"][0]["key"] == key && point["attributes"][0]["value"].to_string().contains(value)
            };
            points.iter().find(has).unwrap()
        };
        assert_eq!(of(OVERFLOW, "true")["count"], "7");
        let zero = of("gen_ai.tool.name", "\"0\"");
        let filled: Vec<usize> = (0..=BOUNDS.len()).filter(|n| zero["bucketCounts"][n] == "1").collect();
        assert_eq!((filled, &zero["count"], &zero["sum"]), (vec![5, 19], &json!("2"), &json!(900.01)));
    }
}
