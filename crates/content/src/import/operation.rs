//! The operation `mcpkg import`: runs the stages of an import.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::find::{self, only};
use super::gathered::Gathered;
use super::merge::Update;
use super::merge::write::Plan;
use super::paths::Kind;
use super::project::ImportProject;
use super::reason::{LeftOut, Reason};
use super::recognise::{self, Choice};
use super::report::{Report, is_main};
use crate::GROUP;
use crate::audited;
use crate::ignored;
use crate::item::{Item, conflict};
use crate::skills::MAIN;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::projects;

/// Import files and folders
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// Files and folders to import, such as CLAUDE.md, .claude/commands, a project or an exported folder
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be imported, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Update existing items that differ from the files; the old versions stay available as revisions
    #[arg(long)]
    #[serde(default)]
    update: bool,
    /// Also import files excluded by .gitignore and other ignore files
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Also import files that no agent reads, as documents
    #[arg(long)]
    #[serde(default)]
    documents: bool,
    /// Import only files that match a pattern, such as 'skills/pdf' or '*.mdc'; a leading `!` excludes files
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    #[serde(default)]
    only: Vec<String>,
    /// Import every file as this kind of item, regardless of the file's path
    #[arg(long = "as", value_name = "KIND")]
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    kind: Option<Kind>,
    /// Store the value of this MCP server variable or header as plain text; the value must not be a secret
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    keep_env: Vec<String>,
    /// Create a project with this name, and import into it
    #[arg(long, value_name = "NAME", conflicts_with = "dry_run")]
    #[serde(default)]
    create_project: Option<String>,
}

