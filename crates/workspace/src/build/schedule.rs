//! Decides when each command of a plan runs: one at a time, or the repositories of a level in parallel.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::command::{Ended, Outcome};
use super::plan::{Command, Job, Plan, Step};

#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Build the repositories of a level in parallel. If one fails, the others of its level still run to their end.
    pub parallel: bool,
    /// The maximum number of repositories to build in parallel.
    pub jobs: usize,
    /// After a failure, continue with repositories that do not depend on a failed one.
    pub keep_going: bool,
}

/// A command and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub repo: String,
    pub step: Step,
    /// `None` if the command was skipped.
    pub outcome: Option<Outcome>,
}

impl Row {
    pub fn is_success(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.ended.is_success())
    }

    /// Returns whether the command ran and failed. A skipped command is not a failure.
    pub fn is_failure(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| !outcome.ended.is_success())
    }

    fn of(command: &Command, outcome: Option<Outcome>) -> Self {
        Self { repo: command.repo.clone(), step: command.step, outcome }
    }
}

/// Runs the commands of a plan with `run`. Returns one row per command, in the plan's order, also for skipped commands.
pub fn run(plan: &Plan, manner: Manner, run: &(dyn Fn(&Command) -> Outcome + Sync)) -> Vec<Row> {
    let mut rows = Vec::new();
    // Repositories that failed or were skipped.
    let mut unbuilt: HashSet<&str> = HashSet::new();
    let mut is_cancelled = false;
    for level in &plan.levels {
        let begins = |job: &Job| match manner.keep_going {
            true => !is_cancelled && !job.depends_on.iter().any(|name| unbuilt.contains(name.as_str())),
            false => unbuilt.is_empty(),
        };
        let (wanted, stops): (Vec<bool>, bool) =
            (level.iter().map(begins).collect(), !manner.keep_going && !manner.parallel);
        let built = run_level(level, &wanted, manner.jobs.max(1), stops, run);
        for (job, outcomes) in level.iter().zip(built) {
            is_cancelled |= outcomes.iter().any(|outcome| outcome.ended == Ended::Cancelled);
            let is_built =
                outcomes.len() == job.commands.len() && outcomes.iter().all(|outcome| outcome.ended.is_success());
            if !is_built {
                unbuilt.insert(&job.repo);
            }
            let outcomes = outcomes.into_iter().map(Some).chain(std::iter::repeat(None));
            rows.extend(job.commands.iter().zip(outcomes).map(|(command, outcome)| Row::of(command, outcome)));
        }
    }
    rows
}

