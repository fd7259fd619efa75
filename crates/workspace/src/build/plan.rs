//! Lists the commands that a build would run, level by level.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::order;
use crate::manifest::Repo;
use crate::root::Workspace;
use mcpkg_base::error::Result;
use mcpkg_base::redact::redact;
use mcpkg_base::shell;

/// The options of a build.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// Build only this repository and its dependencies.
    pub repo: Option<&'a str>,
    /// Remove the results of earlier builds first.
    pub clean: bool,
    /// Run the tests too.
    pub test: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Removes the results of earlier builds.
    Clean,
    Build,
    Test,
}

impl Step {
    /// Returns the step's name in answers and in the database.
    pub const fn word(self) -> &'static str {
        match self {
            Step::Clean => "clean",
            Step::Build => "build",
            Step::Test => "test",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub repo: String,
    pub step: Step,
    /// The program followed by its arguments.
    pub argv: Vec<String>,
    pub folder: PathBuf,
    pub timeout: Duration,
}

impl Command {
    /// Returns the repository and the step: `api: test`.
    pub fn label(&self) -> String {
        format!("{}: {}", self.repo, self.step.word())
    }

    /// Returns the command line quoted for a shell, with passwords redacted.
    pub fn line(&self) -> String {
        line(&self.argv)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub repo: String,
    pub depends_on: Vec<String>,
    /// The commands, in the order in which they run.
    pub commands: Vec<Command>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Groups of repositories that can be built in parallel, once all earlier groups are built.
    pub levels: Vec<Vec<Job>>,
}

impl Plan {
    /// Plans a build of a workspace.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if no repository has the requested name, with the closest name as a hint;
    /// `E_IO_INVALID_PATH` if a repository's folder is outside the workspace.
    pub fn of(workspace: &Workspace, asked: &Options<'_>) -> Result<Self> {
        let repos = &workspace.manifest.repos;
        let chosen: Vec<&Repo> = match asked.repo {
            Some(name) => order::with_dependencies(repos, &workspace.repo(name)?.name),
            None => repos.iter().collect(),
        };
        let job = |repo: &&Repo| {
            let folder = workspace.folder(repo)?;
            let command = |(step, argv): (Step, &Vec<String>)| Command {
                repo: repo.name.clone(),
                step,
                argv: argv.clone(),
                folder: folder.clone(),
                timeout: repo.timeout,
            };
            let clean = repo.clean.as_ref().filter(|_| asked.clean).map(|argv| (Step::Clean, argv));
            let test = asked.test.then_some((Step::Test, &repo.test));
            let steps = clean.into_iter().chain([(Step::Build, &repo.build)]).chain(test);
            let commands = steps.filter(|(_, argv)| !argv.is_empty()).map(command).collect();
            Ok(Job { repo: repo.name.clone(), depends_on: repo.depends_on.clone(), commands })
        };
        let levels =
            order::levels(&chosen).iter().map(|level| level.iter().map(job).collect()).collect::<Result<_>>()?;
        Ok(Self { levels })
    }

    /// Returns the repositories in build order.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.levels.iter().flatten()
    }

    /// Returns all commands in the order of a build that runs them one at a time.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.jobs().flat_map(|job| &job.commands)
    }

    /// Returns the plan as JSON: each command with the level of its repository, counted from 1.
    pub fn data(&self) -> Value {
        let commands = (1..).zip(&self.levels).flat_map(|(level, jobs)| {
            jobs.iter().flat_map(move |job| {
                job.commands.iter().map(move |command| {
                    json!({
                        "repo_name": command.repo,
                        "step": command.step.word(),
                        "level": level,
                        "command": command.argv.iter().map(|word| redact(word)).collect::<Vec<_>>(),
                        "path": command.folder.display().to_string(),
                    })
                })
            })
        });
        commands.collect()
    }
}

/// Returns a command line quoted for a shell, with passwords redacted.
pub fn line(argv: &[String]) -> String {
    redact(&argv.iter().map(|word| shell::quote(word)).collect::<Vec<_>>().join(" "))
}
