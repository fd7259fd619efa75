//! Passes each call that has ended to the audit log and to the exporter of spans, where there are such.

use std::sync::Arc;

use super::line::Line;
use super::log::CallLog;
use super::otlp::Exporter;
use crate::mcp::Config;
use mcpkg_base::error::Result;
use mcpkg_store::Store;

/// The audit log and the exporter of a running server, if it has them.
pub(in crate::mcp) struct Calls {
    log: Option<CallLog>,
    exporter: Option<Exporter>,
}

impl Calls {
    /// Opens the audit log and starts the exporter, as configured. `None` if neither is configured. Fails if the audit log
    /// cannot be opened.
    pub(in crate::mcp) fn open(store: &Store, config: &Config) -> Result<Option<Arc<Self>>> {
        let log = CallLog::open(store, config)?;
        let exporter = config.telemetry.clone().map(Exporter::start).transpose()?;
        let is_used = log.is_some() || exporter.is_some();
        Ok(is_used.then(|| Arc::new(Self { log, exporter })))
    }

    /// Waits until a call may begin; see [`CallLog::admit`].
    pub(in crate::mcp) fn admit(&self) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), CallLog::admit)
    }

    /// Like [`Calls::admit`], for callers on threads that must not block.
    pub(in crate::mcp) async fn admit_aside(&self) -> Result<()> {
        match &self.log {
            Some(log) => log.admit_aside().await,
            None => Ok(()),
        }
    }

    pub(in crate::mcp) fn log(&self) -> Option<&CallLog> {
        self.log.as_ref()
    }

    /// Returns the number of spans that were dropped since the server started.
    pub(in crate::mcp) fn dropped_spans(&self) -> u64 {
        self.exporter.as_ref().map_or(0, Exporter::dropped)
    }

    /// Makes the exporter also send the metrics that `text` returns, in Prometheus' format.
    pub(in crate::mcp) fn send_also(&self, text: impl Fn() -> Option<String> + Send + Sync + 'static) {
        if let Some(exporter) = &self.exporter {
            exporter.send_also(Box::new(text));
        }
    }

    pub(super) fn ended(&self, line: Line) {
        match (&self.log, &self.exporter) {
            (Some(log), Some(exporter)) => {
                exporter.push(line.clone());
                log.push(line);
            }
            (Some(log), None) => log.push(line),
            (None, Some(exporter)) => exporter.push(line),
            (None, None) => {}
        }
    }

    /// Writes the queued lines, sends the queued spans, and ends the threads.
    pub(in crate::mcp) fn finish(&self) {
        if let Some(log) = &self.log {
            log.finish();
        }
        if let Some(exporter) = &self.exporter {
            exporter.finish();
        }
    }
}
