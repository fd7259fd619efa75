//! Implements mcpkg's part outside the sandbox: sends the request to the starter, and receives the result.

use std::io::{self, BufReader};
use std::net::Shutdown;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::protocol::{Allowance, Ended, Frame, Request, WORD};
use crate::platform::{self, Listener, Socket};
use crate::process::{Failure, Limits, Printed, Program};

/// How long to wait for the starter's report after the sandbox has exited.
const DRAIN: Duration = Duration::from_secs(5);

/// Runs while the sandbox is created; returns whether the program may start.
pub type Before = Box<dyn FnOnce() -> bool + Send>;

/// A file or link that a program left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    File {
        /// The path relative to the folder.
        path: String,
        bytes: Vec<u8>,
        /// Whether the file is executable.
        executable: bool,
    },
    Link {
        /// The path relative to the folder.
        path: String,
        to: String,
    },
}

/// How this process and the starter inside the sandbox connect.
#[derive(Debug)]
pub enum Meeting {
    /// Through standard input. The started program's last argument must be the path of mcpkg's own program inside.
    Stdin,
    /// Through a socket with this path. The started program gets the socket's path inside from [`Meeting::words`].
    Socket(PathBuf),
}

impl Meeting {
    /// Returns the arguments for mcpkg's own program if the socket is at `inside`.
    pub fn words(inside: &str) -> [String; 2] {
        [WORD.to_owned(), inside.to_owned()]
    }
}

/// The result of a program in a sandbox.
#[derive(Debug)]
pub struct Finished {
    /// How the program ended; `None` if the starter was ended before it could report that.
    pub ended: Option<Ended>,
    /// Whether the starter started. If not, the sandbox could not be created, and its standard error says why.
    pub began: bool,
    pub status: ExitStatus,
    pub stdout: Printed,
    pub stderr: Printed,
    /// The files that the program left, in the order in which they were found.
    pub files: Vec<Left>,
    /// Paths that the program left but that were not collected: pipes, devices, links that were not requested, and whatever
    /// exceeded a limit.
    pub left_out: Vec<String>,
    /// Whether the kernel killed a process in the container because memory ran out.
    pub ran_out_of_memory: bool,
}

/// Runs `sandbox`. Inside it, mcpkg's own program starts the program in `request`, once `before` allows it. On failure,
/// no process of the sandbox keeps running.
pub fn run(
    sandbox: Program,
    request: Request,
    meeting: &Meeting,
    before: Option<Before>,
    limits: &Limits<'_>,
) -> Result<Finished, Failure> {
    let met = Met::begin(meeting, request, before, limits).map_err(Failure::Lost)?;
    let Met { stdin, talk, met, met_again } = met;
    let sandbox = match stdin {
        // Give away the sandbox's end of the socket: if this process kept a copy, the starter would never see the end
        // of the stream.
        Some(there) => sandbox.args([WORD]).stdin(platform::as_stdin(there)),
        None => sandbox,
    };
    let output = sandbox.run(&[], limits);
    if let Some(socket) = met_again {
        // Connect once, because the listener may still be waiting for a connection.
        drop(Socket::connect(socket));
    }
    if output.is_err() {
        // The program that starts the container may have ended before the container. Closing the connection ends the container.
        end(&met);
    }
    let report = talk.recv_timeout(DRAIN).or_else(|_| {
        end(&met);
        talk.recv_timeout(DRAIN)
    });
    let (output, report) = (output?, report.unwrap_or_default());
    Ok(Finished {
        ended: report.ended,
        began: report.began,
        status: output.status,
        stdout: output.stdout,
        stderr: output.stderr,
        files: report.files,
        left_out: report.left_out,
        ran_out_of_memory: report.ran_out_of_memory,
    })
}

fn end(met: &Receiver<Socket>) {
    for channel in met.try_iter() {
        let _ = channel.shutdown(Shutdown::Both);
    }
}

