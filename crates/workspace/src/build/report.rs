//! Formats the result of a build: for people, as JSON, and as an error if a command failed.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::command::{Ended, Outcome};
use super::plan::Step;
use super::schedule::Row;
use mcpkg_base::error::{Code, Error};
use mcpkg_base::plural::count;
use mcpkg_core::op::{Body, Reply, Table};
use mcpkg_store::builds;

/// An error message includes at most this many bytes, from the end of the output. Many clients show only the message.
const TAIL: usize = 2 << 10;

/// The last line stored for a command that was cancelled.
const GIVEN_UP: &str = "(the build was cancelled here)";

/// A finished build.
#[derive(Clone, Debug)]
pub struct Report {
    pub run: Uuid,
    pub rows: Vec<Row>,
    pub took: Duration,
}

impl Report {
    pub fn all_passed(&self) -> bool {
        self.rows.iter().all(Row::is_success)
    }

    /// Returns the answer. If the build was cancelled, returns an error about the cancelled command; if a command failed, an
    /// error about the first one that failed.
    pub fn answer(&self) -> Result<Reply, Error> {
        let cancelled = self.rows.iter().find(|row| is_cancelled(row));
        match cancelled.or_else(|| self.rows.iter().find(|row| row.is_failure())) {
            Some(row) => Err(self.failure(row)),
            None => Ok(self.reply()),
        }
    }

    pub fn data(&self) -> Value {
        json!({
            "results": self.stored().iter().map(result).collect::<Vec<_>>(),
            "total_duration_ms": millis(self.took),
            "all_passed": self.all_passed(),
            "run": self.run.to_string(),
        })
    }

    /// Returns the commands as database rows.
    pub fn stored(&self) -> Vec<builds::Row> {
        let stored = |row: &Row| builds::Row {
            repo: row.repo.clone(),
            step: row.step.word().to_owned(),
            success: row.is_success(),
            skipped: row.outcome.is_none(),
            exit_code: row.outcome.as_ref().and_then(|outcome| outcome.ended.exit_code()).map(i64::from),
            duration_ms: row.outcome.as_ref().map_or(0, |outcome| millis(outcome.took)),
            output: row.outcome.as_ref().map_or_else(String::new, stored_output),
        };
        self.rows.iter().map(stored).collect()
    }

    fn reply(&self) -> Reply {
        let rows: Vec<_> = self.stored();
        let sentence = match rows.len() {
            0 => "Nothing to run".to_owned(),
            commands => format!("{} passed in {}", count(commands, "command"), shown(millis(self.took))),
        };
        Reply::new(Body::Several(vec![Body::Table(table(&rows)), Body::Sentence(sentence)]), self.data())
    }

    fn failure(&self, row: &Row) -> Error {
        let Some(Outcome { ended, output, .. }) = &row.outcome else {
            return Error::internal("a build command that did not run was reported as a failure");
        };
        let tail = tail(output);
        let (repo, step) = (&row.repo, row.step.word());
        let passed = self.rows.iter().filter(|row| row.is_success()).count();
        let skipped = self.rows.iter().filter(|row| row.outcome.is_none()).count();
        let others = match skipped {
            0 => format!("{passed} of {} passed", count(self.rows.len(), "command")),
            _ => format!("{passed} of {} passed, {skipped} skipped", count(self.rows.len(), "command")),
        };
        let also: Vec<String> = self
            .rows
            .iter()
            .filter(|other| other.is_failure() && !is_cancelled(other) && *other != row)
            .map(|other| format!("{} ({})", other.repo, other.step.word()))
            .collect();
        let also = if also.is_empty() { String::new() } else { format!("; also failed: {}", also.join(", ")) };
        let code = if is_cancelled(row) { Code::Cancelled } else { Code::BuildFailed };
        let said = if tail.trim().is_empty() { String::new() } else { format!("\n{}", tail.trim_end()) };
        let show = format!("mcpkg builds show {}", self.run);
        let mut details = json!({
            "repo": repo,
            "step": step,
            "exit_code": ended.exit_code(),
            "stderr_tail": tail,
            "suggestion": format!("Fix the problems in the output and run smctl_build again; `{show}` prints all of it"),
        });
        if let (Some(details), Value::Object(data)) = (details.as_object_mut(), self.data()) {
            details.extend(data);
        }
        Error::new(code, format!("{repo}: {step} {}{also} ({others}){said}", ended.description()))
            .with_details(details)
            .hint(format!("`{show}` prints the whole output"))
    }
}

/// Returns the output to store. For a cancelled command, a line in the output says so, because the database has no
/// column for a cancellation and there is no exit status.
fn stored_output(outcome: &Outcome) -> String {
    let Outcome { ended, output, .. } = outcome;
    match ended {
        Ended::Cancelled if output.is_empty() || output.ends_with('\n') => format!("{output}{GIVEN_UP}\n"),
        Ended::Cancelled => format!("{output}\n{GIVEN_UP}\n"),
        _ => output.clone(),
    }
}

fn is_cancelled(row: &Row) -> bool {
    row.outcome.as_ref().is_some_and(|outcome| outcome.ended == Ended::Cancelled)
}

