//! Measures imports of a folder by a process, and how long other writers wait during a large import.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_store::Store;

use crate::Effort;
use crate::data::{self, Data};
use crate::peer::{mcpkg, reference};
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value, median};

const IMPORT: &str = "import of 6000 files, as a process";
const AGAIN: &str = "import of 6000 files again, nothing changed";
const BESIDE: &str = "create_prompt beside an import of 40000 files: longest wait";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if table.wants(IMPORT) || table.wants(AGAIN) {
        let folder = folder(data, 6000);
        let empty = data.empty("imports.db");
        if table.wants(IMPORT) {
            first(data, &folder, &empty, effort, table);
        }
        if table.wants(AGAIN) {
            again(data, &folder, &empty, effort, table);
        }
    }
    if table.wants(BESIDE) {
        beside(data, effort, table);
    }
}

fn first(data: &Data, folder: &Path, empty: &Path, effort: &Effort, table: &mut Table) {
    let database = data.path("imported.db");
    let fresh = || {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", database.display()));
        }
        fs::copy(empty, &database).expect("a copy of the empty database");
    };
    let [ours, reference] = in_turn(effort.samples(10) * effort.rounds, || {
        fresh();
        let ours = run(import(data, &database, folder));
        fresh();
        let mut plain = reference(&["--take"]);
        plain.args([folder, &database]);
        [ours, run(plain)]
    });
    push(table, IMPORT, ours, Some(reference), Bar::Times(2.0));
}

fn again(data: &Data, folder: &Path, empty: &Path, effort: &Effort, table: &mut Table) {
    let database = data.path("again.db");
    fs::copy(empty, &database).expect("a copy of the empty database");
    run(import(data, &database, folder));
    let files = files(folder);
    let [ours, reference] = in_turn(effort.samples(20) * effort.rounds, || {
        let mut sums = Command::new("sha256sum");
        sums.args(&files).stdout(Stdio::null());
        [run(import(data, &database, folder)), run(sums)]
    });
    push(table, AGAIN, ours, Some(reference), Bar::Times(1.2));
}

/// Creates prompts in this process, one after the other, while an import runs. Measures the longest wait.
fn beside(data: &Data, effort: &Effort, table: &mut Table) {
    let folder = folder(data, 40_000);
    let clock = Clock::system();
    let mut waits: Vec<Duration> = (0..effort.samples(1) * effort.rounds.div_ceil(3))
        .map(|round| {
            let database = data.empty(&format!("beside-{round}.db"));
            let store = Store::open(&database).expect("the database opens");
            let mut command = import(data, &database, &folder);
            let mut import = command.stdout(Stdio::null()).spawn().expect("mcpkg starts");
            let (mut longest, mut n) = (Duration::ZERO, 0);
            while import.try_wait().expect("the import can be waited for").is_none() {
                let start = Instant::now();
                data::create(&store, &clock, &format!("beside-{n}"), None, "beside")
                    .expect("the prompt can be written");
                longest = longest.max(start.elapsed());
                n += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            assert!(import.wait().expect("the import ended").success(), "the import failed");
            longest
        })
        .collect();
    push(table, BESIDE, median(&mut waits), None, Bar::None);
}

fn import(data: &Data, database: &Path, folder: &Path) -> Command {
    let mut command = mcpkg(database);
    command.env("XDG_STATE_HOME", data.path("state")).args(["import", "-q", "--documents"]).arg(folder);
    command
}

/// Makes a folder of Markdown files of 2 KiB, a hundred in each subfolder. Returns its path.
fn folder(data: &Data, count: usize) -> PathBuf {
    let root = data.path(&format!("files-{count}"));
    for n in 0..count {
        let folder = root.join(format!("part-{:03}", n / 100));
        fs::create_dir_all(&folder).expect("a folder");
        let line = format!("Line of file {n}: look at change {} and say what is wrong with it, in words.\n", n * 7);
        fs::write(folder.join(format!("file-{n:05}.md")), format!("# File {n}\n{}", line.repeat(2048 / line.len())))
            .expect("a file");
    }
    root
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries(folder).flat_map(|part| entries(&part).collect::<Vec<_>>()).collect()
}

/// Runs a command, which must succeed, and returns its duration.
fn run(mut command: Command) -> Duration {
    let start = Instant::now();
    let output = command.output().expect("the command starts");
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    time
}

fn push(table: &mut Table, what: &str, ours: Duration, reference: Option<Duration>, bar: Bar) {
    table.push(Row {
        what: what.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: reference.map(Value::Time),
        bar,
    });
}