/// The connection to the starter inside the sandbox, which may not exist yet.
struct Met {
    /// The end of the connection for the starter, if it is passed as standard input.
    stdin: Option<Socket>,
    /// Receives the report once the starter has ended.
    talk: Receiver<Report>,
    /// Receives mcpkg's end of the connection once the starter has connected.
    met: Receiver<Socket>,
    /// The path of the listening socket, if there is one.
    met_again: Option<PathBuf>,
}

impl Met {
    fn begin(meeting: &Meeting, request: Request, before: Option<Before>, limits: &Limits<'_>) -> io::Result<Self> {
        let timeout = Some(limits.time.saturating_add(DRAIN));
        let ((sender, talk), (meets, met)) = (channel(), channel());
        let (stdin, accept): (_, Box<dyn FnOnce() -> io::Result<Socket> + Send>) = match meeting {
            Meeting::Stdin => {
                let (here, there) = Socket::pair()?;
                (Some(there), Box::new(move || Ok(here)))
            }
            Meeting::Socket(path) => {
                let listener = Listener::bind(path)?;
                // A different user inside must reach the socket too. The folder around it is closed to everybody else.
                platform::set_path_mode(path, 0o777)?;
                // Only the first connection is accepted, so nothing else inside can reach this side.
                (None, Box::new(move || listener.accept().map(|(channel, _)| channel)))
            }
        };
        let talk_over = move || {
            let mut report = Report::default();
            // Ignore errors: if the channel cannot be written to, or sends an invalid frame, the starter has ended or a
            // tool has taken its place.
            let _ = accept().and_then(|channel| {
                channel.set_write_timeout(timeout)?;
                let _ = meets.send(channel.try_clone()?);
                if before.is_some_and(|before| !before()) {
                    // The starter inside exits when it gets no request.
                    return channel.shutdown(Shutdown::Both);
                }
                // A sender that keeps writing after this side stopped reading must not block.
                let listened = listen(&channel, &request, &mut report);
                listened.or_else(|error| channel.shutdown(Shutdown::Both).and(Err(error)))
            });
            let _ = sender.send(report);
        };
        thread::Builder::new().name("to-sandbox".to_owned()).spawn(talk_over)?;
        let met_again = match meeting {
            Meeting::Stdin => None,
            Meeting::Socket(path) => Some(path.clone()),
        };
        Ok(Self { stdin, talk, met, met_again })
    }
}

#[derive(Debug, Default)]
struct Report {
    began: bool,
    ended: Option<Ended>,
    files: Vec<Left>,
    left_out: Vec<String>,
    ran_out_of_memory: bool,
}

/// Reads the starter's frames. A tool may have taken over the starter's socket, so the number and size of each kind of
/// frame are limited.
fn listen(mut channel: &Socket, request: &Request, report: &mut Report) -> io::Result<()> {
    request.write(&mut channel)?;
    let mut allowed = Allowance::of(request.output.as_ref());
    let mut from = BufReader::new(channel);
    let require = |is_allowed: bool| {
        is_allowed.then_some(()).ok_or_else(|| io::Error::other("the starter sent more than was requested"))
    };
    loop {
        match Frame::read(&mut from)? {
            Frame::Ready => require(!std::mem::replace(&mut report.began, true))?,
            Frame::OutOfMemory => require(!std::mem::replace(&mut report.ran_out_of_memory, true))?,
            Frame::File(path) => {
                require(allowed.file(&path))?;
                report.files.push(Left::File { path, bytes: Vec::new(), executable: false });
            }
            Frame::Program(path) => {
                require(allowed.file(&path))?;
                report.files.push(Left::File { path, bytes: Vec::new(), executable: true });
            }
            Frame::Link(path, to) => {
                require(allowed.file(&path))?;
                report.files.push(Left::Link { path, to });
            }
            Frame::Bytes(more) => {
                require(allowed.bytes(more.len() as u64))?;
                match report.files.last_mut() {
                    Some(Left::File { bytes, .. }) => bytes.extend(more),
                    _ => require(false)?,
                }
            }
            Frame::LeftOut(path) => {
                require(allowed.leave(&path))?;
                report.left_out.push(path);
            }
            Frame::Ended(ended) => {
                report.ended = Some(ended);
                return Ok(());
            }
        }
    }
}
