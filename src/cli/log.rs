//! The log, on stderr.

use mcpkg_base::marks;
use mcpkg_base::redact::redact;
use mcpkg_core::op::Identity;

/// Writes logs to stderr, with secrets redacted and control characters marked. Each event is one write.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        std::io::stderr().write_all(marks::text(&redact(&String::from_utf8_lossy(line))).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Logs go to stderr. `MCPKG_LOG` is a filter as in `info` or `mcpkg=debug`; rmcp stays at info at most, since at
/// debug it formats whole results. A server that stands in for contract 003's original also reads `SMCTL_LOG`.
pub(super) fn log(verbose: u8, identity: Identity) {
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::filter::LevelFilter;
    let default = match verbose {
        // rmcp logs each protocol error at warn, although the client gets it anyway. Its service logs an error for
        // each client that left before its last answer, such as a stream that ends with the server.
        // Contracts 003 and 004 have the calls of their tools logged.
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
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Log)
        .with_ansi(false)
        .with_target(false)
        .try_init();
}
