//! Sets up the log on stderr.

use mcpkg_base::marks;
use mcpkg_base::redact::redact;
use mcpkg_core::op::Identity;

/// Writes log events to stderr. It redacts secrets and marks control characters. Each event is a single write.
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

/// Starts logging to stderr. `MCPKG_LOG` sets a filter such as `info` or `mcpkg=debug`. rmcp stays at info or above, because at
/// debug it formats whole results. A server that runs as smctl (contract 003) also reads `SMCTL_LOG`.
pub(super) fn log(verbose: u8, identity: Identity) {
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::filter::LevelFilter;
    let default = match verbose {
        // rmcp logs each protocol error at warn, although the client receives it anyway. Its service also logs an
        // error for each client that disconnects before its last answer, for example at the end of a stream. Contracts
        // 003 and 004 require a log line for each tool call.
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
