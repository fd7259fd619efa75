//! Measures how fast mcpkg is, as ratios to reference processes that are measured in the same run.
//!
//! `cargo bench` measures everything except behavior under load. `cargo bench -- --quick` takes fewer samples. A word
//! without dashes selects the rows whose names contain it. This never fails because of a time: the machine may be
//! busy. See docs/explanation/benchmarks.md.
//!
//! `cargo bench -- --load` tests instead how mcpkg behaves under load. This test keeps every CPU busy for minutes, and
//! fails if a bar is missed. It is a mode of this program, because it uses the same databases, the same client and the
//! same table.
//!
//! This program also acts as the reference processes: `--echo`, `--replay FILE`, `--hand DATABASE`, `--write FROM TO
//! DATABASE`, `--take FOLDER DATABASE`, `--handler FILE`, `--sandbox PLAN TREE`, `--verify DATABASE`, `--check DATABASE`, `--start TIMES PROGRAM`,
//! `--look ROOT REPOSITORIES`, and for PostgreSQL `--statements ADDRESS PLAN ANSWER`, `--hand-http ADDRESS`, `--listen ADDRESS`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a table is what this program is for")]

use std::path::Path;
use std::process::ExitCode;

#[path = "speed/builds.rs"]
mod builds;
#[path = "speed/catalogs.rs"]
mod catalogs;
#[path = "speed/cluster.rs"]
mod cluster;
#[path = "speed/commands.rs"]
mod commands;
#[path = "speed/console.rs"]
mod console;
#[path = "speed/data.rs"]
mod data;
#[path = "speed/deploys.rs"]
mod deploys;
#[path = "speed/disk.rs"]
mod disk;
#[path = "speed/downloads.rs"]
mod downloads;
#[path = "speed/engines.rs"]
mod engines;
#[path = "load/failover.rs"]
mod failover;
#[cfg(feature = "gate-onnx")]
#[path = "speed/gate.rs"]
mod gate;
#[path = "speed/ground.rs"]
mod ground;
#[path = "speed/hosting.rs"]
mod hosting;
#[path = "load/hour.rs"]
mod hour;
#[path = "speed/http.rs"]
mod http;
#[path = "speed/imports.rs"]
mod imports;
#[path = "speed/installed.rs"]
mod installed;
#[path = "speed/latency.rs"]
mod latency;
#[path = "load/mixed.rs"]
mod mixed;
#[path = "speed/pages.rs"]
mod pages;
#[path = "speed/peer.rs"]
mod peer;
#[path = "speed/plain.rs"]
mod plain;
#[path = "speed/plugins.rs"]
mod plugins;
#[path = "speed/process.rs"]
mod process;
#[path = "speed/questions.rs"]
mod questions;
#[path = "speed/references.rs"]
mod references;
#[path = "speed/requests.rs"]
mod requests;
#[path = "speed/runs.rs"]
mod runs;
#[path = "speed/sandbox.rs"]
mod sandbox;
#[path = "speed/sources.rs"]
mod sources;
#[path = "load/streams.rs"]
mod streams;
#[path = "speed/syncs.rs"]
mod syncs;
#[path = "speed/table.rs"]
mod table;
#[path = "speed/tools.rs"]
mod tools;
#[cfg(feature = "wasm")]
#[path = "speed/wasm.rs"]
mod wasm;
#[path = "speed/web.rs"]
mod web;
#[path = "speed/workflows.rs"]
mod workflows;
#[path = "speed/workspaces.rs"]
mod workspaces;

use data::Data;
use table::Table;

/// How much this run measures.
struct Effort {
    /// The number of rounds. In each round, mcpkg and the reference take turns.
    rounds: usize,
    /// The divisor for the number of samples in a round.
    divisor: usize,
    /// The number of rows in the large database.
    rows: usize,
}

impl Effort {
    fn of(quick: bool) -> Self {
        let rows = std::env::var("MCPKG_BENCH_ROWS").ok().and_then(|rows| rows.parse().ok());
        let (rounds, divisor, default) = if quick { (3, 10, 100_000) } else { (7, 1, 1_000_000) };
        Self { rounds, divisor, rows: rows.unwrap_or(default).max(1_000) }
    }

