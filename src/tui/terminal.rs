//! Controls the terminal: sets and restores its modes, and reads keys in a thread.

use std::io::{self, Stdout, Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
};
use ratatui::crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{SynchronizedUpdate, execute};

use super::app::App;
use super::draw;
use super::message::Message;

/// How often, at least, the key thread checks whether another program uses the terminal.
const LOOK: Duration = Duration::from_millis(250);

/// The maximum length of a copied text in base64. Terminals ignore longer ones.
const COPIED: usize = 74_994;

pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Stdout>>,
    /// Set while another program, such as an editor, uses the terminal. The key thread must then read no keys.
    is_aside: Arc<AtomicBool>,
    has_mouse: bool,
    /// Set if the next frame must draw everything.
    needs_clear: bool,
}

impl Terminal {
    /// Takes over the terminal, and starts to read keys. If the calling thread panics, the terminal is restored before the
    /// message is printed. A panic of any other thread is only logged: workers show it as an error on the screen.
    pub fn open(messages: &Sender<Message>) -> Result<Self> {
        enter().map_err(failed)?;
        let (hook, main) = (std::panic::take_hook(), thread::current().id());
        std::panic::set_hook(Box::new(move |info| match thread::current().id() == main {
            true => {
                leave();
                hook(info);
            }
            false => tracing::error!(place = ?info.location(), "a worker of the console crashed"),
        }));
        let inner = ratatui::Terminal::new(CrosstermBackend::new(stdout())).map_err(failed)?;
        let is_aside = Arc::new(AtomicBool::new(false));
        let (aside, sender) = (Arc::clone(&is_aside), messages.clone());
        thread::spawn(move || read(&aside, &sender));
        let sender = messages.clone();
        let ended = move || drop(sender.send(Message::Ended));
        let _ = platform::on_signal(&mcpkg_base::process::ending(), "signals", ended);
        Ok(Self { inner, is_aside, has_mouse: false, needs_clear: false })
    }

    /// Draws a frame. A frame is written in pieces, and the terminal is asked to show all of them at once.
    pub fn draw(&mut self, app: &mut App) -> Result<()> {
        let drawn = stdout().sync_update(|_| {
            if std::mem::take(&mut self.needs_clear) {
                // `Terminal::clear` would first ask the terminal where the cursor is, and the key thread could take the
                // answer.
                let size = self.inner.size()?;
                self.inner.resize(size.into())?;
            }
            self.inner.draw(|frame| draw::draw(frame, app)).map(drop)
        });
        drawn.flatten().map_err(failed)
    }

    /// Lets the next frame draw everything, after the size or the mouse mode changed.
    pub fn refresh(&mut self, has_mouse: bool) -> Result<()> {
        (self.has_mouse, self.needs_clear) = (has_mouse, true);
        match has_mouse {
            true => execute!(stdout(), EnableMouseCapture),
            false => execute!(stdout(), DisableMouseCapture),
        }
        .map_err(failed)
    }

    /// Gives the terminal to `work`, such as an editor, and takes it back afterwards.
    pub fn aside<T>(&mut self, work: impl FnOnce() -> T) -> Result<T> {
        self.is_aside.store(true, Ordering::SeqCst);
        // The key thread may still be in `poll`, and would take a key from `work`. Wait until `poll` has returned.
        thread::sleep(LOOK);
        leave();
        let done = work();
        enter().map_err(failed)?;
        if self.has_mouse {
            execute!(stdout(), EnableMouseCapture).map_err(failed)?;
        }
        self.is_aside.store(false, Ordering::SeqCst);
        self.needs_clear = true;
        Ok(done)
    }

    /// Suspends the process, as Ctrl-Z does in other programs. Redraws when it resumes.
    pub fn suspend(&mut self) -> Result<()> {
        self.aside(platform::stop_self)
    }

    /// Asks the terminal to put a text on the clipboard (OSC 52). Returns false if the text is longer than [`COPIED`].
    pub fn copy(&mut self, text: &str) -> Result<bool> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        if encoded.len() > COPIED {
            return Ok(false);
        }
        write!(stdout(), "\x1b]52;c;{encoded}\x07").and_then(|()| stdout().flush()).map_err(failed)?;
        Ok(true)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

fn leave() {
    let _ = execute!(
        stdout(),
        // A panic may have interrupted a frame.
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        ratatui::crossterm::cursor::Show
    );
    let _ = disable_raw_mode();
}

/// Reads keys until the console ends.
fn read(is_aside: &AtomicBool, messages: &Sender<Message>) {
    loop {
        if is_aside.load(Ordering::SeqCst) {
            thread::sleep(LOOK / 5);
            continue;
        }
        match event::poll(LOOK) {
            Ok(false) => continue,
            Ok(true) if is_aside.load(Ordering::SeqCst) => continue,
            Ok(true) => {}
            // The terminal is gone.
            Err(_) => return drop(messages.send(Message::Ended)),
        }
        let message = match event::read() {
            Ok(Event::Key(key)) => Message::Key(key, Instant::now()),
            Ok(Event::Paste(text)) => Message::Pasted(text),
            Ok(Event::Resize(_, _)) => Message::Resized,
            Ok(_) => continue,
            Err(_) => Message::Ended,
        };
        if messages.send(message).is_err() {
            return;
        }
    }
}

fn failed(error: io::Error) -> Error {
    Error::new(Code::FileFailed, format!("Cannot use the terminal: {error}")).with_source(error)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// The next test runs this one in a process and a terminal of its own.
    #[test]
    #[ignore = "it takes over the terminal; another test starts it in one of its own"]
    fn takes_the_terminal_and_panics() {
        let (sender, _messages) = std::sync::mpsc::channel();
        let _terminal = Terminal::open(&sender).expect("a terminal");
        // A worker's panic leaves the screen alone.
        let _ = thread::spawn(|| panic!("of a worker")).join();
        panic!("of the console");
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn a_panic_gives_the_terminal_back_before_it_is_printed() {
        let test = std::env::current_exe().expect("this program");
        let line = format!(
            "stty -g; '{}' --ignored --exact --nocapture --test-threads=1 tui::terminal::tests::takes_the_terminal_and_panics; stty -g",
            test.display()
        );
        let mut script = Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null());
        let Ok(output) = script.output() else { return eprintln!("skipped: there is no script of util-linux") };
        let shown = String::from_utf8_lossy(&output.stdout);
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} was not written: {shown:?}"));
        let left = at("\u{1b}[?1049l");
        assert!(at("\u{1b}[?1049h") < left && left < at("of the console") && left < at("\u{1b}[?25h"), "{shown:?}");
        assert!(!shown.contains("of a worker"), "{shown:?}");
        let is_state = |line: &&str| line.matches(':').count() > 10;
        let states: Vec<&str> = shown.lines().map(str::trim).filter(is_state).collect();
        assert_eq!(states.len(), 2, "{shown:?}");
        assert_eq!(states[0], states[1]);
    }
}
