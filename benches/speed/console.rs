//! Measures the console at a terminal: its first frame, opening the content, a key in a long list, what it draws and
//! how much CPU it uses when nothing happens, and how soon it shows a commit of another process. Measures the palette
//! and the findings in a text within this process.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_console::place::Place;
use mcpkg_console::{Part, action, document, palette};
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use serde_json::json;

use crate::data::{self, Data};
use crate::peer::{self, mcpkg};
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value, median};
use crate::{Effort, http, workflows};

const FRAME: &str = "console: first frame, against `mcpkg prompt list` as a process";
const LONG: &str = "console: a key in a project of many items, against one of a thousand";
const OPEN: &str = "console: opening the content of a project of many items, against one of a thousand";
const REST: &str = "console: bytes drawn while nothing happens";
const CPU: &str = "console: CPU time while nothing happens";
const COMMIT: &str = "console: commit in another process to the screen, against a server's notification";
const PALETTE: &str = "console: palette of 5,000 entries, against nucleo's matcher alone";
const FINDINGS: &str = "console: findings in 500 steps, against `workflow validate` in this process";

/// If nothing is drawn for this long, the answer to a key is complete.
const QUIET: Duration = Duration::from_millis(300);

pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    in_this_process(data, effort, table);
    if ![FRAME, OPEN, LONG, REST, CPU, COMMIT].iter().any(|row| table.wants(row)) {
        return;
    }
    if is_skipped() {
        return;
    }
    let times = |what: &str, ours: Duration, reference: Duration, bar: f64| Row {
        what: what.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(bar),
    };
    if table.wants(FRAME) {
        let [ours, reference] = in_turn(effort.samples(30) * effort.rounds, || {
            [first_frame(&data.usual()), at_a_terminal(mcpkg(&data.usual()).args(["prompt", "list", "--no-pager"]))]
        });
        table.push(times(FRAME, ours, reference, 4.0));
    }
    if table.wants(OPEN) {
        let open = |rows: usize| Terminal::opening(&data.large(rows), "row-");
        let [ours, reference] = in_turn(effort.samples(10) * effort.rounds, || [open(effort.rows), open(1_000)]);
        table.push(times(OPEN, ours, reference, 1.5));
    }
    if table.wants(LONG) {
        let mut many = Terminal::with_content(&data.large(effort.rows), "row-");
        let mut few = Terminal::with_content(&data.large(1_000), "row-");
        let [ours, reference] = in_turn(effort.samples(20) * effort.rounds, || [many.answer("j"), few.answer("j")]);
        table.push(times(LONG, ours, reference, 1.2));
    }
    if table.wants(REST) || table.wants(CPU) {
        let seconds = 10 / effort.divisor.min(3) as u64;
        let mut terminal = Terminal::with_content(&data.usual(), "prompt-");
        terminal.settle();
        let before = peer::cpu(terminal.program());
        let drawn = terminal.drawn_in(Duration::from_secs(seconds));
        let cpu = peer::cpu(terminal.program()).saturating_sub(before);
        let row = |what: &str, ours, bar| Row { what: what.to_owned(), ours, off: None, reference: None, bar };
        table.push(row(REST, Value::Count(drawn), Bar::Never));
        table.push(row(CPU, Value::Time(cpu), Bar::None));
    }
    if table.wants(COMMIT) {
        let samples = effort.samples(50) * effort.rounds;
        let reference = http::delay(&data.empty("console-delay.db"), samples);
        table.push(times(COMMIT, commit_to_screen(data, samples), reference, 3.0));
    }
}

/// Returns whether there is no program that makes terminals, and prints that rows are skipped.
pub fn is_skipped() -> bool {
    let is_missing = Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err();
    if is_missing {
        println!("skipped: the console, since there is no `script` of util-linux");
    }
    is_missing
}

fn in_this_process(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(PALETTE) && !table.wants(FINDINGS) {
        return;
    }
    let store = Store::open(&data.large(5_000)).expect("the database opens");
    let context = Context::shell(mcpkg::DOMAINS, store, Selection::default());
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let mut row = |what: &str, bar: f64, ours: &mut dyn FnMut(), reference: &mut dyn FnMut()| {
        if table.wants(what) {
            let [ours, reference] = in_turn(effort.samples(50) * effort.rounds, || [time(ours), time(reference)]);
            let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
            table.push(Row { what: what.to_owned(), ours, off: None, reference, bar: Bar::Times(bar) });
        }
    };
    let rows = match mcpkg_console::load(&Place::Palette, &context, &Part::default()).expect("the palette").body {
        mcpkg_console::screen::Body::List(list) => list.rows,
        other => panic!("the palette is a list and not {other:?}"),
    };
    let texts: Vec<String> =
        rows.iter().map(|row| row.cells.iter().map(|cell| cell.text().to_owned() + " ").collect()).collect();
    const TYPED: &str = "row 12";
    row(PALETTE, 2.0, &mut || assert!(!palette::matching(&rows, TYPED).is_empty()), &mut || {
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::parse(TYPED, CaseMatching::Ignore, Normalization::Smart);
        let mut buffer = Vec::new();
        let found = texts.iter().filter(|text| pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher).is_some());
        assert!(found.count() > 0);
    });
    let text = workflows::text(500);
    let validate = action::entry(mcpkg::DOMAINS, "workflow validate").expect("the operation");
    row(
        FINDINGS,
        1.2,
        &mut || assert!(!document::validated(&context, &text).expect("findings").is_empty()),
        &mut || {
            let call = validate.from_agent(json!({ "yaml": text })).expect("arguments");
            call.run(&context).expect("the findings");
        },
    );
}

