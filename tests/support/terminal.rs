//! Runs a command at a terminal of its own, for tests of prompts and full-screen programs.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Like [`at_a_terminal`], on a terminal with this many columns and without typing anything. Returns the output with
/// plain line ends.
pub fn shown_on(columns: u16, command: &Command) -> Option<String> {
    at_a_terminal(&sized(columns, 50, command), "").map(|(shown, _)| shown.replace("\r\n", "\n"))
}

/// Like [`shown_on`], but types `typed` once the command has shown `awaited`.
pub fn typed_on(columns: u16, command: &Command, awaited: &str, typed: &str) -> Option<String> {
    typed_after(&sized(columns, 50, command), awaited, typed).map(|(shown, _)| shown.replace("\r\n", "\n"))
}

/// Runs a command on a terminal of this size, and types `typed` once the command has shown `awaited`. Returns the rows
/// of the screen at that moment, the complete output, and the exit status.
pub fn screen_at(
    (columns, rows): (u16, u16),
    command: &Command,
    awaited: &str,
    typed: &str,
) -> Option<(Vec<String>, String, i32)> {
    let (shown, status) = typed_after(&sized(columns, rows, command), awaited, typed)?;
    let until = shown.find(awaited).map_or(shown.len(), |at| at + awaited.len());
    Some((screen((columns, rows), &shown[..until]), shown, status))
}

/// Returns the rows of a terminal of this size after `written` was written to it.
pub fn screen((columns, rows): (u16, u16), written: &str) -> Vec<String> {
    let [height, width] = [rows, columns].map(|size| NonZeroU16::new(size).expect("a size"));
    let mut terminal = vt100::Parser::new(height, width, 0);
    terminal.process(written.as_bytes());
    terminal.screen().rows(0, columns).collect()
}

/// Returns a command that runs `command` on a terminal of this size.
fn sized(columns: u16, rows: u16, command: &Command) -> Command {
    let mut sized = Command::new("/bin/sh");
    let line = format!("stty columns {columns} rows {rows} && exec \"$0\" \"$@\"");
    sized.args(["-c", &line]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => sized.env(name, value),
            None => sized.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        sized.current_dir(folder);
    }
    sized
}

/// Runs a command at a terminal and types `typed`. Returns the output and whether the command succeeded; `None` if the
/// machine lacks the program `script` of util-linux.
pub fn at_a_terminal(command: &Command, typed: &str) -> Option<(String, bool)> {
    typed_after(command, "", typed).map(|(shown, status)| (shown, status == 0))
}

/// Runs a command at a terminal and types `typed` once the command has shown `awaited`. Returns the complete output and
/// the exit status.
pub fn typed_after(command: &Command, awaited: &str, typed: &str) -> Option<(String, i32)> {
    let mut child = spawned(command)?;
    // Keep the input open until the command has ended: when the input ends, `script` also ends the terminal's input.
    let mut input = child.stdin.take().expect("an input");
    let mut output = child.stdout.take().expect("an output");
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&shown).contains(awaited) {
        match output.read(&mut piece).expect("what is shown") {
            0 => break,
            read => shown.extend_from_slice(&piece[..read]),
        }
    }
    // Ignore a failure: if the command has already ended, its output shows why.
    let _ = input.write_all(typed.as_bytes()).and_then(|()| input.flush());
    output.read_to_end(&mut shown).expect("what is shown");
    let status = child.wait().expect("script ends");
    drop(input);
    Some((String::from_utf8_lossy(&shown).into_owned(), status.code().unwrap_or(-1)))
}

/// Starts a command at a terminal of its own; `None` if the machine lacks the program `script` of util-linux.
fn spawned(command: &Command) -> Option<Child> {
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(quoted).collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        script.current_dir(folder);
    }
    script.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match script.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        child => Some(child.expect("script starts")),
    }
}

/// The maximum time that a test waits for a text on the screen.
const SCREEN: Duration = Duration::from_secs(60);

/// What a program writes before and after a frame that the terminal should show at once (mode 2026, "synchronized
/// output").
const FRAME: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

/// What a program has written to its terminal.
struct Output {
    /// What the terminal shows.
    parser: vt100::Parser,
    written: Vec<u8>,
    /// How many bytes of `written` are on the screen: all but a frame that has not ended.
    shown: usize,
}

impl Output {
    fn write(&mut self, piece: &[u8]) {
        self.written.extend_from_slice(piece);
        let [begin, end] = FRAME.map(|mark| self.written.windows(mark.len()).rposition(|bytes| bytes == mark));
        let until = begin.filter(|_| begin > end).unwrap_or(self.written.len());
        if until > self.shown {
            self.parser.process(&self.written[self.shown..until]);
            self.shown = until;
        }
    }
}

/// A program that uses the whole screen of a terminal, such as the console, while the test sends it keys.
pub struct Screen {
    child: Child,
    input: Option<ChildStdin>,
    output: Arc<Mutex<Output>>,
    columns: u16,
}