/// Returns a command as JSON. Its name is the repository's, followed by the step unless the step is `build`.
pub fn result(row: &builds::Row) -> Value {
    json!({
        "repo_name": named(row),
        "success": row.success,
        "output": row.output,
        "duration_ms": row.duration_ms,
        "step": row.step,
        "exit_code": row.exit_code,
        "skipped": row.skipped,
    })
}

fn named(row: &builds::Row) -> String {
    match row.step == Step::Build.word() {
        true => row.repo.clone(),
        false => format!("{} ({})", row.repo, row.step),
    }
}

/// Returns a table of commands.
pub fn table(rows: &[builds::Row]) -> Table {
    let cells = |row: &builds::Row| {
        let result = match (row.skipped, row.success, row.exit_code) {
            (true, ..) => "skipped".to_owned(),
            (_, true, _) => "passed".to_owned(),
            (.., Some(code)) => format!("failed with status {code}"),
            (.., None) => "failed".to_owned(),
        };
        let took = if row.skipped { String::new() } else { shown(row.duration_ms) };
        vec![row.repo.clone(), row.step.clone(), result, took]
    };
    Table {
        columns: &["REPO", "STEP", "RESULT", "TOOK"],
        rows: rows.iter().map(cells).collect(),
        empty: "The build ran no commands".to_owned(),
    }
}

/// Formats milliseconds for people.
pub fn shown(millis: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "no build takes 300,000 years")]
    let seconds = millis as f64 / 1_000.0;
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{seconds:.1} s"),
        _ => format!("{} min {} s", millis / 60_000, millis / 1_000 % 60),
    }
}

fn millis(took: Duration) -> i64 {
    i64::try_from(took.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the last [`TAIL`] bytes of an output, from the beginning of a line if possible.
fn tail(output: &str) -> &str {
    let begin = output.ceil_char_boundary(output.len().saturating_sub(TAIL));
    let tail = &output[begin..];
    match tail.split_once('\n') {
        Some((_, lines)) if begin > 0 && !lines.trim().is_empty() => lines,
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(repo: &str, step: Step, outcome: Option<(Ended, &str)>) -> Row {
        let outcome = outcome.map(|(ended, output)| Outcome {
            ended,
            output: output.to_owned(),
            took: Duration::from_millis(1_250),
        });
        Row { repo: repo.to_owned(), step, outcome }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report { run: Uuid::nil(), rows, took: Duration::from_millis(2_500) }
    }

    #[test]
    fn a_build_that_passed_has_a_row_for_each_command() {
        let passed = report(vec![
            row("lib", Step::Build, Some((Ended::Exited(0), "made\n"))),
            row("lib", Step::Test, Some((Ended::Exited(0), ""))),
        ]);
        let reply = passed.answer().expect("it passed");
        assert_eq!(reply.data["results"][1]["repo_name"], "lib (test)");
        assert_eq!(
            reply.data["results"][0],
            json!({ "repo_name": "lib", "success": true, "output": "made\n", "duration_ms": 1250, "step": "build",
                    "exit_code": 0, "skipped": false })
        );
        assert_eq!((&reply.data["all_passed"], &reply.data["total_duration_ms"]), (&json!(true), &json!(2500)));
    }

    #[test]
    fn x5_a_build_that_failed_says_where_and_how_in_its_message() {
        let failed = report(vec![
            row("lib", Step::Build, Some((Ended::Exited(0), ""))),
            row("api", Step::Build, Some((Ended::Exited(2), "cc main.c\nmain.c:1: error\n"))),
            row("api", Step::Test, None),
        ]);
        let error = failed.answer().expect_err("it failed");
        assert_eq!(error.code(), Code::BuildFailed);
        assert_eq!(
            error.message(),
            "api: build failed with status 2 (1 of 3 commands passed, 1 skipped)\ncc main.c\nmain.c:1: error"
        );
        let details = error.details().expect("details");
        assert_eq!(
            (&details["repo"], &details["step"], &details["exit_code"]),
            (&json!("api"), &json!("build"), &json!(2))
        );
        assert_eq!(details["results"].as_array().expect("rows").len(), 3);
        assert_eq!(details["results"][2]["skipped"], true);
        assert!(details["stderr_tail"].is_string() && details["suggestion"].is_string(), "{details}");
        let several = report(vec![
            row("api", Step::Build, Some((Ended::Exited(2), ""))),
            row("lib", Step::Build, Some((Ended::Exited(0), ""))),
            row("web", Step::Test, Some((Ended::Exited(1), ""))),
        ]);
        let error = several.answer().expect_err("it failed");
        assert_eq!(
            error.message(),
            "api: build failed with status 2; also failed: web (test) (1 of 3 commands passed)"
        );
        let given_up = report(vec![row("lib", Step::Build, Some((Ended::Cancelled, "half")))]);
        assert_eq!(given_up.stored()[0].output, format!("half\n{GIVEN_UP}\n"));
        assert_eq!(given_up.answer().expect_err("given up").code(), Code::Cancelled);
    }

    #[test]
    fn the_end_of_a_long_output_begins_with_a_line() {
        let long = format!("{}\nlast line\n", "é".repeat(TAIL));
        assert_eq!(tail(&long), "last line\n");
        assert_eq!(tail("short\n"), "short\n");
        let one = "é".repeat(TAIL);
        assert!(tail(&one).len() <= TAIL && !tail(&one).is_empty());
    }
}
