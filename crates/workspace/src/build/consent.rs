//! Asks a person before an agent may build a repository, because build commands run with that person's permissions.
//!
//! A person approves a repository's commands once. The approval is kept outside the database. It covers the
//! repository's folder, its origin and all of its commands; if any of them changes, mcpkg asks again. Builds started
//! from a shell need no approval and do not record one: otherwise an agent with a shell could approve its own builds.

use serde_json::{Value, json};

use super::plan::{self, Plan};
use crate::manifest::Repo;
use crate::root::Workspace;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::git;
use mcpkg_base::plural::count;
use mcpkg_base::process::Limits;
use mcpkg_base::redact::redact;
use mcpkg_base::sha256;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::consent::request::{self, Need};
use mcpkg_core::op::{Context, Effect};

/// The operation that a person approves, by the name that agents call.
const OPERATION: &str = "smctl_build";

/// The sentence that tells the person how long the approval lasts.
const FOR_GOOD: &str = "agents can run later builds with the same commands without asking again";

/// What a person approves: a repository with all of its commands.
struct Subject<'m> {
    repo: &'m Repo,
    /// The folder, the URLs and the commands. Only passwords in the URLs are redacted.
    covers: String,
    /// The text that a person sees: the same data, with passwords in the commands redacted too.
    note: Value,
}

impl Approvable for Subject<'_> {
    const KIND: Kind = Kind::WorkspaceBuild;

    fn covers(&self) -> Vec<u8> {
        self.covers.clone().into_bytes()
    }

    fn note(&self) -> Value {
        self.note.clone()
    }
}

/// Refuses an agent's build and asks for approval if a repository's commands are not approved yet. Fails with
/// `E_CONSENT_REQUIRED` until a person has decided, and with `E_CONSENT_DENIED` if the person refused.
pub fn require(context: &Context, workspace: &Workspace, plan: &Plan) -> Result<()> {
    if context.is_shell() {
        return Ok(());
    }
    let mut unapproved = Vec::new();
    for job in plan.jobs() {
        let subject = Subject::of(context, workspace, workspace.repo(&job.repo)?)?;
        if !subject.is_approved(context)? {
            unapproved.push(subject);
        }
    }
    if unapproved.is_empty() { Ok(()) } else { ask(context, workspace, &unapproved) }
}

fn ask(context: &Context, workspace: &Workspace, subjects: &[Subject<'_>]) -> Result<()> {
    let names: Vec<&str> = subjects.iter().map(|subject| subject.repo.name.as_str()).collect();
    let all: Vec<String> = subjects.iter().map(Approvable::key).collect();
    let consent = request::ask(
        context,
        &Need {
            operation: OPERATION,
            project: "",
            inputs: &json!({ "root": workspace.root.display().to_string(), "repos": names }),
            plan_hash: &sha256::hex(json!(all).to_string()),
            summary: summary(&workspace.manifest.name, subjects),
            effects: subjects.iter().flat_map(Subject::effects).chain([FOR_GOOD.to_owned()]).collect(),
            effect: Effect::Write,
        },
    )?;
    let withdraw = |failed: Error| {
        for subject in subjects {
            // If this fails too, the file of an approval remains. It does no harm, because the person did approve these
            // commands.
            let _ = subject.withdraw(context);
        }
        failed
    };
    // Write the files before the consent is used up. In the other order, a failed write would mean that the person is asked
    // again.
    subjects.iter().try_for_each(|subject| subject.approve(context)).map_err(withdraw)?;
    context.store.write(|db| consent.consume(context, db)).map_err(withdraw)
}

/// Describes the request: a single repository with its build command, or the number of repositories.
fn summary(workspace: &str, subjects: &[Subject<'_>]) -> String {
    match subjects {
        [Subject { repo, .. }] => {
            let runs = plan::line(&repo.build);
            format!("Build {} in the workspace '{workspace}' with your permissions: `{runs}`", repo.name)
        }
        _ => format!(
            "Build {} in the workspace '{workspace}' with your permissions",
            count(subjects.len(), "repository")
        ),
    }
}

impl<'m> Subject<'m> {
    fn of(context: &Context, workspace: &Workspace, repo: &'m Repo) -> Result<Self> {
        let folder = workspace.folder(repo)?;
        let mut note = json!({
            "folder": folder.display().to_string(),
            "url": redact(&repo.url),
            "origin": origin(context, &folder)?,
            "build": repo.build,
            "test": repo.test,
            "clean": repo.clean,
        });
        let covers = note.to_string();
        for step in ["build", "test", "clean"] {
            for word in note[step].as_array_mut().into_iter().flatten() {
                *word = word.as_str().map(redact).into();
            }
        }
        Ok(Self { repo, covers, note })
    }

    /// Returns what a person reads: the repository's origin, and each command that later builds may run.
    fn effects(&self) -> Vec<String> {
        let Self { repo, note, .. } = self;
        let origin = note["origin"].as_str().or(note["url"].as_str()).unwrap_or_default();
        let folder = note["folder"].as_str().unwrap_or_default();
        let mut lines = vec![format!("{} in {folder}, from {origin}:", repo.name)];
        let clean = repo.clean.as_ref().map(|argv| ("clean", argv));
        let commands = clean.into_iter().chain([("build", &repo.build), ("test", &repo.test)]);
        for (step, argv) in commands {
            lines.push(format!("  {step}: {}", plan::line(argv)));
            if argv.iter().any(|word| hides_syntax(word)) {
                lines.push(format!(
                    "  {step}: the text hidden as `***` is not just a password: it contains shell syntax"
                ));
            }
        }
        lines
    }
}

/// Returns whether redaction hides characters of this word that are special in a shell.
fn hides_syntax(word: &str) -> bool {
    let count = |text: &str| text.matches(['$', '`', ';', '|', '&', '<', '>', '(', '\n']).count();
    count(word) > count(&redact(word))
}

/// Returns the URL of the remote `origin`, without a password.
fn origin(context: &Context, folder: &std::path::Path) -> Result<Option<String>> {
    if git::folder(folder).is_none() {
        return Ok(None);
    }
    let limits = Limits::new(git::LOCAL, &context.cancelled);
    let said = git::ask(folder, &["config", "--get", "remote.origin.url"], &limits)?;
    Ok(said.map(|url| redact(String::from_utf8_lossy(&url).trim())))
}
