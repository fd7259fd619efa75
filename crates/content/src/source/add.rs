//! `mcpkg source add`: adds content from a repository, a folder or a bundle to the project, to be updated later.

use std::collections::BTreeSet;
use std::path::Path;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::Address;
use super::approval::Fetch;
use super::contents;
use super::left;
use super::offer::{Offer, counted, described};
use super::write;
use crate::GROUP;
use crate::audited;
use crate::ignored;
use crate::import::paths::Kind as As;
use crate::import::plugins::marketplace::Marketplace;
use mcpkg_agents::audit::Report;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell::quote;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::names;
use mcpkg_core::op::{Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::sources::{self, Choice, Kind, Takes};

/// Add a source
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Folder, git URL (https, ssh, file), owner/repo[@ref][//path] on github.com, or a bundle
    source: String,
    /// Branch, tag or commit [default: the repository's default branch]
    #[arg(id = "ref", long, value_name = "REF")]
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    /// Folder inside the repository to add
    #[arg(long, value_name = "PATH")]
    #[serde(default)]
    path: Option<String>,
    /// Add only files that match a pattern, such as 'skills/pdf' or '*.mdc'; a leading `!` excludes files
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    #[serde(default)]
    only: Vec<String>,
    /// Add only this plugin of the repository's marketplace; repeat for several
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    plugin: Vec<String>,
    /// Also add files that no agent reads, as documents
    #[arg(long)]
    #[serde(default)]
    documents: bool,
    /// Prefix for all item names: `acme` turns `review` into `acme-review`
    #[arg(long, value_name = "P")]
    #[serde(default)]
    prefix: Option<String>,
    /// Name of the source [default: name of the repository or folder]
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    name: Option<String>,
    /// Import every file as this kind of item, regardless of the file's path
    #[arg(long = "as", value_name = "KIND")]
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    kind: Option<As>,
    /// Show what would be added, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

/// Validates the address of a source, without fetching the source.
pub fn check_address(text: &str) -> Result<()> {
    Address::parse(text, None, None).map(drop)
}

/// Adds a source to the project, as `mcpkg source add` does, but leaves it to the caller to record accepted findings.
/// Returns the hints.
pub fn add(source: &str, only: &[String], plugins: &[String], context: &Context) -> Result<Vec<String>> {
    let (source, only, plugin) = (source.to_owned(), only.to_vec(), plugins.to_vec());
    let add = Add {
        source,
        reference: None,
        path: None,
        only,
        plugin,
        documents: false,
        prefix: None,
        name: None,
        kind: None,
        dry_run: false,
    };
    add.add(context).map(|(reply, _)| reply.hints)
}

impl Add {
    /// Returns the command that adds this source, without the options that select files.
    fn command(&self) -> String {
        let mut command = format!("mcpkg source add {}", quote(&self.source));
        let options = [("ref", &self.reference), ("path", &self.path), ("prefix", &self.prefix)];
        for (option, value) in options.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
            command.push_str(&format!(" --{option} {}", quote(value)));
        }
        command
    }

    /// Returns the options that [`Add::command`] leaves out: the selected files and plugins, and the source's name.
    fn selection(&self) -> String {
        let only = self.only.iter().map(|pattern| format!(" --only {}", quote(pattern)));
        let plugins = self.plugin.iter().map(|plugin| format!(" --plugin {}", quote(plugin)));
        let name = self.name.iter().map(|name| format!(" --name {}", quote(name)));
        only.chain(plugins).chain(name).collect()
    }
}

impl Operation for Add {
    const TOOL: &'static str = "add_source";
    const CLI: &'static [&'static str] = &["source", "add"];
    const TITLE: &'static str = "Add a source";
    const ABOUT: &'static str =
        "Add the skills, prompts, rules and other files of a repository or folder to the project";
    const HELP: &'static str = "mcpkg first shows what would be added: skills, prompts, subagents, instructions \
        and documents. mcpkg also shows the number of programs, the skipped files, and the licence. Nothing in \
        the source is executed: git fetches the source into a bare repository in your cache, without hooks, \
        filters or submodules. git uses https, ssh or the local disk. mcpkg converts files as `mcpkg import` \
        does, but plain documents get URIs below file:///NAME/, where NAME is the name of the source. \
        Instructions and settings at the repository's root, such as CLAUDE.md, are for those who work on the repository, \
        so mcpkg adds them only if --only names them. If the repository has a marketplace, mcpkg lists its plugins. mcpkg \
        records the commit of each item and the SHA-256 of the item's file, so that `mcpkg source update` can \
        merge the source's changes with yours.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg source add anthropics/skills --only 'skills/pdf'",
        "mcpkg source add owner/repo@v1.2//plugins/git --prefix git",
        "mcpkg source add anthropics/claude-code --plugin code-review",
        "mcpkg source add git@example.com:team/kit.git --ref main --yes",
        "mcpkg source add ./kit.bundle --dry-run",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        mcpkg_base::redact::redact(&self.source)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (reply, report) = self.add(context)?;
        Ok(reply.warn(ignored::accept(report.findings.iter(), context)))
    }
}

