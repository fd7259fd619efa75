//! What a build would run: the commands of each repository, level by level.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::order;
use crate::manifest::Repo;
use crate::root::Workspace;
use mcpkg_base::error::Result;
use mcpkg_base::redact::redact;
use mcpkg_base::shell;

/// What is asked of a build.
#[derive(Clone, Debug, Default)]
pub struct Asked<'a> {
    /// The only repository that is asked for, with those that it depends on.
    pub repo: Option<&'a str>,
    /// Whether what earlier builds left is taken away first.
    pub clean: bool,
    /// Whether tests are run too.
    pub test: bool,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Takes away what builds left.
    Clean,
    Build,
    /// Tests what was built.
    Test,
}

impl Step {
    /// The word for it, in answers and in the database.
    pub const fn word(self) -> &'static str {
        match self {
            Step::Clean => "clean",
            Step::Build => "build",
            Step::Test => "test",
        }
    }
}

/// A command that would be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub repo: String,
    pub step: Step,
    /// The program and its arguments.
    pub argv: Vec<String>,
    pub folder: PathBuf,
    /// How long it may run.
    pub timeout: Duration,
}

impl Command {
    /// The repository and the step, such as `api: test`.
    pub fn label(&self) -> String {
        format!("{}: {}", self.repo, self.step.word())
    }

    /// The command line as a shell would take it, without passwords.
    pub fn line(&self) -> String {
        line(&self.argv)
    }
}

/// A repository that would be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub repo: String,
    /// The repositories that are built before it.
    pub depends_on: Vec<String>,
    /// Its commands, one after the other.
    pub commands: Vec<Command>,
}

/// What a build would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Repositories that can be built at the same time, after those of the levels before them.
    pub levels: Vec<Vec<Job>>,
}

impl Plan {
    /// Returns what a build of a workspace would run.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` where no repository has the name that is asked for, with the nearest one; `E_WORKSPACE_INVALID`
    /// where a repository's folder leads out of the workspace.
    pub fn of(workspace: &Workspace, asked: &Asked<'_>) -> Result<Self> {
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

    /// Returns the repositories, in the order in which they are built.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.levels.iter().flatten()
    }

    /// Returns the commands, in the order in which they are run one after the other.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.jobs().flat_map(|job| &job.commands)
    }

    /// The plan for programs: each command with the level of its repository, which begins at 1.
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

/// Returns a command line as a shell would take it, without passwords.
pub fn line(argv: &[String]) -> String {
    redact(&argv.iter().map(|word| shell::quote(word)).collect::<Vec<_>>().join(" "))
}
