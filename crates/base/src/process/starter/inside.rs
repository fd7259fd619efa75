//! Implements the starter: mcpkg's own program inside the sandbox, which starts the requested program.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::protocol::{Ceilings, Copied, Ended, FAILED, Frame, Request, Within};
use super::{below, take};
use crate::platform::{self, Limit, Socket};

/// The maximum depth of nested folders that are copied.
const DEEPEST: usize = 64;

/// Reads a request from a socket, runs its program and reports the result. The socket is at the given path, or is
/// standard input. Returns the exit status.
pub(super) fn run(socket: Option<&Path>) -> u8 {
    // The tool runs as the same user, so it could read the memory of this process and take over its socket.
    if let Err(error) = platform::hide_memory() {
        let _ = writeln!(io::stderr(), "mcpkg: cannot protect the starter from the tool: {error}");
        return FAILED;
    }
    let channel = match socket {
        Some(socket) => Socket::connect(socket),
        None => platform::stdin_socket(),
    };
    match channel.and_then(|mut channel| answer(&mut channel)) {
        Ok(Ended::Exited(status)) => u8::try_from(status).unwrap_or(FAILED),
        // Shells use the same status.
        Ok(Ended::Killed(signal)) => u8::try_from(128 + signal).unwrap_or(FAILED),
        Ok(Ended::Trapped(_) | Ended::NotStarted(_)) | Err(_) => FAILED,
    }
}

fn answer(channel: &mut Socket) -> io::Result<Ended> {
    // The whole group gets SIGTERM. The program decides whether to exit, and this process must stay alive to report that.
    // Programs started from here get the signal's default action again.
    signal_hook::flag::register(platform::TERMINATE, Arc::new(AtomicBool::new(false)))?;
    let request = Request::read(channel)?;
    Frame::Ready.write(channel)?;
    let ended = match start(&request, channel) {
        Ok(status) => match (status.code(), platform::signal(status)) {
            (Some(code), _) => Ended::Exited(code),
            (None, Some(signal)) => Ended::Killed(signal),
            (None, None) => Ended::NotStarted(status.to_string()),
        },
        Err(error) => Ended::NotStarted(error.to_string()),
    };
    if request.within == Within::Nothing {
        below::kill_all();
    }
    if let Some(output) = &request.output {
        take::take(channel, output)?;
    }
    if request.within == Within::Container && ended != Ended::Exited(0) && below::ran_out_of_memory() {
        Frame::OutOfMemory.write(channel)?;
    }
    Frame::Ended(ended.clone()).write(channel)?;
    channel.flush()?;
    Ok(ended)
}

fn start(request: &Request, channel: &Socket) -> io::Result<ExitStatus> {
    let Some((program, arguments)) = request.argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program was given"));
    };
    // Start the watching threads before the limit on threads applies.
    below::watch(request.within, channel)?;
    if let Some(copied) = &request.copied {
        copy(copied)?;
    }
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&request.variables).current_dir(&request.folder).stdin(Stdio::null());
    limit(&request.ceilings)?;
    platform::wait_for(&mut command.spawn()?)
}

/// Sets limits on this process and everything it starts.
fn limit(ceilings: &Ceilings) -> io::Result<()> {
    for (resource, most) in [
        (Limit::Core, 0),
        (Limit::Cpu, ceilings.cpu),
        (Limit::FileSize, ceilings.file_size),
        (Limit::OpenFiles, ceilings.files),
        (Limit::AddressSpace, ceilings.addressed),
        (Limit::Data, ceilings.data),
        (Limit::Processes, ceilings.processes),
    ] {
        platform::limit(resource, most, most)?;
    }
    Ok(())
}

/// Copies a folder into an existing one, and makes the copied files writable.
fn copy(copied: &Copied) -> io::Result<()> {
    copy_folder(Path::new(&copied.from), Path::new(&copied.to), DEEPEST)
}

fn copy_folder(from: &Path, to: &Path, deep: usize) -> io::Result<()> {
    let deeper = deep.checked_sub(1).ok_or_else(|| io::Error::other("folders are nested too deeply"))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&to)?;
            copy_folder(&from, &to, deeper)?;
        } else if kind.is_symlink() {
            platform::symlink(fs::read_link(&from)?, &to)?;
        } else if kind.is_file() {
            fs::copy(&from, &to)?;
            let executable = platform::is_executable(&fs::metadata(&from)?);
            platform::set_path_mode(&to, if executable { 0o755 } else { 0o644 })?;
        }
    }
    Ok(())
}
