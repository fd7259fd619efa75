//! Handles signals, the standard streams and the terminal.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::programs::Socket;

pub use std::os::fd::AsFd as OpenStream;

/// The signals that ask this process to end.
pub const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signal that asks this process to end because its terminal was closed.
pub const HANG_UP: Option<i32> = Some(SIGHUP);

/// The signal that asks this process to end.
pub const TERMINATE: i32 = SIGTERM;

/// Calls `then` at the first of these signals. `then` runs in a thread with this name, because a signal handler may do
/// very little.
pub fn on_signal(signals: &[i32], name: &str, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    let wait = move || {
        if signals.forever().next().is_some() {
            then();
        }
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(wait).map(drop)
}

/// Calls `then` at each arrival of a signal. `then` runs in a thread with this name.
pub fn on_each_signal(signal: i32, name: &str, mut then: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([signal])?;
    let wait = move || signals.forever().for_each(|_| then());
    std::thread::Builder::new().name(name.to_owned()).spawn(wait).map(drop)
}

/// Suspends this process until it is continued, as Ctrl-Z does. Does nothing on Windows.
pub fn stop_self() {
    // If this fails, the process simply keeps running.
    let _ = kill_process(getpid(), Signal::TSTP);
}

/// Returns the columns and rows of a terminal, as far as it knows them.
pub fn terminal_size(terminal: &impl OpenStream) -> Option<(u16, u16)> {
    rustix::termios::tcgetwinsize(terminal).ok().map(|size| (size.ws_col, size.ws_row))
}

/// Returns standard input as a socket, if it is one.
pub fn stdin_socket() -> io::Result<Socket> {
    io::stdin().as_fd().try_clone_to_owned().map(Socket::from)
}

/// Returns standard output as a file, without the buffer of the standard library.
pub fn stdout_file() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Waits until nobody reads standard output any more, which may never happen. Returns false if the system cannot report
/// it.
pub fn wait_until_output_is_closed() -> bool {
    let stdout = io::stdout();
    loop {
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) => return watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
