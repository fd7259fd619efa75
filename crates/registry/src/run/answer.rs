//! Turns the end of a run into an outcome or an error.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::call::{OutputFile, Tool};
use super::limits::Limits;
use super::runner::NotRun;
use crate::package::schema;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::process::starter::Ended;
use mcpkg_base::redact::Secrets;

/// An error contains at most this many bytes from the end of standard error.
const TAIL: usize = 4 << 10;

/// Signals that Linux sends to a process that reaches a limit, and the name of the limit.
const LIMITS: [(i32, &str); 2] = [(24, "cpu"), (25, "file_size")];

/// Fails unless the program ended with status 0.
///
/// # Errors
/// `E_TOOL_LIMIT` if the program reached a limit of the system; otherwise `E_TOOL_FAILED`, with the reason and the end
/// of `stderr`.
pub fn require_success(tool: &Tool, ended: Option<&Ended>, stderr: &str) -> Result<()> {
    let tail = tail(stderr);
    let failed = |why: String, details: Value| {
        let said = tail.lines().rfind(|line| !line.trim().is_empty());
        let message = said.map_or_else(|| why.clone(), |said| format!("{why}: {}", said.trim()));
        Error::new(Code::ToolFailed, message).with_details(details)
    };
    let name = &tool.name;
    Err(match ended {
        Some(Ended::Exited(0)) => return Ok(()),
        Some(Ended::Exited(code)) => {
            failed(format!("{name} exited with status {code}"), json!({ "exit_code": code, "stderr": tail }))
        }
        Some(Ended::Killed(signal)) => match LIMITS.iter().find(|(number, _)| number == signal) {
            Some((_, limit)) => reached(tool, limit, tail),
            None => {
                failed(format!("{name} was killed by signal {signal}"), json!({ "signal": signal, "stderr": tail }))
            }
        },
        Some(Ended::Trapped(why)) => {
            failed(format!("{name} was stopped: {why}"), json!({ "exit_code": null, "trap": why, "stderr": tail }))
        }
        Some(Ended::NotStarted(why)) => Error::new(Code::ToolFailed, format!("{name} cannot be started: {why}"))
            .with_details(json!({ "exit_code": null, "stderr": tail }))
            .hint("a sandbox contains only the programs in /usr and the tool's own files"),
        None => failed(format!("{name} was killed"), json!({ "exit_code": null, "stderr": tail })),
    })
}

/// Returns the error for a tool that reached a limit.
pub fn reached(tool: &Tool, limit: &str, stderr: &str) -> Error {
    Error::new(Code::ToolLimit, format!("{} reached its {} limit", tool.name, limit.replace('_', " ")))
        .with_details(json!({ "limit": limit, "stderr": stderr }))
}

/// Returns the error for a tool that ran longer than its timeout; `is_callers` says whether the caller set the timeout.
pub fn timed_out(tool: &Tool, limits: &Limits, is_callers: bool) -> Error {
    let seconds = limits.time.as_secs_f64();
    Error::new(Code::ToolTimeout, format!("{} ran for more than {seconds} s and was stopped", tool.name))
        .with_details(json!({ "limit": "time", "seconds": seconds }))
        .hint(match is_callers {
            true => "set a longer limit with `-t` (at most 1h), or leave out `-t`",
            false => "the `timeout` in the tool's manifest sets the limit (at most 1h)",
        })
}

/// Returns the error for a run that produced no result.
pub fn not_run(tool: &Tool, limits: &Limits, why: NotRun) -> Error {
    match why {
        NotRun::TimedOut => timed_out(tool, limits, false),
        NotRun::Cancelled => Error::new(Code::Cancelled, format!("{} was cancelled", tool.name)),
        NotRun::Lost(error) => {
            Error::new(Code::FileFailed, format!("Lost contact with the sandbox of {}: {error}", tool.name))
                .with_source(error)
        }
        NotRun::Failed(error) => error,
        NotRun::Unavailable(why) => Error::new(Code::RunnerUnavailable, why),
    }
}

/// Returns the standard output as JSON, with all secrets hidden. With a schema, the output must be JSON that matches
/// the schema. Without a schema, output that is not JSON gives `None`.
pub fn output(tool: &Tool, schema: Option<&Value>, stdout: Option<&str>, secrets: &Secrets) -> Result<Option<Value>> {
    let parsed = stdout.map(|stdout| {
        serde_json::from_str::<Value>(stdout).map(|mut value| {
            secrets.hide_in(&mut value);
            value
        })
    });
    let Some(shape) = schema else { return Ok(parsed.and_then(Result::ok)) };
    let wrong = |why: String, errors: Value| {
        let message = format!("The output of {} does not match its output schema: {why}", tool.name);
        Error::new(Code::ToolOutput, message).with_details(json!({ "errors": errors }))
    };
    let value = match parsed {
        None => return Err(wrong("the output is longer than mcpkg can store".to_owned(), json!([]))),
        Some(Err(error)) => return Err(wrong(format!("the output is not a single JSON value ({error})"), json!([]))),
        Some(Ok(value)) => value,
    };
    let misfits = schema::check_input(shape, &value);
    match misfits.first() {
        None => Ok(Some(value)),
        Some(first) if first.path.is_empty() => Err(wrong(first.message.clone(), json!(misfits))),
        Some(first) => Err(wrong(format!("{}: {}", first.path, first.message), json!(misfits))),
    }
}

