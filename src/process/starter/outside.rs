//! The side outside of the sandbox: hands over what is to be started, and takes what came of it.

use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;

use super::protocol::{Ended, Frame, Request};
use crate::process::{Failure, Limits, Printed, Program};

/// How long the other side is waited for once the sandbox has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// What came of a program that was started in a sandbox.
#[derive(Debug)]
pub struct Finished {
    /// How it ended; `None` where its starter was ended before it could tell.
    pub ended: Option<Ended>,
    /// Whether the starter began; where it did not, the sandbox was not made, and its standard error says why.
    pub began: bool,
    /// How the sandbox ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Printed,
    /// Its standard error.
    pub stderr: Printed,
    /// The files that it left, by their paths.
    pub files: Vec<(String, Vec<u8>)>,
    /// What it left that was not taken: links, pipes, devices, and what was too much.
    pub left_out: Vec<String>,
}

/// Runs `sandbox`, whose last argument is mcpkg's own program inside of it, and has that start what `request` says. Where
/// this fails, no part of it runs on.
///
/// # Errors
/// See [`Failure`]. A program that fails is no failure.
pub fn run(sandbox: Program, request: Request, limits: &Limits<'_>) -> Result<Finished, Failure> {
    let (here, there) = UnixStream::pair().map_err(Failure::Lost)?;
    let _ = here.set_write_timeout(Some(limits.time.saturating_add(DRAIN)));
    let talk = thread::Builder::new().name("to-sandbox".to_owned());
    let talk = talk.spawn(move || talk_over(&here, &request)).map_err(Failure::Lost)?;
    // What is returned holds no end of the pair that the other side waits for.
    let output = sandbox.args([super::protocol::WORD]).stdin(OwnedFd::from(there)).run(&[], limits);
    let told = talk.join().unwrap_or_default();
    let output = output?;
    Ok(Finished {
        ended: told.ended,
        began: told.began,
        status: output.status,
        stdout: output.stdout,
        stderr: output.stderr,
        files: told.files,
        left_out: told.left_out,
    })
}

/// What the starter told.
#[derive(Debug, Default)]
struct Told {
    began: bool,
    ended: Option<Ended>,
    files: Vec<(String, Vec<u8>)>,
    left_out: Vec<String>,
}

fn talk_over(channel: &UnixStream, request: &Request) -> Told {
    let mut told = Told::default();
    // Where it cannot be written to, or what it says is no frame, it ended or is no starter any more.
    let _ = listen(channel, request, &mut told);
    told
}

fn listen(mut channel: &UnixStream, request: &Request, told: &mut Told) -> io::Result<()> {
    request.write(&mut channel)?;
    let (mut files, mut bytes) = request.output.as_ref().map_or((0, 0), |output| (output.files, output.bytes));
    let mut from = BufReader::new(channel);
    let too_much = || io::Error::other("more than was asked for");
    loop {
        match Frame::read(&mut from)? {
            Frame::Ready => told.began = true,
            Frame::File(path) => {
                files = files.checked_sub(1).ok_or_else(too_much)?;
                told.files.push((path, Vec::new()));
            }
            Frame::Bytes(more) => {
                bytes = bytes.checked_sub(more.len() as u64).ok_or_else(too_much)?;
                told.files.last_mut().ok_or_else(too_much)?.1.extend(more);
            }
            Frame::LeftOut(path) => told.left_out.push(path),
            Frame::Ended(ended) => {
                told.ended = Some(ended);
                return Ok(());
            }
        }
    }
}