fn first_frame(database: &Path) -> Duration {
    let start = Instant::now();
    let mut terminal = Terminal::start(mcpkg(database).arg("console"));
    terminal.until("palette");
    start.elapsed()
}

fn at_a_terminal(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = script(command).stdout(Stdio::null()).status().expect("script starts");
    assert!(status.success());
    start.elapsed()
}

/// Returns the median time from a commit of this process until the console draws it.
fn commit_to_screen(data: &Data, samples: usize) -> Duration {
    let database = data.empty("seen.db");
    let (store, clock) = (Store::open(&database).expect("the database opens"), Clock::system());
    let mut terminal = Terminal::start(mcpkg(&database).arg("console"));
    terminal.until("palette");
    terminal.keys("2");
    terminal.settle();
    let mut times: Vec<Duration> = (0..samples)
        .map(|n| {
            thread::sleep(Duration::from_micros(20_000 + (n as u64 * 7_919) % 20_000));
            data::create(&store, &clock, &format!("new-{n}"), None, "x").expect("the prompt can be written");
            let start = Instant::now();
            // A frame draws only the cells that differ. The number at the end of the newest row's name always differs.
            let drawn = terminal.next().expect("the console draws a commit");
            terminal.settle();
            drawn.saturating_duration_since(start)
        })
        .collect();
    median(&mut times)
}

/// Returns a command that runs `command` on a terminal of its own.
pub fn script(command: &Command) -> Command {
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(quoted).collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &format!("stty columns 120 rows 40 && exec {line}"), "/dev/null"]);
    script.env("TERM", "xterm").env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(folder) = command.get_current_dir() {
        script.current_dir(folder);
    }
    script
}

/// A program on a terminal of its own.
struct Terminal {
    child: Child,
    written: Receiver<(Instant, Vec<u8>)>,
}

impl Terminal {
    fn start(command: &Command) -> Self {
        let mut child = script(command).spawn().expect("script starts");
        let mut output = child.stdout.take().expect("an output");
        let (sender, written) = channel();
        thread::spawn(move || {
            let mut piece = [0; 1 << 16];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                if sender.send((Instant::now(), piece[..read].to_vec())).is_err() {
                    return;
                }
            }
        });
        Self { child, written }
    }

    /// Starts the console on a database and opens its content. Waits until `item`, a part of that content, is shown.
    fn with_content(database: &Path, item: &str) -> Self {
        let mut terminal = Self::start(mcpkg(database).arg("console"));
        terminal.until("palette");
        terminal.keys("3");
        terminal.until(item);
        terminal.settle();
        terminal
    }

    /// Returns the time from the key that opens the content until `item` is shown.
    fn opening(database: &Path, item: &str) -> Duration {
        let mut terminal = Self::start(mcpkg(database).arg("console"));
        terminal.until("palette");
        terminal.rest();
        let start = Instant::now();
        terminal.keys("3");
        terminal.until(item);
        start.elapsed()
    }

    /// Waits until the program does nothing more. All processes share one CPU, and the inbox's survey goes on after the
    /// first frame.
    fn rest(&mut self) {
        loop {
            let before = peer::cpu(self.program());
            self.settle();
            if peer::cpu(self.program()).saturating_sub(before) < QUIET / 20 {
                return;
            }
        }
    }

    fn keys(&mut self, keys: &str) {
        let input = self.child.stdin.as_mut().expect("an input");
        input.write_all(keys.as_bytes()).and_then(|()| input.flush()).expect("keys are typed");
    }

    /// Waits until the program has written a text.
    fn until(&mut self, wanted: &str) {
        let mut written = Vec::new();
        while !String::from_utf8_lossy(&written).contains(wanted) {
            let (_, piece) = self.written.recv_timeout(Duration::from_secs(60)).expect("the program writes");
            written.extend_from_slice(&piece);
        }
    }

    /// Waits until the program writes something, and returns the time at which it was written.
    fn next(&mut self) -> Option<Instant> {
        self.written.recv_timeout(Duration::from_secs(60)).ok().map(|(at, _)| at)
    }

    /// Waits until nothing is written any more.
    fn settle(&mut self) {
        while self.written.recv_timeout(QUIET).is_ok() {}
    }

    /// Returns the time from pressing keys until the console draws the first byte in response.
    fn answer(&mut self, keys: &str) -> Duration {
        self.settle();
        let start = Instant::now();
        self.keys(keys);
        let drawn = self.next().expect("the console draws the answer to a key");
        drawn.saturating_duration_since(start)
    }

    /// Returns how many bytes are written within a time.
    fn drawn_in(&mut self, time: Duration) -> usize {
        let until = Instant::now() + time;
        let mut bytes = 0;
        loop {
            match self.written.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((_, piece)) => bytes += piece.len(),
                Err(RecvTimeoutError::Timeout) => return bytes,
                Err(RecvTimeoutError::Disconnected) => panic!("the console ended"),
            }
        }
    }

    /// Returns the process id of the program itself, which `script` has started directly or through a shell that then
    /// became the program.
    fn program(&self) -> u32 {
        let id = self.child.id();
        let children =
            std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("/proc has the process");
        children.split_whitespace().next().and_then(|child| child.parse().ok()).expect("a child")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