impl Add {
    /// Adds the source. Also returns the findings in it.
    fn add(self, context: &Context) -> Result<(Reply, Report)> {
        let address = Address::parse(&self.source, self.reference.as_deref(), self.path.as_deref())?;
        let (command, selection) = (self.command(), self.selection());
        let name = self.name.unwrap_or_else(|| address.name.clone());
        names::check("Source", &name)?;
        if let Some(prefix) = &self.prefix {
            names::check("Prefix", prefix)?;
        }
        if address.kind == Kind::Folder && !self.plugin.is_empty() {
            Marketplace::check(Marketplace::read(Path::new(&address.url)).as_ref(), &self.plugin)?;
        }
        if !self.dry_run && context.confirmation == Confirmation::Nobody {
            let why = format!("Adding the source '{name}' needs to be confirmed. Nothing was changed");
            return Err(Error::new(Code::ConfirmRequired, why)
                .hint("use `--dry-run` to see what would be added; confirm with --yes"));
        }
        // Check the name before spending time on a fetch.
        context.read(|db, project| match sources::list(db, project.id)?.iter().any(|row| row.origin.name == name) {
            true => Err(sources::name_taken(project, &name)),
            false => Ok(()),
        })?;
        let kind = self.kind.and_then(|kind| kind.to_possible_value()).map(|kind| kind.get_name().to_owned());
        let takes = if self.documents { Takes::Documents } else { Takes::Agents };
        let choice = Choice { only: self.only, prefix: self.prefix, kind, plugins: self.plugin, takes };
        let (origin, mut contents) = contents::first(&address, &name, choice, context)?;
        contents.audit = ignored::without_harmless(contents.audit, context);
        let (offer, project) =
            context.read(|db, project| Ok((Offer::new(db, project, &contents, 0)?, project.name.clone())))?;
        let data_of = |offer: &Offer, added: bool| {
            let mut data = offer.data(&origin, &contents);
            data.insert("project".to_owned(), project.as_str().into());
            data.insert("added".to_owned(), added.into());
            Value::Object(data)
        };
        let with_documents = format!("{command}{selection} --documents");
        let again = format!("{command} --name {name}-root");
        let finish = |reply: Reply, offer: &Offer, documents: &str| {
            let left = left::hints(&contents.account, documents, &again);
            let hints = [contents.account.hints_with(left), reply.hints].concat();
            Reply { hints, details: offer.lines(&contents), ..reply }
        };
        if self.dry_run {
            let reply = Reply::new(offer.body(&origin, &contents), data_of(&offer, false));
            return Ok((finish(reply, &offer, &with_documents), Report::default()));
        }
        if contents.items.is_empty() {
            let why = format!("{} contains nothing to add", described(&origin));
            let error = Error::new(Code::NotFound, why)
                .with_details(json!({ "left_out": contents.account.left_out_data() }))
                .hint("`--dry-run -v` lists each skipped file with the reason");
            return Err(left::hints(&contents.account, &with_documents, &again).into_iter().fold(error, Error::hint));
        }
        offer.refuse_clashes(&origin, &contents)?;
        audited::refuse(&contents.audit, &format!("The source '{name}'"), &without(&contents.audit), context)?;
        (context.ask)(
            offer.body(&origin, &contents),
            &format!("Add the source '{name}' from {} to project '{project}'?", described(&origin)),
        )?;
        Fetch(&origin).approve(context)?;
        let bulk = write::store_bulk(context, &offer, &contents)?;
        let offer = context.write("source.add", &name, |db, project, author| {
            write::first(db, project, author, &origin, &contents, &bulk, context)
        })?;
        bulk.keep();
        let sentence = format!("Added {} from {} to project '{project}'", counted(&contents.items), described(&origin));
        let reply = Reply::sentence(sentence, data_of(&offer, true)).hint(format!(
            "get later changes with `mcpkg source update {name}`; list its items with `mcpkg source show {name}`"
        ));
        let reply = match context.confirmation {
            // The question above already showed the findings.
            Confirmation::Ask => reply,
            Confirmation::Given | Confirmation::Nobody => reply.warn(contents.audit.lines(Severity::Warning)),
        };
        let reply = finish(reply, &offer, &format!("mcpkg source update {name} --documents"));
        Ok((reply, contents.audit))
    }
}

/// Returns the hint that says how to leave out the files with critical findings.
fn without(report: &Report) -> String {
    let paths: BTreeSet<&str> = report.critical().map(|finding| finding.path.as_str()).collect();
    let only = paths.iter().take(3).map(|path| format!("--only {}", quote(&format!("!{path}"))));
    format!("to add the other files alone, leave out those with findings: `{}`", only.collect::<Vec<_>>().join(" "))
}