/// Runs the jobs of a level that are `wanted`, at most `jobs` at once, and ends each job at its first failing command.
/// After a cancellation, no further job starts; if `stops` is true, none starts after a failure either. Returns the
/// outcomes of the commands that ran, job by job.
fn run_level(
    level: &[Job],
    wanted: &[bool],
    jobs: usize,
    stops: bool,
    run: &(dyn Fn(&Command) -> Outcome + Sync),
) -> Vec<Vec<Outcome>> {
    let outcomes: Vec<Mutex<Vec<Outcome>>> = level.iter().map(|_| Mutex::default()).collect();
    let (next, failures, cancelled) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let (index, true) = (next.fetch_add(1, Ordering::Relaxed), cancelled.load(Ordering::Relaxed) == 0) {
            let (Some(job), Some(into)) = (level.get(index), outcomes.get(index)) else { return };
            if !wanted.get(index).copied().unwrap_or(false) || (stops && failures.load(Ordering::Relaxed) > 0) {
                continue;
            }
            for command in &job.commands {
                let outcome = run(command);
                let ended = outcome.ended.clone();
                into.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                if !ended.is_success() {
                    failures.fetch_add(1, Ordering::Relaxed);
                    cancelled.fetch_add(usize::from(ended == Ended::Cancelled), Ordering::Relaxed);
                    break;
                }
            }
        }
    };
    match jobs.min(level.len()) {
        0 | 1 => work(),
        threads => thread::scope(|scope| {
            for _ in 1..threads {
                // If the system refuses more threads, the existing ones do all the work.
                let _ = thread::Builder::new().name("build".to_owned()).spawn_scoped(scope, work);
            }
            work();
        }),
    }
    outcomes.into_iter().map(|outcomes| outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use super::*;

    fn job(repo: &str, depends_on: &[&str], steps: &[Step]) -> Job {
        let command = |step: &Step| Command {
            repo: repo.to_owned(),
            step: *step,
            argv: vec!["true".to_owned()],
            folder: "/".into(),
            timeout: Duration::from_secs(1),
        };
        let depends_on = depends_on.iter().map(|&name| name.to_owned()).collect();
        Job { repo: repo.to_owned(), depends_on, commands: steps.iter().map(command).collect() }
    }

    const BOTH: [Step; 2] = [Step::Build, Step::Test];

    /// lib and docs come first; api and cli depend on lib; web depends on api.
    fn plan() -> Plan {
        let level = |jobs: &[(&str, &[&str])]| jobs.iter().map(|(repo, on)| job(repo, on, &BOTH)).collect();
        Plan {
            levels: vec![
                level(&[("lib", &[]), ("docs", &[])]),
                level(&[("api", &["lib"]), ("cli", &["lib"])]),
                level(&[("web", &["api"])]),
            ],
        }
    }

    fn ended(ended: Ended) -> Outcome {
        Outcome { ended, output: String::new(), took: Duration::ZERO }
    }

    /// Runs the plan with one command that ends as `fails` states. Returns one character per command: `+` passed, `-`
    /// failed, `.` skipped.
    fn shown(parallel: bool, keep_going: bool, fails: (&str, Step, Ended)) -> String {
        let manner = Manner { parallel, jobs: if parallel { 4 } else { 1 }, keep_going };
        let rows = run(&plan(), manner, &|command| match (command.repo == fails.0, command.step == fails.1) {
            (true, true) => ended(fails.2.clone()),
            _ => ended(Ended::Exited(0)),
        });
        let sign = |row: &Row| match (row.is_success(), row.is_failure()) {
            (true, _) => '+',
            (_, true) => '-',
            _ => '.',
        };
        rows.chunks(2).map(|rows| rows.iter().map(sign).collect::<String>()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn x30_one_after_the_other_stops_at_a_failure_and_the_rest_are_rows() {
        let failed = Ended::Exited(1);
        assert_eq!(shown(false, false, ("lib", Step::Build, failed.clone())), "-. .. .. .. ..");
        assert_eq!(shown(false, false, ("api", Step::Test, failed)), "++ ++ +- .. ..");
    }

    #[test]
    fn x30_in_parallel_a_level_is_run_to_its_end_and_later_levels_are_rows() {
        let failed = Ended::Exited(1);
        assert_eq!(shown(true, false, ("lib", Step::Build, failed.clone())), "-. ++ .. .. ..");
        assert_eq!(shown(true, false, ("api", Step::Test, failed)), "++ ++ +- ++ ..");
    }

    #[test]
    fn continuing_builds_everything_except_dependents_of_failures() {
        for parallel in [false, true] {
            let failed = Ended::Exited(1);
            assert_eq!(shown(parallel, true, ("lib", Step::Build, failed.clone())), "-. ++ .. .. ..");
            assert_eq!(shown(parallel, true, ("api", Step::Test, failed.clone())), "++ ++ +- ++ ..");
            assert_eq!(shown(parallel, true, ("docs", Step::Build, failed)), "++ -. ++ ++ ++");
        }
    }

    #[test]
    fn nothing_starts_after_a_cancellation() {
        let cancelled = || ("lib", Step::Build, Ended::Cancelled);
        assert_eq!(shown(false, true, cancelled()), "-. .. .. .. ..");
        // In parallel, other commands may already have run.
        assert!(shown(true, true, cancelled()).ends_with(" .. .. .."));
    }

    #[test]
    fn jobs_bound_how_many_are_built_at_once() {
        let level = (0..6).map(|n| job(&n.to_string(), &[], &[Step::Build])).collect();
        let plan = Plan { levels: vec![level] };
        // Counters: the running commands, the started commands, and the highest number of running commands.
        let (state, changed) = (Mutex::new((0, 0, 0)), Condvar::new());
        let rows = run(&plan, Manner { parallel: true, jobs: 3, keep_going: false }, &|_| {
            let mut running = state.lock().expect("a lock");
            running.0 += 1;
            running.1 += 1;
            running.2 = running.0.max(running.2);
            changed.notify_all();
            // Each of the first three waits for the other two, so that they overlap even on a slow machine.
            let waited = changed.wait_timeout_while(running, Duration::from_secs(10), |(_, begun, _)| *begun < 3);
            waited.expect("a lock").0.0 -= 1;
            ended(Ended::Exited(0))
        });
        assert!(rows.len() == 6 && rows.iter().all(Row::is_success));
        assert_eq!(state.lock().expect("a lock").2, 3);
    }
}
