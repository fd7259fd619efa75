//! Draws a list on the lines of the terminal that it occupies, and reads its keys.

use std::io::{self, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::cursor::{Hide, MoveTo, MoveToColumn, MoveUp, Show};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::{Clear, ClearType, EndSynchronizedUpdate, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{SynchronizedUpdate, queue};
use tokio_util::sync::CancellationToken;

use super::super::output::{Output, size};
use super::super::styled_text::{BOLD, CYAN, Lines, StyledText};
use super::list::{Done, List, Style};
use mcpkg_base::error::{Code, Error, Result};

/// How often a waiting list checks whether a signal ended the command.
const LOOK: Duration = Duration::from_millis(50);

/// The lines of the terminal that the list occupies. Dropping this value restores the terminal, also after a panic.
pub(super) struct Canvas {
    /// The number of lines that are drawn now.
    drawn: u16,
    /// Set if the terminal has another size than when the list was drawn.
    is_resized: bool,
    events: Receiver<io::Result<Event>>,
    /// Ends the thread that reads the events.
    is_closed: Arc<AtomicBool>,
}

impl Canvas {
    pub(super) fn open() -> Result<Self> {
        enable_raw_mode().map_err(failed)?;
        let (sender, events) = channel();
        let is_closed = Arc::new(AtomicBool::new(false));
        let canvas = Self { drawn: 0, is_resized: false, events, is_closed: is_closed.clone() };
        thread::spawn(move || read(&sender, &is_closed));
        queue!(stderr(), Hide).map_err(failed)?;
        Ok(canvas)
    }

    pub(super) fn run(
        &mut self,
        output: &Output,
        list: &mut List,
        above: &Lines,
        cancelled: &CancellationToken,
    ) -> Result<Done> {
        loop {
            self.draw(output, list, above).map_err(failed)?;
            let event = loop {
                match self.events.recv_timeout(LOOK) {
                    _ if cancelled.is_cancelled() => return Ok(Done::Cancelled),
                    Ok(event) => break event.map_err(failed)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                }
            };
            match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if let Some(done) = list.press(key) {
                        return Ok(done);
                    }
                }
                Event::Resize(..) => self.is_resized = true,
                _ => {}
            }
        }
    }

    /// Replaces the list in one frame, so that nothing flickers.
    fn draw(&mut self, output: &Output, list: &mut List, above: &Lines) -> io::Result<()> {
        let (columns, rows) = size(&stderr());
        // The last column stays empty: some terminals go to the next line when it is filled.
        let lines = list.lines(columns.saturating_sub(1), rows.saturating_sub(1));
        let mut text = StyledText::default();
        for (at, (style, line)) in lines.iter().enumerate() {
            let end = if at + 1 < lines.len() { "\n" } else { "" };
            let style = match style {
                Style::Plain => anstyle::Style::new(),
                Style::Heading => BOLD,
                Style::Focus => CYAN,
            };
            text = text.and(StyledText::styled(style, line.as_str())).then(end);
        }
        let written = stderr().sync_update(|_| {
            if std::mem::take(&mut self.is_resized) {
                // The terminal may have wrapped the lines differently, so their position is unknown.
                queue!(stderr(), Clear(ClearType::All), MoveTo(0, 0))?;
                self.drawn = 0;
                self.write(output, &above.rows(columns, true).0)?;
            }
            self.erase()?;
            self.write(output, &text)
        });
        written.flatten()?;
        self.drawn = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        Ok(())
    }

    fn write(&self, output: &Output, text: &StyledText) -> io::Result<()> {
        let mut stderr = stderr().lock();
        // Raw mode needs a carriage return for each line.
        stderr.write_all(output.colored(text).replace('\n', "\r\n").as_bytes())?;
        stderr.flush()
    }

    /// Removes the lines, and moves the cursor to where the first of them was.
    fn erase(&self) -> io::Result<()> {
        let mut stderr = stderr().lock();
        if self.drawn > 1 {
            queue!(stderr, MoveUp(self.drawn - 1))?;
        }
        queue!(stderr, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        stderr.flush()
    }
}

/// Reads the terminal until the canvas is closed. It runs in its own thread, because crossterm never returns from a
/// terminal that has hung up.
fn read(events: &Sender<io::Result<Event>>, is_closed: &AtomicBool) {
    while !is_closed.load(Ordering::SeqCst) {
        let event = match event::poll(LOOK) {
            Ok(false) => continue,
            Ok(true) if is_closed.load(Ordering::SeqCst) => return,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let is_last = event.is_err();
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // A panic may have interrupted a frame.
        let _ = queue!(stderr(), EndSynchronizedUpdate);
        let _ = self.erase();
        let _ = queue!(stderr(), Show);
        let _ = stderr().flush();
        let _ = disable_raw_mode();
    }
}

fn failed(error: io::Error) -> Error {
    Error::new(Code::FileFailed, format!("Cannot use the terminal: {error}"))
        .with_source(error)
        .hint("--plain asks with one question instead of a list")
}
