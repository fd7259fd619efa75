//! Enters control groups before a program starts, so that none of its processes is ever outside the groups.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use super::{own, protocol};
use crate::platform;
use crate::process::cgroup::{self, Cgroup};
use crate::process::{Program, full_path};

/// Returns the command that enters the control group, if there is one, and then becomes `program`.
///
/// # Errors
/// The system's error if the path of mcpkg's own program is unknown.
pub fn within(cgroup: Option<&Cgroup>, program: &str) -> io::Result<Program> {
    let Some(cgroup) = cgroup else { return Ok(Program::new(program)) };
    let folders = cgroup.folders();
    let words = [OsString::from(protocol::ENTER), OsString::from(folders.len().to_string())];
    let folders = folders.iter().map(|folder| folder.clone().into_os_string());
    Ok(Program::new(own::program()?).args(words.into_iter().chain(folders)).args([full_path(program.as_ref())]))
}

/// Enters the groups, and then replaces this process with the program. Only call this while the process has a single
/// thread. Returns the exit status if it fails.
pub(super) fn run(arguments: &[OsString]) -> u8 {
    let error = become_program(arguments);
    let _ = writeln!(io::stderr(), "mcpkg: cannot start a sandbox: {error}");
    protocol::FAILED
}

fn become_program(arguments: &[OsString]) -> io::Error {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "the list of control groups is missing or invalid");
    let Some((number, rest)) = arguments.split_first() else { return wrong() };
    let number = number.to_str().and_then(|number| number.parse().ok()).filter(|number| *number < rest.len());
    let Some(number) = number else { return wrong() };
    let (folders, program): (&[OsString], &[OsString]) = rest.split_at(number);
    if let Err(error) = cgroup::enter(&folders.iter().map(PathBuf::from).collect::<Vec<_>>()) {
        return error;
    }
    let program: Vec<&OsStr> = program.iter().map(OsString::as_os_str).collect();
    let mut command = Command::new(program[0]);
    command.args(&program[1..]);
    platform::become_program(command)
}
