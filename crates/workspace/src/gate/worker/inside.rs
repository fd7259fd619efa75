//! The part that runs in the worker process: limits the process, then runs a model.

use std::io::{self, ErrorKind, Read, Write};

use super::protocol::{Answer, Described, Head, MEMORY, Ran, TIME};
use crate::gate::engine::{Engine, Stopped, Tensor};
use mcpkg_base::platform::{self, Limit};

/// Limits this process, runs the model from standard input with the engine, and writes the answer to standard output.
/// Returns the exit status.
pub fn run(engine: Engine) -> u8 {
    let answer = limit().and_then(|()| job(engine, io::stdin().lock()));
    let answer = answer.unwrap_or_else(|error| {
        let kind = if error.kind() == ErrorKind::OutOfMemory { "memory_limit" } else { "crashed" };
        Answer::Stopped(Stopped::new(kind, error.to_string()))
    });
    let written =
        serde_json::to_vec(&answer).map_err(io::Error::from).and_then(|answer| io::stdout().write_all(&answer));
    u8::from(written.is_err())
}

/// Limits this process's memory and CPU time, and forbids it to open files. On Linux, also makes it end when its
/// parent process ends. Fails on systems without these limits; such systems have no engine either.
fn limit() -> io::Result<()> {
    // If the parent has already ended, the job on standard input is incomplete, which ends this process as well.
    platform::end_with_parent()?;
    let seconds = TIME.as_secs();
    for (resource, soft, hard) in [
        (Limit::Core, 0, 0),
        (Limit::FileSize, 0, 0),
        (Limit::AddressSpace, MEMORY, MEMORY),
        // The soft limit sends SIGXCPU, by which the parent recognizes a timeout.
        (Limit::Cpu, seconds, seconds + 1),
        // Files that are already open stay usable.
        (Limit::OpenFiles, 0, 0),
    ] {
        platform::limit(resource, soft, hard)?;
    }
    Ok(())
}

fn job(engine: Engine, mut from: impl Read) -> io::Result<Answer> {
    let head = Head::read(&mut from)?;
    let mut tensors = |described: Vec<Described>| -> io::Result<Vec<(String, Tensor)>> {
        described.into_iter().map(|described| described.read(&mut from)).collect()
    };
    let (inputs, expected) = (tensors(head.inputs)?, tensors(head.expected)?);
    let given = match engine(&mut from.take(head.size), inputs, &head.outputs) {
        Ok(given) => given,
        Err(stopped) => return Ok(Answer::Stopped(stopped)),
    };
    let output = given.outputs.iter().map(|(name, tensor)| (name.clone(), tensor.data(head.shown)));
    let differs = expected.iter().filter_map(|(name, expected)| {
        let why = match given.outputs.iter().find(|(known, _)| known == name) {
            Some((_, tensor)) => tensor.differs(expected, head.tolerance)?,
            None => "the model did not return this output".to_owned(),
        };
        Some(format!("`{name}`: {why}"))
    });
    let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
    Ok(Answer::Ran(Ran {
        output: output.collect(),
        load_ms: milliseconds(given.load),
        latency_ms: milliseconds(given.run),
        differs: (!expected.is_empty()).then(|| differs.collect()),
    }))
}
