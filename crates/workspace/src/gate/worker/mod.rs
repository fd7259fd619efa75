//! Runs a model in a separate process, which limits its memory and time before it reads any input, and cannot open
//! files.
//!
//! A file of a few kilobytes can ask for all memory or compute forever, and an engine that parses untrusted files may
//! have bugs. If the worker crashes, mcpkg itself goes on, and reports why the model did not run.

mod inside;
mod protocol;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::engine;
use super::engine::Stopped;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;
use mcpkg_base::process::starter::program;
use mcpkg_base::process::{Capture, Environment, Failure, Feed, Limits, Program};

pub use inside::run as answer;
pub use protocol::{Job, MEMORY};

use protocol::{Answer, Head, Ran, TIME};

/// The maximum output that is read from a worker. [`WHOLE`] applies instead if the caller wants all elements.
const CAPTURE: Capture = Capture { head: 16 << 20, tail: 0 };
const WHOLE: Capture = Capture { head: 256 << 20, tail: 0 };

/// An error quotes at most this many characters of the engine's message.
const LONGEST: usize = 600;

/// Messages by which a worker or its engine reports that memory ran out.
const OUT_OF_MEMORY: [&str; 3] = ["memory allocation of", "failed to allocate", "capacity overflow"];

/// The name of the worker program, which is installed next to mcpkg.
const PROGRAM: &str = "mcpkg-gate-worker";

/// Returns the engine that runs models; `None` if mcpkg was built without one, or if the worker program is missing.
pub fn engine() -> Option<&'static str> {
    engine::NAME.filter(|_| beside().is_ok_and(|worker| worker.is_file()))
}

fn beside() -> io::Result<PathBuf> {
    Ok(program()?.with_file_name(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION))
}

pub struct Worker {
    program: PathBuf,
    arguments: Vec<OsString>,
    time: Duration,
}

impl Worker {
    /// Returns the worker that was installed with this mcpkg.
    ///
    /// # Errors
    /// `E_GATE_ENGINE_MISSING` if mcpkg was built without an engine, or if the worker program is missing.
    pub fn own() -> Result<Self> {
        let missing = |message: String| {
            Error::new(Code::GateEngineMissing, message)
                .with_details(json!({ "kind": "engine_missing" }))
                .hint(format!("to build mcpkg with the engine: {}", engine::BUILD))
        };
        if engine::NAME.is_none() {
            let message = "This mcpkg was built without the engine that runs models (the cargo feature `gate-onnx`)";
            return Err(missing(message.to_owned()));
        }
        let program =
            beside().map_err(|error| Error::internal("mcpkg cannot find its own executable").with_source(error))?;
        if !program.is_file() {
            return Err(missing(format!("The engine that runs models is missing: `{}`", program.display())));
        }
        Ok(Self { program, arguments: Vec::new(), time: TIME })
    }

    /// Runs a job and waits for its result.
    ///
    /// # Errors
    /// `E_GATE_FAILED` with the kind of failure, such as `time_limit`; `E_CANCELLED`.
    pub fn run(&self, model: &str, job: Job, cancelled: &CancellationToken) -> Result<Ran> {
        let program = Program::new(&self.program)
            .args(&self.arguments)
            .environment(Environment::Exactly(std::collections::BTreeMap::new()))
            .folder(Path::new("/"))
            .capture(if job.options.whole { WHOLE } else { CAPTURE });
        let stopped = match program.run_fed(feed(job), &Limits::new(self.time, cancelled)) {
            Ok(output) if output.status.success() => match output.stdout.whole().as_deref().map(serde_json::from_slice)
            {
                Some(Ok(Answer::Ran(ran))) => return Ok(ran),
                Some(Ok(Answer::Stopped(stopped))) => stopped,
                Some(Err(_)) => Stopped::new("crashed", "the worker's output is not JSON"),
                None => Stopped::new("crashed", "the worker's output is too large"),
            },
            Ok(output) => ended(output.status, &output.stderr.text()),
            Err(Failure::TimedOut) => late(),
            Err(Failure::Cancelled) => return Err(Error::new(Code::Cancelled, "Cancelled; nothing was changed")),
            Err(Failure::NotStarted(error)) => {
                Stopped::new("crashed", format!("the worker could not be started: {error}"))
            }
            Err(Failure::Lost(error)) => Stopped::new("crashed", format!("lost contact with the worker: {error}")),
        };
        Err(refused(model, &stopped))
    }
}

/// Returns a function that writes a job to the worker's standard input. A broken pipe is not an error: a worker that
/// stops reading early still answers with the reason.
fn feed(job: Job) -> Feed {
    Box::new(move |stdin: &mut dyn Write| match write(job, stdin) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    })
}

fn write(job: Job, stdin: &mut dyn Write) -> io::Result<()> {
    Head::of(&job).write(&mut *stdin)?;
    let Job { model, input, .. } = job;
    let tensors = input.inputs.iter().chain(&input.expected);
    tensors.map(|(_, tensor)| &tensor.bytes).try_for_each(|bytes| stdin.write_all(bytes))?;
    model(stdin)
}

fn late() -> Stopped {
    Stopped::new("time_limit", format!("the test was stopped after {} s", TIME.as_secs()))
}

