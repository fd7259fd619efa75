//! `mcpkg catalog refresh`: reads the document of a catalog again, and updates its commands.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::hits::{Hit, hits as of_difference};
use super::{CATALOGS, CHANGES, Read, check_groups, get, hints, rows, telling_left_out};
use crate::GROUP;
use crate::api::catalog::{self, Catalog};
use crate::api::difference::Difference;
use crate::api::fetch::Place;
use crate::api::import::Imported;
use crate::api::violation::Violation;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::catalogs::{self, CommandRow};

/// Read an API's description again
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Refresh {
    /// Name of the catalog
    #[arg(add = CATALOGS)]
    name: String,
    /// File or URL to read the description from, now and in later refreshes [default: the current file or URL]
    #[arg(long, value_name = "FILE|URL")]
    #[serde(default)]
    from: Option<String>,
    /// Show changes without applying them; exit with status 3 if there are changes
    #[arg(long)]
    #[serde(default)]
    check: bool,
}

impl Operation for Refresh {
    const TOOL: &'static str = "refresh_catalog";
    const CLI: &'static [&'static str] = &["catalog", "refresh"];
    const TITLE: &'static str = "Read an API's description again";
    const ABOUT: &'static str = "Show the changes in an API's description, and apply them";
    const HELP: &'static str = "Each line of the output begins with a mark: + for a new command, - for a removed command, ! for a \
        breaking change, ~ for any other change. After the changes, mcpkg lists the saved workflows and drafts that use changed \
        commands. Commands keep their ids and your corrections. The API keeps its base URL: only `mcpkg catalog set` changes a base \
        URL.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg catalog refresh hosting",
        "mcpkg catalog refresh hosting --check",
        "mcpkg catalog refresh hosting --from hosting-2.yaml --yes",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let before = get(context, &self.name)?;
        before.require(context)?;
        let stored = context.store.read(|db| catalogs::commands(db, before.id))?;
        let read = Read::from(context, Place::of(self.from.as_deref().unwrap_or(&before.source))?, before.reach())?;
        let (imported, origin) = read.commands(&before.name, &before.prefix, &stored)?;
        let after = Catalog {
            title: imported.title.clone(),
            version: imported.version.clone(),
            openapi: imported.openapi.clone(),
            source: origin.place,
            sha256: origin.sha256,
            servers: imported.servers.clone(),
            schemes: imported.schemes.clone(),
            refreshed_at: context.clock.now(),
            ..before.clone()
        };
        let news = News::new(context, after, imported, &stored)?;
        if self.check {
            return Ok(Reply { differs: !news.difference.is_empty(), ..news.reply(news.shown(), false) });
        }
        if !news.difference.is_empty() {
            (context.ask)(news.shown(), &format!("Refresh the catalog '{}': {}?", self.name, news.counts()))?;
        }
        let changed = news.write(context, &before, &stored)?;
        let sentence = match (changed, news.difference.is_empty()) {
            (false, _) => format!("The catalog '{}' is up to date", self.name),
            (true, true) => format!("Refreshed the catalog '{}': no command changed", self.name),
            (true, false) => format!("Refreshed the catalog '{}': {}", self.name, news.counts()),
        };
        Ok(news.reply(Body::Sentence(sentence), changed))
    }
}

/// The new version of a catalog.
struct News {
    after: Catalog,
    imported: Imported,
    rows: Vec<CommandRow>,
    difference: Difference,
    /// Removed commands that a person had corrected.
    lost: Vec<String>,
    hits: Vec<Hit>,
}

impl News {
    fn new(context: &Context, after: Catalog, imported: Imported, stored: &[CommandRow]) -> Result<Self> {
        let old = stored.iter().map(catalog::unpatched).collect::<Result<Vec<_>>>()?;
        let difference = Difference::between(&old, &imported.commands);
        let rows = rows(&imported, stored)?;
        let names: HashMap<(&str, &str), ()> = rows.iter().map(|row| ((&*row.method, &*row.path), ())).collect();
        let is_lost = |row: &&CommandRow| row.patch.is_some() && !names.contains_key(&(&*row.method, &*row.path));
        let lost = stored.iter().filter(is_lost).map(|row| row.id.clone()).collect();
        let hits = of_difference(context, &difference)?;
        Ok(Self { after, imported, rows, difference, lost, hits })
    }

    /// Stores the new version, unless it equals the stored one. Returns whether it was stored.
    fn write(&self, context: &Context, before: &Catalog, stored: &[CommandRow]) -> Result<bool> {
        let is_same =
            Catalog { refreshed_at: before.refreshed_at, ..self.after.clone() } == *before && self.rows == stored;
        let author = context.author();
        context.store.write(|db| {
            let unchanged = Catalog::of(catalogs::get(db, &before.name)?)? == *before
                && catalogs::commands(db, before.id)? == stored;
            if !unchanged {
                let why = format!(
                    "The catalog '{}' was changed while mcpkg was reading its document; nothing was written",
                    before.name
                );
                return Err(Error::new(Code::PlanChanged, why).hint("try again"));
            }
            if is_same {
                return Ok(());
            }
            check_groups(db, before.id, &self.imported)?;
            catalogs::update(db, before.id, &self.after.facts(), self.after.refreshed_at)?;
            catalogs::replace(db, before.id, &self.rows)?;
            context.event(db, author, None, "catalog.refresh", &before.name)
        })?;
        if !is_same {
            self.after.approve(context)?;
        }
        Ok(!is_same)
    }

    /// Returns the changes as text, for a person to decide about.
    fn shown(&self) -> Body {
        match self.difference.is_empty() {
            true => Body::Sentence(format!("The commands of the catalog '{}' are up to date", self.after.name)),
            false => {
                let hits = self.hits.iter().map(|hit| format!("  {}", hit.line()));
                Body::lines(self.difference.lines().into_iter().chain(hits))
            }
        }
    }

    fn counts(&self) -> String {
        let Difference { added, removed, changed } = &self.difference;
        let breaking = changed.iter().filter(|changed| changed.breaks()).count();
        let commands = plural::count(added.len(), "command");
        format!("{commands} new, {} removed, {} changed ({breaking} breaking)", removed.len(), changed.len())
    }

    fn reply(&self, body: Body, refreshed: bool) -> Reply {
        let mut data = self.difference.data();
        data["name"] = json!(self.after.name);
        data["version"] = json!(self.after.version);
        data["refreshed"] = json!(refreshed);
        data["hits"] = json!(self.hits);
        data["left_out"] = Value::Array(self.imported.left_out.iter().map(Violation::data).collect());
        let lost = self.lost.iter().map(|id| format!("'{id}' was removed, along with its corrections"));
        let mut reply = Reply::new(body, data);
        reply.hints = hints(&self.after, &self.imported);
        telling_left_out(reply, &self.imported.left_out).warn(lost)
    }
}
