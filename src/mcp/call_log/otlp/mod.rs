//! Sends a span for each call of MCP, and metrics, to a receiver of OpenTelemetry: OTLP over HTTP, as JSON.
//!
//! Spans and metrics follow OpenTelemetry's semantic conventions for MCP. They contain the names of items, but neither
//! arguments nor contents. OpenTelemetry's own crates would add fourteen crates to the program, among them a third version
//! of `rand`, for what is mostly this mapping to JSON.

mod attributes;
mod durations;
mod exporter;
mod metrics;
mod queue;
mod spans;

pub(super) use exporter::Exporter;