impl Operation for Import {
    const TOOL: &'static str = "import_files";
    const CLI: &'static [&'static str] = &["import"];
    const TITLE: &'static str = "Import files";
    const ABOUT: &'static str = "Import commands, skills, rules and other files into the selected project";
    const HELP: &'static str = "A file's name and folder decide what the file becomes:\n\
        - A file that a plugin's manifest names becomes what the manifest says, wherever the file is. The manifests are \
        .claude-plugin/plugin.json, .codex-plugin/plugin.json, .cursor-plugin/plugin.json and plugin.json. A folder that \
        a marketplace.json at the root lists is a plugin, too.\n\
        - A folder with SKILL.md becomes a skill, wherever the folder is. The skill includes all files in the folder \
        and its subfolders. A skill where no agent looks, such as a translation in docs/ja/skills, is skipped if agents \
        find another skill of that name.\n\
        - Commands (.claude/commands, .cursor/commands, .opencode/command, .codex/prompts, .windsurf/workflows, \
        *.prompt.md and a plugin's commands) become prompts. $ARGUMENTS, $1 and $name become the prompt's arguments.\n\
        - AGENTS.md, CLAUDE.md, GEMINI.md, rules and *.instructions.md become instructions://NAME. mcpkg keeps the \
        globs that select the files to which the instructions apply.\n\
        - Subagents become subagent://NAME.\n\
        - A file that no agent reads is skipped, unless you name it, by its path or with --only, or use --documents. It \
        becomes file:///PATH.\n\
        - MCP servers are read from each agent's file (.mcp.json, .cursor/mcp.json, .vscode/mcp.json, \
        .codex/config.toml, opencode.json, .gemini/settings.json and others). For a server's variables and headers, \
        mcpkg stores only the names of the variables that hold the values, never the values.\n\
        - Hooks, permissions, ignore files and plugin manifests are stored for the agent they belong to.\n\n\
        If a name is already taken, mcpkg adds the folder's name to the new item's name, as in PLUGIN-NAME.\n\n\
        mcpkg skips some files: version control files, node_modules, files listed in .gitignore, hidden files that no \
        agent reads, and files with conflict markers. --dry-run -v lists each skipped file with the reason. mcpkg \
        always imports the files listed in an export's manifest. If a link and its target are both among the files, \
        mcpkg imports the target only once. mcpkg skips links that lead out of the folder. If an import fails, nothing \
        is imported.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg import CLAUDE.md .claude/commands",
        "mcpkg import . --dry-run",
        "mcpkg import . --create-project app",
        "mcpkg import docs --documents --update",
        "mcpkg import . --only 'plugins/git/**'",
        "mcpkg import tools --only '*.md' --as prompt",
    ];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let mut project = ImportProject::find(context, self.create_project.as_deref(), !self.dry_run, &self.paths)?;
        // The project may not exist yet; then it has no resources.
        let held = project.context().read(|db, project| projects::summary(db, project.clone()));
        let resources = held.map_or(0, |held| usize::try_from(held.resources).unwrap_or_default());
        let (kind, all, documents) = (self.kind, self.all, self.documents);
        let choice = Choice { only: &self.only, kind, all, documents, resources, ..Choice::default() };
        let secrets = Secrets::keeping(&self.keep_env);
        let recognised = recognise::recognise(find::find(&self.paths, self.all, context)?, &choice, context)?;
        let account = &recognised.account;
        let is_unreadable = |left: &LeftOut| left.reason == Reason::Unreadable && self.may_name(&left.path);
        let is_empty = recognised.files.is_empty() && account.same.is_empty();
        if is_empty && !self.only.is_empty() && !account.left_out.iter().any(is_unreadable) {
            return Err(self.nothing_named());
        }
        // Keep files with critical findings for now: a dry run shows them, and a person at a terminal is asked about
        // them below.
        let accepts = self.dry_run || context.confirmation == Confirmation::Ask;
        let update = Update::from(self.update);
        let how = (update, self.only.is_empty(), accepts);
        let (gathered, mut audited) = Gathered::audited(recognised, secrets, how, project.context())?;
        let (items, servers, account) = (&gathered.items, &gathered.servers, &gathered.account);
        // With `--only`, a missing SKILL.md is fine: the files may belong to a skill that already exists.
        if self.kind == Some(Kind::Skill) && self.only.is_empty() {
            refuse_no_skill(&self.paths, items)?;
        }
        let is_whole = self.only.is_empty() && audited.left_out.findings.is_empty();
        let content = gathered.content(is_whole, update);

        let mut unrecorded = Vec::new();
        let plan = if self.dry_run {
            content.plan(context, audited.plan.take())?
        } else {
            if context.is_cancelled() {
                return Err(recognise::cancelled());
            }
            if audited.report.critical().next().is_some() {
                let question = "Import these files although they have critical audit findings?";
                (context.ask)(Body::lines(audited::lines(&audited.report)), question)?;
            }
            let written = content.write(project.made()?, &self.subject(), audited.plan.take());
            let plan = written.map_err(|error| project.taken_back(error))?;
            unrecorded = ignored::accept(audited.report.findings.iter(), project.context());
            plan
        };
        let Plan { actions, of_servers, project: into, .. } = &plan;
        let report = Report { project: &into.name, items, actions, servers, of_servers, account };
        let mut reply = match self.dry_run {
            true => report.dry_run(context.shows_data),
            false => report.written(context.shows_data),
        };
        reply.hints.extend(project.hint());
        let why = |left: &LeftOut| match left.reason {
            Reason::Unmerged => Some(conflict::WHY),
            Reason::Unreadable if self.may_name(&left.path) => Some(Reason::Unreadable.text()),
            _ => None,
        };
        let unread = account.left_out.iter().filter_map(|left| Some((&left.path, why(left)?)));
        reply.warnings.extend(unread.map(|(path, why)| format!("`{path}` {why}; skipped")));
        reply.failed |= !self.dry_run && !reply.warnings.is_empty();
        reply.details.extend(account.lines());
        reply.warnings.extend(audited.report.lines(Severity::Warning));
        reply.warnings.extend(unrecorded);
        if !audited.left_out.findings.is_empty() {
            reply
                .warnings
                .extend(audited.left_out.lines(Severity::Critical).into_iter().map(|line| format!("left out: {line}")));
            reply.differs = true;
            let path = shell::quote(&self.paths[0].to_string_lossy());
            reply.hints.push(format!(
                "only a person can accept critical findings: to read them, run `mcpkg audit {path}`; to import the files \
                 anyway, run the import at a terminal, without --yes"
            ));
        }
        if items.is_empty() {
            reply.hints.push("found no files to import".to_owned());
        }
        Ok(reply)
    }
}

impl Import {
    /// Returns whether `--only` may select an unreadable folder or a file in it, judging by the folder's path.
    fn may_name(&self, path: &str) -> bool {
        let folder = path.trim_end_matches('/');
        only::Only::new(&self.only).is_ok_and(|only| only.takes(&format!("{folder}/any")) || only.takes(folder))
    }

    /// Returns the error for `--only` patterns that match no file.
    fn nothing_named(&self) -> Error {
        let patterns: Vec<String> = self.only.iter().map(|pattern| format!("'{pattern}'")).collect();
        let what = format!("No importable file matches `--only`: {}", patterns.join(", "));
        Error::new(Code::NotFound, what)
            .hint("patterns use .gitignore syntax and match the paths listed by `mcpkg import PATH --dry-run -v`")
    }
}

/// Fails if the user imports files as a skill without a SKILL.md, because no agent would find the skill.
fn refuse_no_skill(paths: &[PathBuf], items: &[Item]) -> Result<()> {
    if items.is_empty() || items.iter().any(is_main) {
        return Ok(());
    }
    let folders: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    let why = format!("{} contains no {MAIN}, so it is not a skill; nothing was imported", folders.join(", "));
    Err(Error::new(Code::InvalidArgument, why).hint(format!(
        "write a {MAIN} that says what the skill is for, or import the files as documents with `--as resource`"
    )))
}
