//! Makes a chart of the requests that the server has answered, from its metrics.

use std::collections::BTreeMap;

use mcpkg_console::chart::{Bar, Chart};
use mcpkg_console::screen::{Span, Tone};

/// The requests that were answered at one place, such as `mcp`.
#[derive(Default)]
struct Answered {
    requests: u64,
    refused: u64,
    /// How many requests took at most this many seconds, in ascending order.
    within: Vec<(f64, u64)>,
}

/// Makes the chart from the text of the metrics.
pub(super) fn chart(metrics: &str) -> Chart {
    let mut places: BTreeMap<&str, Answered> = BTreeMap::new();
    for line in metrics.lines() {
        let Some((name, rest)) = line.split_once('{') else { continue };
        let Some((labels, count)) = rest.split_once("} ") else { continue };
        let label = |name: &str| {
            let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.trim_matches('"')).next()
        };
        let (Some(place), Ok(count)) = (label("place"), count.parse::<u64>()) else { continue };
        let answered = places.entry(place).or_default();
        match name {
            "mcpkg_requests_total" => {
                answered.requests += count;
                if label("status").is_some_and(|status| status.starts_with(['4', '5'])) {
                    answered.refused += count;
                }
            }
            "mcpkg_request_duration_seconds_bucket" => {
                answered.within.extend(label("le").and_then(|most| most.parse().ok()).map(|most| (most, count)));
            }
            _ => {}
        }
    }
    let rows =
        places.into_iter().filter(|(_, answered)| answered.requests > 0).map(|(place, answered)| answered.bar(place));
    Chart {
        title: "Requests since the server started".to_owned(),
        columns: &["PLACE", "REQUESTS", "REFUSED OR FAILED", "HALF WITHIN", "99 OF 100 WITHIN"],
        rows: rows.collect(),
    }
}

impl Answered {
    fn bar(&self, place: &str) -> Bar {
        let cells = vec![
            Span::new(Tone::Name, place),
            Span::plain(&self.requests.to_string()),
            Span::new(if self.refused > 0 { Tone::Warning } else { Tone::Plain }, &self.refused.to_string()),
            Span::plain(&self.within(50)),
            Span::plain(&self.within(99)),
        ];
        Bar { cells, length: self.requests, tone: Tone::Name, ..Bar::default() }
    }

    /// Returns the time within which this many of 100 requests were answered, such as `0.4 ms`.
    fn within(&self, of_hundred: u64) -> String {
        let all = self.within.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let found = self.within.iter().find(|(_, count)| *count * 100 >= all * of_hundred);
        match found {
            Some((seconds, _)) if seconds.is_finite() => format!("{:.2} ms", seconds * 1000.0),
            Some(_) => "more".to_owned(),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;

    use super::super::metrics::Metrics;
    use super::*;

    #[test]
    fn requests_are_counted_by_place_with_their_latency() {
        let metrics = Metrics::new();
        for _ in 0..98 {
            metrics.count("mcp", StatusCode::OK, Duration::from_micros(70));
        }
        metrics.count("mcp", StatusCode::UNAUTHORIZED, Duration::from_millis(3));
        metrics.count("mcp", StatusCode::INTERNAL_SERVER_ERROR, Duration::from_secs(9));
        metrics.count("console", StatusCode::OK, Duration::from_millis(5));
        let chart = chart(&metrics.encoded());
        let rows: Vec<Vec<&str>> = chart.rows.iter().map(|bar| bar.cells.iter().map(Span::text).collect()).collect();
        assert_eq!(rows, [["console", "1", "0", "6.40 ms", "6.40 ms"], ["mcp", "100", "2", "0.10 ms", "3.20 ms"]]);
        assert_eq!(chart.rows[1].length, 100);
        assert!(super::chart("").rows.is_empty());
    }
}