    /// Returns the number of samples in a round. `full` is the number in a run without `--quick`.
    fn samples(&self, full: usize) -> usize {
        (full / self.divisor).max(3)
    }
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--echo"] => references::echo(),
        ["--replay", file] => references::replay(Path::new(file)),
        ["--write", from, to, database] => references::write(Path::new(from), Path::new(to), Path::new(database)),
        ["--handler", file] => references::handler(Path::new(file)),
        ["--take", folder, database] => references::take(Path::new(folder), Path::new(database)),
        ["--hand", database] => references::hand(Path::new(database)),
        ["--sandbox", plan, tree] => sandbox::run(Path::new(plan), Path::new(tree)),
        ["--verify", database] => sandbox::verify(Path::new(database)),
        ["--check", database] => sandbox::check(Path::new(database)),
        ["--start", times, program] => builds::start(times, program),
        ["--statements", address, plan, answer] => plain::statements(address, Path::new(plan), Path::new(answer)),
        ["--hand-http", address] => plain::hand(address),
        ["--listen", address] => plain::listen(address),
        ["--look", root, repos] => workspaces::look(Path::new(root), repos),
        _ => {
            let quick = words.contains(&"--quick");
            let filter = words.iter().find(|word| !word.starts_with("--")).copied().unwrap_or_default();
            match words.contains(&"--load") {
                true => return load(quick, filter),
                false => measure(quick, filter),
            }
        }
    }
    ExitCode::SUCCESS
}

fn load(quick: bool, filter: &str) -> ExitCode {
    mcpkg_base::platform::raise_open_files().expect("the limit on open files can be raised");
    let mut table = Table::new(filter);
    let data = Data::make();
    streams::measure(&data, quick, &mut table);
    mixed::measure(&data, quick, &mut table);
    hour::measure(&data, quick, &mut table);
    failover::measure(&data, quick, &mut table);
    print!("{table}");
    if table.kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(quick: bool, filter: &str) {
    let effort = Effort::of(quick);
    println!("{} {}, {}", std::env::consts::OS, std::env::consts::ARCH, pin_to_one_cpu());
    if !data::has_sha_instructions() {
        println!("this processor has no SHA instructions: the bars of the large reads do not hold here");
    }
    let mut table = Table::new(filter);
    let data = Data::make();
    requests::measure(&data, &effort, &mut table);
    http::measure(&data, &effort, &mut table);
    downloads::measure(&data, &effort, &mut table);
    process::measure(&data, &effort, &mut table);
    disk::measure(&data, &effort, &mut table);
    engines::measure(&data, &effort, &mut table);
    deploys::measure(&data, &effort, &mut table);
    syncs::measure(&effort, &mut table);
    sources::measure(&data, &effort, &mut table);
    imports::measure(&data, &effort, &mut table);
    catalogs::measure(&data, &effort, &mut table);
    tools::measure(&data, &effort, &mut table);
    commands::measure(&data, &effort, &mut table);
    latency::measure(&data, &effort, &mut table);
    questions::measure(&data, &mut table);
    console::measure(&data, &effort, &mut table);
    pages::measure(&data, &effort, &mut table);
    workflows::measure(&effort, &mut table);
    runs::measure(&data, &effort, &mut table);
    plugins::measure(&data, &effort, &mut table);
    workspaces::measure(&data, &effort, &mut table);
    builds::measure(&data, &effort, &mut table);
    #[cfg(feature = "gate-onnx")]
    gate::measure(&data, &effort, &mut table);
    #[cfg(feature = "wasm")]
    wasm::measure(&effort, &mut table);
    print!("{table}");
}

/// Keeps this process and its children on one CPU, because a wake-up across CPUs costs more than most of the measured
/// operations.
fn pin_to_one_cpu() -> &'static str {
    match peer::pin(std::process::id(), 0) {
        true => "all processes pinned to CPU 0",
        false => "skipped: pinning to one CPU, since taskset failed or is not there",
    }
}