/// Removes secrets from the output files. In text files, the secrets are hidden, as in printed output. Other files with
/// a secret in their content are left out. So is any file with a secret in its path.
pub fn without_secrets(
    files: impl Iterator<Item = OutputFile>,
    left_out: Vec<String>,
    secrets: &Secrets,
) -> (Vec<OutputFile>, Vec<String>) {
    let mut taken = Vec::new();
    let mut left_out: Vec<String> = left_out.iter().map(|path| secrets.hidden_in(path).into_owned()).collect();
    for OutputFile { path, bytes } in files {
        if secrets.are_in(path.as_bytes()) {
            left_out.push(format!("{} (the file name contains a secret)", secrets.hidden_in(&path)));
            continue;
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let hidden = match secrets.hidden_in(&text) {
                    Cow::Owned(hidden) => Some(hidden),
                    Cow::Borrowed(_) => None,
                };
                taken.push(OutputFile { path, bytes: hidden.unwrap_or(text).into_bytes() });
            }
            Err(error) if secrets.are_in(error.as_bytes()) => {
                left_out.push(format!("{path} (the file contains a secret)"));
            }
            Err(error) => taken.push(OutputFile { path, bytes: error.into_bytes() }),
        }
    }
    (taken, left_out)
}

/// Returns the last [`TAIL`] bytes of a text, starting at a character boundary.
fn tail(text: &str) -> &str {
    let begin = text.len().saturating_sub(TAIL);
    &text[text.ceil_char_boundary(begin)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool { name: "alice/tool".to_owned(), version: None, sha256: None, publisher: String::new() }
    }

    #[test]
    fn only_status_zero_is_a_success_and_errors_give_the_reason() {
        let of = |ended: Option<Ended>, stderr: &str| require_success(&tool(), ended.as_ref(), stderr);
        assert!(of(Some(Ended::Exited(0)), "warned").is_ok());
        let error = of(Some(Ended::Exited(3)), "first\nlast\n").expect_err("failed");
        assert_eq!((error.code(), error.message()), (Code::ToolFailed, "alice/tool exited with status 3: last"));
        assert_eq!(error.details(), Some(&json!({ "exit_code": 3, "stderr": "first\nlast\n" })));
        for (signal, limit) in LIMITS {
            let error = of(Some(Ended::Killed(signal)), "").expect_err("a limit");
            assert_eq!((error.code(), &error.details().expect("details")["limit"]), (Code::ToolLimit, &json!(limit)));
        }
        for ended in [Some(Ended::Killed(9)), Some(Ended::NotStarted("no such file".to_owned())), None] {
            assert_eq!(of(ended, "").expect_err("failed").code(), Code::ToolFailed);
        }
        let long = "é".repeat(TAIL);
        let error = of(Some(Ended::Exited(1)), &long).expect_err("failed");
        let kept = error.details().expect("details")["stderr"].as_str().expect("text").len();
        assert!(kept <= TAIL && kept > TAIL - 4);
    }

    #[test]
    fn x31_with_an_output_schema_the_output_is_one_value_that_fits() {
        let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
        let of = |stdout| output(&tool(), Some(&schema), stdout, &Secrets::new());
        assert_eq!(of(Some("{\"n\": 1}\n")).expect("fits"), Some(json!({ "n": 1 })));
        for (stdout, what) in [
            (Some("{\"n\": \"1\"}"), "another type"),
            (Some("{}"), "a missing property"),
            (Some("{\"n\": 1} {\"n\": 2}"), "two values"),
            (Some("n = 1"), "no JSON"),
            (Some(""), "nothing"),
            (None, "what was cut"),
        ] {
            assert_eq!(of(stdout).expect_err(what).code(), Code::ToolOutput);
        }
        // Without a schema, output that is JSON becomes data.
        assert_eq!(output(&tool(), None, Some("[1]"), &Secrets::new()).expect("any"), Some(json!([1])));
        assert_eq!(output(&tool(), None, Some("text"), &Secrets::new()).expect("any"), None);
    }

    #[test]
    fn no_secret_is_in_a_file_that_is_taken() {
        let mut secrets = Secrets::new();
        secrets.learn("hunter2222");
        let file = |path: &str, bytes: &[u8]| OutputFile { path: path.to_owned(), bytes: bytes.to_vec() };
        let left = [
            file("a.txt", b"is hunter2222, in base64 aHVudGVyMjIyMg=="),
            file("b.bin", b"\xff\x00hunter2222"),
            file("c.bin", b"\xff\x00hunter"),
            file("hunter2222.txt", b"x"),
        ];
        let (taken, left_out) = without_secrets(left.into_iter(), vec!["link-hunter2222".to_owned()], &secrets);
        assert_eq!(taken, [file("a.txt", b"is ***, in base64 ***"), file("c.bin", b"\xff\x00hunter")]);
        let named = ["link-***", "b.bin (the file contains a secret)", "***.txt (the file name contains a secret)"];
        assert_eq!(left_out, named);
    }

    #[test]
    fn secrets_written_with_json_escapes_are_hidden() {
        let mut secrets = Secrets::new();
        secrets.learn("hunter2222");
        let stdout = r#"{"\u0068unter2222": ["is \u0068unter2222"]}"#;
        let output = output(&tool(), None, Some(stdout), &secrets).expect("any");
        assert_eq!(output, Some(json!({ "***": ["is ***"] })));
    }
}
