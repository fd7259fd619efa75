//! Handles signals, the standard streams and the terminal.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::programs::Socket;

pub use signal_hook::consts::SIGTERM as TERMINATE;
pub use std::os::windows::io::AsHandle as OpenStream;

pub const ENDING: [i32; 2] = [SIGINT, SIGTERM];

pub const HANG_UP: Option<i32> = None;

/// How often to check whether a signal came.
const LOOK: Duration = Duration::from_millis(100);

pub fn on_signal(signals: &[i32], name: &str, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let came = Arc::new(AtomicBool::new(false));
    for signal in signals {
        signal_hook::flag::register(*signal, Arc::clone(&came))?;
    }
    let wait = move || {
        while !came.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        then();
    };
    thread::Builder::new().name(name.to_owned()).spawn(wait).map(drop)
}

/// Does nothing: Windows has no SIGHUP, the only signal for which this is called.
pub fn on_each_signal(_: i32, _: &str, _: impl FnMut() + Send + 'static) -> io::Result<()> {
    Ok(())
}

pub fn stop_self() {}

/// Returns nothing: on Windows, mcpkg gets the size from the crate `console`.
pub fn terminal_size(_: &impl OpenStream) -> Option<(u16, u16)> {
    None
}

pub fn stdin_socket() -> io::Result<Socket> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn stdout_file() -> io::Result<File> {
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

pub fn wait_until_output_is_closed() -> bool {
    false
}
