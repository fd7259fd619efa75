//! `mcpkg source add`: adds content from a repository, a folder or a bundle to the project, to be updated later.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::Address;
use super::approval::Fetch;
use super::contents;
use super::offer::{Offer, counted, described};
use super::write;
use crate::GROUP;
use crate::import::paths::Kind as As;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::names;
use mcpkg_core::op::{Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::sources::{self, Choice};

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

/// Adds a source to the project, as `mcpkg source add` does.
pub fn add(source: &str, only: &[String], context: &Context) -> Result<Reply> {
    let (source, only) = (source.to_owned(), only.to_vec());
    Add { source, only, reference: None, path: None, prefix: None, name: None, kind: None, dry_run: false }.run(context)
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
        does, but plain documents get URIs below file:///NAME/, where NAME is the name of the source. mcpkg \
        records the commit of each item and the SHA-256 of the item's file, so that `mcpkg source update` can \
        merge the source's changes with yours.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg source add anthropics/skills --only 'skills/pdf'",
        "mcpkg source add owner/repo@v1.2//plugins/git --prefix git",
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
        let address = Address::parse(&self.source, self.reference.as_deref(), self.path.as_deref())?;
        let name = self.name.unwrap_or_else(|| address.name.clone());
        names::check("Source", &name)?;
        if let Some(prefix) = &self.prefix {
            names::check("Prefix", prefix)?;
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
        let choice = Choice { only: self.only, prefix: self.prefix, kind };
        let (origin, contents) = contents::first(&address, &name, choice, context)?;
        let (offer, project) =
            context.read(|db, project| Ok((Offer::new(db, project, &contents, 0)?, project.name.clone())))?;
        let data_of = |offer: &Offer, added: bool| {
            let mut data = offer.data(&origin, &contents);
            data.insert("project".to_owned(), project.as_str().into());
            data.insert("added".to_owned(), added.into());
            Value::Object(data)
        };
        let finish = |reply: Reply, offer: &Offer| Reply {
            hints: [contents.account.hints(), reply.hints].concat(),
            details: offer.lines(&contents),
            ..reply
        };
        if self.dry_run {
            return Ok(finish(Reply::new(offer.body(&origin, &contents), data_of(&offer, false)), &offer));
        }
        if contents.items.is_empty() {
            let why = format!("{} contains nothing to add", described(&origin));
            return Err(Error::new(Code::NotFound, why)
                .with_details(json!({ "left_out": contents.account.left_out_data() }))
                .hint("`--dry-run -v` lists each skipped file with the reason"));
        }
        offer.refuse_clashes(&origin, &contents)?;
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
        Ok(finish(reply, &offer))
    }
}