/// Explains why a worker ended without an answer.
fn ended(status: ExitStatus, said: &str) -> Stopped {
    tracing::debug!(said, "the worker of a gate ended without a response");
    match signal(status) {
        _ if OUT_OF_MEMORY.iter().any(|words| said.contains(words)) => {
            Stopped::new("memory_limit", format!("the model needs more than {} MiB of memory", MEMORY >> 20))
        }
        Some(Signal::TimeIsUp) => late(),
        Some(Signal::Other(signal)) => Stopped::new("crashed", format!("the worker was killed by signal {signal}")),
        // Usually, the worker printed a Rust panic. That text only helps the engine's authors, so it goes to the log.
        None => Stopped::new("crashed", "the engine failed on this model"),
    }
}

enum Signal {
    /// The worker used up its CPU time.
    TimeIsUp,
    Other(i32),
}

fn signal(status: ExitStatus) -> Option<Signal> {
    let signal = platform::signal(status)?;
    Some(if signal == platform::CPU_TIME_IS_UP { Signal::TimeIsUp } else { Signal::Other(signal) })
}

fn refused(model: &str, stopped: &Stopped) -> Error {
    let why: String = stopped.message.chars().take(LONGEST).collect();
    let error = Error::new(Code::GateFailed, format!("The test of model '{model}' failed ({}): {why}", stopped.kind))
        .with_details(json!({ "kind": stopped.kind, "model": model, "why": why }));
    match stopped.kind.as_str() {
        "unsupported_operator" => {
            error.hint("a separate gate (`--url`, `[gate].url`) may support operators that this engine does not")
        }
        _ => error,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::gate::input::Input;
    use crate::gate::interface::Options;
    use crate::gate::tensor::{Dtype, Tensor};

    /// Returns a shell script that acts as a worker.
    fn script(script: &str, time: Duration) -> Worker {
        Worker { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()], time }
    }

    fn job() -> Job {
        let input = Tensor::new(Dtype::Uint8, vec![2], vec![1, 2]).unwrap();
        Job {
            size: 5,
            model: Box::new(|stdin| stdin.write_all(b"model")),
            input: Input { inputs: vec![("x".to_owned(), input)], expected: Vec::new() },
            outputs: vec!["y".to_owned()],
            options: Options::default(),
        }
    }

    fn kind(worker: &Worker) -> (String, String) {
        let error = worker.run("relu", job(), &CancellationToken::new()).expect_err("it fails");
        assert_eq!(error.code(), Code::GateFailed);
        let kind = error.details().and_then(|details| details["kind"].as_str()).unwrap_or_default().to_owned();
        (kind, error.message().to_owned())
    }

    #[test]
    fn a_workers_answer_is_read() {
        let answer =
            r#"cat >/dev/null; echo '{"ran":{"output":{"y":[1]},"load_ms":1.5,"latency_ms":2.0,"differs":null}}'"#;
        let ran = script(answer, TIME).run("relu", job(), &CancellationToken::new()).unwrap();
        assert_eq!((ran.load_ms, ran.output["y"].to_string().as_str()), (1.5, "[1]"));
    }

    #[test]
    fn each_way_to_fail_has_its_kind() {
        let stopped = r#"echo '{"stopped":{"kind":"unsupported_operator","message":"Foo is not known"}}'"#;
        for (does, kind_of, says) in [
            (stopped, "unsupported_operator", "Foo is not known"),
            ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", "memory_limit", "2048 MiB"),
            ("kill -XCPU $$", "time_limit", "30 s"),
            ("kill -SEGV $$", "crashed", "signal 11"),
            (
                "echo \"thread 'main' panicked at x.rs:1:2: oops\" >&2; exit 101",
                "crashed",
                "the engine failed on this model",
            ),
            ("exit 3", "crashed", "the engine failed on this model"),
            ("echo nonsense", "crashed", "the worker's output is not JSON"),
            ("head -c 20000000 /dev/zero", "crashed", "the worker's output is too large"),
        ] {
            let (kind, message) = kind(&script(does, TIME));
            assert!(kind == kind_of && message.contains(says), "{does}: {kind}: {message}");
        }
        let missing = Worker { program: "/no/such/program".into(), arguments: Vec::new(), time: TIME };
        assert!(kind(&missing).1.contains("could not be started"));
    }

    #[test]
    fn a_worker_that_never_answers_is_stopped_even_if_it_reads_nothing() {
        let begun = Instant::now();
        let (kind, _) = kind(&script("sleep 60", Duration::from_millis(200)));
        assert_eq!(kind, "time_limit");
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let large = Job { model: Box::new(|stdin| stdin.write_all(&vec![0; 1 << 20])), size: 1 << 20, ..job() };
        let error = script("sleep 60", TIME).run("relu", large, &cancelled).expect_err("given up");
        assert_eq!(error.code(), Code::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_worker_gets_no_variables() {
        let answer = r#"cat >/dev/null; printf '{"stopped":{"kind":"crashed","message":"%s"}}' "$(env | grep -c -v -e ^PWD= -e ^SHLVL= -e ^_=)""#;
        assert!(kind(&script(answer, TIME)).1.ends_with(": 0"));
    }
}
