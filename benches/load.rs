//! How mcpkg holds up: a thousand open streams, clients that read while others write, a million requests.
//!
//! A program beside `speed.rs`, since it takes minutes, uses every CPU, and fails where a bar is missed. `cargo bench
//! --bench load` measures all; `-- --quick` less of each; any other word keeps the rows whose name holds it. See
//! docs/benchmarks.md.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a table is what this program is for")]
#![allow(dead_code, reason = "speed.rs uses the rest of what they share")]

use std::process::ExitCode;

#[path = "speed/data.rs"]
mod data;
#[path = "load/hour.rs"]
mod hour;
#[path = "load/mixed.rs"]
mod mixed;
#[path = "speed/peer.rs"]
mod peer;
#[path = "load/streams.rs"]
mod streams;
#[path = "speed/table.rs"]
mod table;
#[path = "speed/web.rs"]
mod web;

use data::Data;
use table::Table;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let filter = arguments.iter().find(|argument| !argument.starts_with("--"));
    rlimit::increase_nofile_limit(u64::MAX).expect("the limit on open files can be raised");
    let mut table = Table::new(filter.map_or("", String::as_str));
    let data = Data::make();
    streams::measure(&data, quick, &mut table);
    mixed::measure(&data, quick, &mut table);
    hour::measure(&data, quick, &mut table);
    print!("{table}");
    if table.kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
