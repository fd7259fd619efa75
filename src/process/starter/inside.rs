//! The side inside of the sandbox: mcpkg's own program, which starts the other one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rlimit::Resource;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::protocol::{Ceilings, Ended, Frame, Output, Request};

/// The status where mcpkg itself failed, as a shell has it for what it cannot run.
const FAILED: u8 = 126;

/// Folders inside each other that are walked.
const DEEPEST: usize = 16;

/// The longest list of what is not taken.
const MOST_LEFT_OUT: usize = 64;

/// Starts what is asked for on standard input, waits for its end and tells of it. Returns the status to end with.
pub(super) fn run() -> u8 {
    let Ok(channel) = io::stdin().as_fd().try_clone_to_owned() else { return FAILED };
    let mut channel = UnixStream::from(channel);
    match answer(&mut channel) {
        Ok(Ended::Exited(status)) => u8::try_from(status).unwrap_or(FAILED),
        // As a shell says it.
        Ok(Ended::Killed(signal)) => u8::try_from(128 + signal).unwrap_or(FAILED),
        Ok(Ended::Trapped(_) | Ended::NotStarted(_)) | Err(_) => FAILED,
    }
}

fn answer(channel: &mut UnixStream) -> io::Result<Ended> {
    // The group is asked to end: the program decides whether it does, and this one tells of it. What it starts has the
    // usual meaning of the signal again.
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))?;
    let request = Request::read(channel)?;
    Frame::Ready.write(channel)?;
    let ended = match start(&request) {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, Some(signal)) => Ended::Killed(signal),
            (None, None) => Ended::NotStarted(status.to_string()),
        },
        Err(error) => Ended::NotStarted(error.to_string()),
    };
    if let Some(output) = &request.output {
        Taken { channel, files: output.files, bytes: output.bytes, left_out: 0 }.take(output)?;
    }
    Frame::Ended(ended.clone()).write(channel)?;
    channel.flush()?;
    Ok(ended)
}

fn start(request: &Request) -> io::Result<ExitStatus> {
    let Some((program, arguments)) = request.argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program"));
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&request.variables).current_dir(&request.folder).stdin(Stdio::null());
    limit(&request.ceilings)?;
    command.status()
}

/// Limits this process, and with it what it starts.
fn limit(ceilings: &Ceilings) -> io::Result<()> {
    for (resource, most) in [
        (Resource::CORE, 0),
        (Resource::CPU, ceilings.cpu),
        (Resource::FSIZE, ceilings.file_size),
        (Resource::NOFILE, ceilings.files),
        (Resource::AS, ceilings.addressed),
        (Resource::DATA, ceilings.data),
        (Resource::NPROC, ceilings.processes),
    ] {
        // What the machine allows less of stays so.
        let (_, hard) = resource.get()?;
        resource.set(most.min(hard), most.min(hard))?;
    }
    Ok(())
}

/// What is still taken out of a folder.
struct Taken<'a> {
    channel: &'a mut UnixStream,
    files: usize,
    bytes: u64,
    left_out: usize,
}

impl Taken<'_> {
    /// Sends the files of a folder. Something may still write there: links are not followed and pipes not waited for.
    fn take(&mut self, output: &Output) -> io::Result<()> {
        match rustix::fs::open(&*output.folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => self.folder(&folder, "", DEEPEST),
            Err(_) => Ok(()),
        }
    }

    fn folder(&mut self, folder: &OwnedFd, below: &str, deep: usize) -> io::Result<()> {
        let Ok(entries) = Dir::read_from(folder) else { return self.leave(below) };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) if names.len() < 8 * MOST_LEFT_OUT => names.push(name.to_owned()),
                Ok(_) | Err(_) => self.leave(&format!("{below}{}", entry.file_name().to_string_lossy()))?,
            }
        }
        names.sort_unstable();
        for name in names {
            let path = format!("{below}{name}");
            let kind = rustix::fs::statat(folder, &*name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| FileType::from_raw_mode(stat.st_mode));
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match kind {
                Ok(FileType::RegularFile) => match rustix::fs::openat(folder, &*name, flags, Mode::empty()) {
                    Ok(file) => self.file(File::from(file), &path)?,
                    Err(_) => self.leave(&path)?,
                },
                Ok(FileType::Directory) if deep > 0 => {
                    match rustix::fs::openat(folder, &*name, flags | OFlags::DIRECTORY, Mode::empty()) {
                        Ok(inner) => self.folder(&inner, &format!("{path}/"), deep - 1)?,
                        Err(_) => self.leave(&path)?,
                    }
                }
                _ => self.leave(&path)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, mut file: File, path: &str) -> io::Result<()> {
        let size = match file.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            _ => return self.leave(path),
        };
        if self.files == 0 || size > self.bytes {
            return self.leave(path);
        }
        self.files -= 1;
        Frame::File(path.to_owned()).write(self.channel)?;
        // It may grow meanwhile.
        let mut left = size;
        let mut piece = vec![0; 64 << 10];
        while left > 0 {
            let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match file.read(&mut piece[..most])? {
                0 => break,
                read => {
                    Frame::Bytes(piece[..read].to_vec()).write(self.channel)?;
                    left -= read as u64;
                }
            }
        }
        self.bytes -= size;
        Ok(())
    }

    fn leave(&mut self, path: &str) -> io::Result<()> {
        if self.left_out == MOST_LEFT_OUT {
            return Ok(());
        }
        self.left_out += 1;
        Frame::LeftOut(path.to_owned()).write(self.channel)
    }
}