impl Screen {
    /// Starts a command on a terminal of this size; `None` if the machine lacks the program `script` of util-linux.
    pub fn start((columns, rows): (u16, u16), command: &Command) -> Option<Self> {
        let mut child = spawned(&sized(columns, rows, command))?;
        let [height, width] = [rows, columns].map(|size| NonZeroU16::new(size).expect("a size"));
        let parser = vt100::Parser::new(height, width, 0);
        let output = Arc::new(Mutex::new(Output { parser, written: Vec::new(), shown: 0 }));
        let (mut pipe, reader) = (child.stdout.take().expect("an output"), Arc::clone(&output));
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut piece) {
                reader.lock().expect("the output").write(&piece[..read]);
            }
        });
        let input = child.stdin.take();
        Some(Self { child, input, output, columns })
    }

    /// Returns the current text of the screen, one row per line.
    pub fn text(&self) -> String {
        let output = self.output.lock().expect("the output");
        let rows = output.parser.screen().rows(0, self.columns);
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }

    /// Returns the current screen with its colors as escape codes, from which a picture can be drawn.
    pub fn colored(&self) -> String {
        let output = self.output.lock().expect("the output");
        let screen = output.parser.screen();
        let (rows, columns) = screen.size();
        let mut text = String::new();
        for row in 0..rows.get() {
            let (mut line, mut now) = (String::new(), String::new());
            for column in 0..columns.get() {
                let Some(cell) = screen.cell(row, column) else { continue };
                let mut codes: Vec<&str> = Vec::new();
                codes.extend(cell.bold().then_some("1"));
                codes.extend(cell.dim().then_some("2"));
                codes.extend(cell.underline().then_some("4"));
                codes.extend(cell.inverse().then_some("7"));
                if let vt100::Color::Idx(color @ 0..8) = cell.fgcolor() {
                    codes.push(["30", "31", "32", "33", "34", "35", "36", "37"][usize::from(color)]);
                }
                let codes = codes.join(";");
                if codes != now {
                    line.push_str(&format!("\u{1b}[0;{codes}m").replace("[0;m", "[0m"));
                    now = codes;
                }
                line.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            text.push_str(line.trim_end());
            text.push_str("\u{1b}[0m\n");
        }
        text
    }

    /// Returns all bytes that the program has written.
    pub fn written(&self) -> Vec<u8> {
        self.output.lock().expect("the output").written.clone()
    }

    /// Changes the size of the terminal.
    pub fn resize(&mut self, (columns, rows): (u16, u16)) {
        let [height, width] = [rows, columns].map(|size| NonZeroU16::new(size).expect("a size"));
        self.output.lock().expect("the output").parser.screen_mut().set_size(height, width);
        self.columns = columns;
        let terminal = format!("/proc/{}/fd/0", self.program());
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let status = Command::new("stty").args(["-F", &terminal, "columns", &columns, "rows", &rows]).status();
        assert!(status.expect("stty starts").success(), "it is resized");
    }

    /// Checks that the program wrote several frames, and nothing between them that shows on the screen.
    #[track_caller]
    pub fn assert_frames(&self) {
        let written = String::from_utf8_lossy(&self.written()).into_owned();
        let [begin, end] = FRAME.map(|mark| str::from_utf8(mark).expect("a mark"));
        let (first, last) = (written.find(begin).expect("a frame"), written.rfind(end).expect("an end"));
        let frames: Vec<&str> = written[first..last].split(begin).skip(1).collect();
        assert!(frames.len() >= 2, "{written:?}");
        let between: String = frames.iter().filter_map(|frame| frame.split_once(end)).map(|(_, after)| after).collect();
        let is_blank = screen((80, 24), &between).concat().trim().is_empty();
        let clears = ["\u{1b}[2J", "\u{1b}[J", "\u{1b}[K"].iter().any(|clear| between.contains(clear));
        assert!(is_blank && !clears, "outside of a frame: {between:?}");
    }

    /// Waits until the screen contains `awaited`, and returns the whole screen.
    #[track_caller]
    pub fn wait(&self, awaited: &str) -> String {
        self.wait_until(|text| text.contains(awaited), awaited)
    }

    /// Waits until `is_so` accepts the screen, and returns the whole screen.
    #[track_caller]
    pub fn wait_until(&self, is_so: impl Fn(&str) -> bool, what: &str) -> String {
        let until = Instant::now() + SCREEN;
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < until, "{what} is not on the screen:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the screen has stayed the same for two seconds, or for 50 seconds at most.
    pub fn settle(&self) {
        let (mut text, mut same) = (self.text(), 0);
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(500));
            let now = self.text();
            same = if now == text { same + 1 } else { 0 };
            if same == 4 {
                return;
            }
            text = now;
        }
    }

    /// Types keys.
    pub fn keys(&mut self, keys: &str) {
        let input = self.input.as_mut().expect("an input");
        input.write_all(keys.as_bytes()).and_then(|()| input.flush()).expect("keys are typed");
    }

    /// Returns whether the program still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the process id of the program itself, which `script` has started through a shell.
    pub fn program(&self) -> String {
        let child = |id: &str| {
            let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            children.split_whitespace().next().map(str::to_owned)
        };
        let mut program = child(&self.child.id().to_string()).expect("a program");
        while let Some(below) = child(&program) {
            program = below;
        }
        program
    }

    /// Kills the program itself.
    pub fn kill(&self) {
        let status = Command::new("kill").args(["-9", &self.program()]).status().expect("kill starts");
        assert!(status.success(), "it is killed");
    }

    /// Takes the terminal away, and waits until the program has ended.
    pub fn hang_up(self) {
        let stat = format!("/proc/{}/stat", self.program());
        drop(self);
        let until = Instant::now() + SCREEN;
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < until, "the program goes on without its terminal");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the program ends, and returns its exit status.
    pub fn end(mut self) -> i32 {
        let status = self.child.wait().expect("script ends");
        self.input = None;
        status.code().unwrap_or(-1)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
