//! Starts and ends processes. On Windows, they have no groups and no limits, and sockets have no paths.

use std::ffi::OsStr;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;

use crate::platform::system::{End, Limit};

pub use tokio::io::{DuplexStream as Input, DuplexStream as Output};

pub const HAS_LIMITS: bool = false;

/// The number of this signal on Linux. Windows has no such signal.
pub const CPU_TIME_IS_UP: i32 = 24;

pub const POLL: Option<Duration> = Some(Duration::from_millis(20));

/// How many bytes of a pipe are read ahead.
const PIPE: usize = 64 << 10;

fn unsupported() -> Error {
    ErrorKind::Unsupported.into()
}

pub fn call_as(_: &mut Command, _: &OsStr) {}

pub fn separate(_: &mut Command) {}

/// Does nothing: this system cannot watch a child without waiting for it, so the caller checks at intervals.
pub fn watch(_: &Child, _: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Ok(())
}

/// Kills a program and the programs that it started. Does nothing for [`End::Asked`], because Windows has no way to
/// ask.
pub fn end(child: &mut Child, how: End) {
    if matches!(how, End::Asked) || !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    let id = child.id().to_string();
    let mut tree = Command::new("taskkill");
    tree.args(["/T", "/F", "/PID", &id]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !tree.status().is_ok_and(|status| status.success()) {
        let _ = child.kill();
    }
}

pub fn ask_group(_: u32) -> bool {
    false
}

pub fn ask_own_group() {}

pub fn kill(_: u32) {}

pub fn wait_for(child: &mut Child) -> io::Result<ExitStatus> {
    child.wait()
}

pub fn reap_ended() {}

pub fn signal(_: ExitStatus) -> Option<i32> {
    None
}

pub fn become_program(_: Command) -> Error {
    unsupported()
}

pub fn limit(_: Limit, _: u64, _: u64) -> io::Result<()> {
    Err(unsupported())
}

pub fn raise_open_files() -> Option<u64> {
    None
}

pub fn hide_memory() -> io::Result<()> {
    Ok(())
}

pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// A socket with a path, which cannot exist on Windows.
#[derive(Debug)]
pub enum Socket {}

/// See [`Socket`].
#[derive(Debug)]
pub enum Listener {}

impl Socket {
    pub fn connect(_: impl AsRef<Path>) -> io::Result<Self> {
        Err(unsupported())
    }

    pub fn pair() -> io::Result<(Self, Self)> {
        Err(unsupported())
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        match *self {}
    }

    pub fn shutdown(&self, _: Shutdown) -> io::Result<()> {
        match *self {}
    }

    pub fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        match *self {}
    }
}

impl Read for &Socket {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match **self {}
    }
}

impl Write for &Socket {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match **self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match **self {}
    }
}

impl Read for Socket {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl Write for Socket {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}

impl Listener {
    pub fn bind(_: impl AsRef<Path>) -> io::Result<Self> {
        Err(unsupported())
    }

    pub fn accept(&self) -> io::Result<(Socket, ())> {
        match *self {}
    }
}

pub fn as_stdin(socket: Socket) -> Stdio {
    match socket {}
}

/// Connects the pipes to streams of the current runtime by two threads, because the system has no pipes that a runtime
/// could wait for.
pub fn pipes(stdin: ChildStdin, stdout: ChildStdout) -> io::Result<(Input, Output)> {
    let runtime = Handle::current();
    let (near, far) = tokio::io::duplex(PIPE);
    let handle = runtime.clone();
    thread::Builder::new().name("program-input".to_owned()).spawn(move || write_all(&handle, far, stdin))?;
    let (output, far) = tokio::io::duplex(PIPE);
    thread::Builder::new().name("program-output".to_owned()).spawn(move || read_all(&runtime, far, stdout))?;
    Ok((near, output))
}

fn write_all(runtime: &Handle, mut from: DuplexStream, mut to: ChildStdin) {
    let mut piece = vec![0; PIPE];
    while let Ok(count) = runtime.block_on(from.read(&mut piece)) {
        if count == 0 || to.write_all(&piece[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

fn read_all(runtime: &Handle, mut to: DuplexStream, mut from: ChildStdout) {
    let mut piece = vec![0; PIPE];
    while let Ok(count) = from.read(&mut piece) {
        if count == 0 || runtime.block_on(to.write_all(&piece[..count])).is_err() {
            return;
        }
    }
}
