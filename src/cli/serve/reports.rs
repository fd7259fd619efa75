//! What `mcpkg serve` reports about its calls: the audit log, traces and metrics.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::mcp;
use mcpkg_base::error::Result;

/// Adds the options for logs and telemetry.
pub(super) fn arguments(command: Command) -> Command {
    command
        .arg(
            Arg::new("audit-log")
                .long("audit-log")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Append a line of JSON about each call to this file, reads included; it never contains contents"),
        )
        .arg(
            Arg::new("audit-log-size")
                .long("audit-log-size")
                .value_name("BYTES")
                .value_parser(value_parser!(u64).range(1024..))
                .requires("audit-log")
                .help("Size at which the audit log is renamed to FILE.1 [default: 104857600]"),
        )
        .arg(
            Arg::new("audit-log-keep")
                .long("audit-log-keep")
                .value_name("N")
                .value_parser(value_parser!(u32).range(..=10_000))
                .requires("audit-log")
                .help("Number of older audit logs to keep, FILE.1 to FILE.N [default: 10]"),
        )
        .arg(
            Arg::new("otlp")
                .long("otlp")
                .action(ArgAction::SetTrue)
                .help("Send a span for each call, and metrics, to the receiver in OTEL_EXPORTER_OTLP_ENDPOINT"),
        )
        .arg(
            Arg::new("audit-required")
                .long("audit-required")
                .action(ArgAction::SetTrue)
                .requires("audit-log")
                .help("Refuse all calls while the audit log cannot be written"),
        )
        .arg(Arg::new("calls").long("calls").value_name("FILE").value_parser(value_parser!(PathBuf)).hide(true))
}

/// Returns the settings of the audit log, if a file is named.
pub(super) fn audit_log(matches: &ArgMatches) -> Option<mcp::AuditLog> {
    Some(mcp::AuditLog {
        path: matches.get_one::<PathBuf>("audit-log")?.clone(),
        size: matches.get_one("audit-log-size").copied().unwrap_or(100 << 20),
        keep: matches.get_one("audit-log-keep").copied().unwrap_or(10),
        required: matches.get_flag("audit-required"),
    })
}

/// Returns where to send traces and metrics. Without `--otlp`, mcpkg ignores the variables: agents that have them for their
/// own telemetry pass them on to the servers that they start.
pub(super) fn telemetry(matches: &ArgMatches) -> Result<Option<mcp::Telemetry>> {
    match matches.get_flag("otlp") {
        true => mcp::Telemetry::read(|name| std::env::var(name).ok()),
        false => Ok(None),
    }
}
