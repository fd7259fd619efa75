//! Sets up the log on stderr, and the file of audited calls that `mcpkg ask` reads.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::file;
use mcpkg_base::marks;
use mcpkg_base::redact::redact;
use mcpkg_core::op::Identity;

/// Writes log events to stderr. It redacts secrets and marks control characters. Each event is a single write.
struct Log;

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        std::io::stderr().write_all(marks::text(&redact(&String::from_utf8_lossy(line))).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// The log target of events about tool calls.
const AUDIT: &str = "mcpkg::audit";

/// Writes each audited tool call to a file, as a line of JSON. `mcpkg ask` reads the file to follow the calls of its agent.
struct Calls(Mutex<File>);

impl Calls {
    fn to(path: &Path) -> Result<Self> {
        let opened = file::open_with(OpenOptions::new().append(true).create(true), path);
        opened.map(|file| Self(Mutex::new(file))).map_err(|error| disk::failed("open", path, error))
    }
}

impl<S: tracing::Subscriber> Layer<S> for Calls {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != AUDIT {
            return;
        }
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let line = redact(&Value::Object(fields.0).to_string()) + "\n";
        if let Ok(mut file) = self.0.lock() {
            // Ignore a failure: the call has already ended, and its outcome does not depend on this file.
            let _ = file.write_all(line.as_bytes());
        }
    }
}

/// Collects the fields of an event.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

/// Starts logging to stderr. `MCPKG_LOG` sets a filter such as `info` or `mcpkg=debug`. rmcp never logs below info,
/// because at debug it formats whole results. A server that runs as smctl reads `SMCTL_LOG` if `MCPKG_LOG` is not set.
/// If `calls` names a file, audited calls are also written there.
pub(super) fn log(verbose: u8, identity: Identity, calls: Option<&Path>) -> Result<()> {
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::filter::LevelFilter;
    let default = match verbose {
        // rmcp logs each protocol error at warn, although the client receives it anyway. Its service also logs an
        // error for each client that disconnects before its last answer, for example at the end of a stream. The
        // contracts of smctl (003) and of workflows (004) require a log line for each tool call.
        0 => "warn,rmcp=error,rmcp::service=off,mcpkg::audit=info",
        1 => "info",
        _ => "mcpkg=debug,info",
    };
    let variables: &[&str] = match identity {
        Identity::Smctl => &["MCPKG_LOG", "SMCTL_LOG"],
        Identity::Mcpkg | Identity::Agentpack | Identity::Enact | Identity::Assistant => &["MCPKG_LOG"],
    };
    let wanted = variables.iter().find_map(|name| std::env::var(name).ok().filter(|filter| !filter.is_empty()));
    let mut filter =
        wanted.as_deref().and_then(|filter| EnvFilter::try_new(filter).ok()).unwrap_or_else(|| EnvFilter::new(default));
    let loud = filter.max_level_hint().is_none_or(|level| level > LevelFilter::INFO);
    if loud && let Ok(cap) = "rmcp=info".parse() {
        filter = filter.add_directive(cap);
    }
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Log)
        .with_ansi(false)
        .with_target(false)
        .finish();
    let _ = match calls {
        None => log.try_init(),
        Some(path) => log.with(Calls::to(path)?).try_init(),
    };
    Ok(())
}
