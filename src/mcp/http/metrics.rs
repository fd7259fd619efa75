//! Counts what a server does, in Prometheus' format.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The counters of one server.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    latency: Family<PlaceLabel, Histogram>,
    in_flight: Gauge,
    streams: Gauge,
    sessions: Gauge,
    database: Gauge,
    audit_failing: Gauge,
    audit_lost: Counter,
    spans_dropped: Counter,
}

/// What is measured when the metrics are read.
pub(super) struct Measured {
    pub(super) streams: usize,
    pub(super) sessions: usize,
    /// The size of the database in bytes.
    pub(super) database: u64,
    pub(super) audit_failing: bool,
    pub(super) audit_lost: u64,
    pub(super) spans_dropped: u64,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    place: &'static str,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PlaceLabel {
    place: &'static str,
}

/// Returns the label under which requests to a path are counted. The number of labels is fixed, so clients cannot
/// create metrics by requesting random paths.
pub(super) fn place(path: &str) -> &'static str {
    match path.rsplit('/').next() {
        Some("mcp") => "mcp",
        Some("sse") => "sse",
        Some("messages") => "messages",
        _ => "other",
    }
}

/// Counts a request as in flight until this guard is dropped.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Returns a histogram with buckets from 50 us to 1.6 s.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(50e-6, 2.0, 16))
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("mcpkg");
        let requests = Family::default();
        registry.register("requests", "Requests answered", requests.clone());
        let latency = Family::<PlaceLabel, Histogram>::new_with_constructor(buckets);
        registry.register(
            "request_duration_seconds",
            "Time from receiving the headers of a request to sending the headers of the response",
            latency.clone(),
        );
        let [in_flight, streams, sessions, database, audit_failing] = std::array::from_fn(|_| Gauge::default());
        let [audit_lost, spans_dropped] = std::array::from_fn(|_| Counter::default());
        registry.register("requests_in_flight", "Requests in progress", in_flight.clone());
        registry.register("open_streams", "Open event streams", streams.clone());
        registry.register(
            "open_sessions",
            "Open sessions (only protocol revisions with a handshake have sessions)",
            sessions.clone(),
        );
        registry.register("database_bytes", "Size of the database and its write-ahead log", database.clone());
        registry.register(
            "audit_log_failing",
            "Whether the audit log cannot be written (1) or can, or there is none (0)",
            audit_failing.clone(),
        );
        registry.register(
            "audit_log_lost_lines",
            "Lines that the audit log lost since the server started",
            audit_lost.clone(),
        );
        registry.register(
            "otlp_dropped_spans",
            "Spans that could not be sent by OTLP since the server started",
            spans_dropped.clone(),
        );
        Self {
            registry,
            requests,
            latency,
            in_flight,
            streams,
            sessions,
            database,
            audit_failing,
            audit_lost,
            spans_dropped,
        }
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(super) fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(super) fn count(&self, place: &'static str, status: StatusCode, took: Duration) {
        self.requests.get_or_create(&Request { place, status: status.as_u16().into() }).inc();
        self.latency.get_or_create(&PlaceLabel { place }).observe(took.as_secs_f64());
    }

    /// Returns all metrics in Prometheus' text format.
    pub(super) fn text(&self, measured: &Measured) -> String {
        let set = |gauge: &Gauge, value: u64| {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        set(&self.streams, measured.streams as u64);
        set(&self.sessions, measured.sessions as u64);
        set(&self.database, measured.database);
        set(&self.audit_failing, measured.audit_failing.into());
        // These are counted elsewhere, and only grow.
        self.audit_lost.inner().store(measured.audit_lost, Ordering::Relaxed);
        self.spans_dropped.inner().store(measured.spans_dropped, Ordering::Relaxed);
        self.encoded()
    }

    /// Returns the metrics without measuring the gauges again.
    pub(super) fn encoded(&self) -> String {
        let mut text = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            tracing::warn!(%error, "cannot write the metrics");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_only_grow_are_counters() {
        let measured =
            Measured { streams: 1, sessions: 2, database: 3, audit_failing: true, audit_lost: 5, spans_dropped: 7 };
        let metrics = Metrics::new();
        let text = metrics.text(&measured);
        for (name, value) in [("audit_log_lost_lines", 5), ("otlp_dropped_spans", 7)] {
            assert!(text.contains(&format!("# TYPE mcpkg_{name} counter\nmcpkg_{name}_total {value}\n")), "{text}");
        }
        for name in ["open_streams", "open_sessions", "database_bytes", "audit_log_failing", "requests_in_flight"] {
            assert!(text.contains(&format!("# TYPE mcpkg_{name} gauge\n")), "{text}");
        }
        // Measuring again does not add to what was counted.
        assert_eq!(metrics.text(&measured), text);
    }
}
