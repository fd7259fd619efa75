//! `mcpkg catalog import`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, Read, base_url, check_groups, hints, left_out, not_runnable, rows};
use crate::error::Result;
use crate::http::{Reach, Url};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::plural;
use crate::store::catalogs;
use crate::workflow::GROUP;
use crate::workflow::api::approval;
use crate::workflow::api::catalog::{ANSWER, Catalog, TIMEOUT, references};
use crate::workflow::api::fetch::Place;
use crate::workflow::api::servers::Server;
use crate::workflow::api::violation::Violation;
use crate::workflow::groups;

/// Import an API
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// File, or URL (https, or http on this machine), of an OpenAPI 3.0, 3.1 or 3.2 document in JSON or YAML
    #[arg(value_name = "FILE|URL")]
    document: String,
    /// Group of its commands; '' takes the first segment of each path as the group [default: from the title]
    #[arg(long, value_name = "GROUP")]
    #[serde(default)]
    prefix: Option<String>,
    /// Name to call the catalog by [default: the group, else from the title]
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    name: Option<String>,
    /// Where the API is served [default: the document's first server]
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    base_url: Option<String>,
    /// Header of each request, with where its value is kept: NAME=env:VARIABLE, file:PATH or command:ARGV
    #[arg(long, value_name = "NAME=REF")]
    #[serde(default)]
    header: Vec<String>,
    /// Security scheme of the document, with where its secret is kept: SCHEME=env:VARIABLE, file:PATH or command:ARGV
    #[arg(long, value_name = "SCHEME=REF")]
    #[serde(default)]
    auth: Vec<String>,
    /// Ask addresses that are not public, too: of this network, and of links
    #[arg(long)]
    #[serde(default)]
    private: bool,
}

impl Operation for Import {
    const TOOL: &'static str = "import_catalog";
    const CLI: &'static [&'static str] = &["catalog", "import"];
    const TITLE: &'static str = "Import an API";
    const ABOUT: &'static str = "Import the description of an API, whose operations become commands";
    const HELP: &'static str = "An operation that breaks a rule is left out and named with its line; the rest is imported. \
        Secrets are never stored: what is kept is where they are. They are read when a command is run, and go to the origin \
        of the API alone. The document itself is fetched without them, and not kept: `mcpkg catalog refresh` reads it again.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg catalog import hosting.yaml",
        "mcpkg catalog import https://api.example.com/openapi.json --prefix hosting --auth token=env:HOSTING_TOKEN",
        "mcpkg catalog import openapi.json --prefix '' --base-url http://localhost:8080/v1",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: crate::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().or_else(|| self.prefix.clone()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let headers = references(&self.header, "--header", false)?;
        let auth = references(&self.auth, "--auth", false)?;
        let given_base = self.base_url.as_deref().map(base_url).transpose()?;
        for name in self.prefix.iter().filter(|prefix| !prefix.is_empty()).chain(&self.name) {
            groups::check(name, "group of commands")?;
        }
        let reach = if self.private { Reach::Anywhere } else { Reach::Public };
        let read = Read::from(context, Place::of(&self.document)?, reach)?;
        let prefix = self.prefix.clone().unwrap_or_else(|| read.name());
        let given_name = self.name.clone().or_else(|| Some(prefix.clone()).filter(|prefix| !prefix.is_empty()));
        let name = given_name.unwrap_or_else(|| read.name());
        let (imported, origin) = read.commands(&name, &prefix, &[])?;
        let is_asked = |server: &&Server| Url::parse(&server.url).is_some_and(|url| url.is_private());
        let base_url = given_base.or_else(|| imported.servers.iter().find(is_asked).map(|server| server.url.clone()));
        let now = context.clock.now();
        let mut catalog = Catalog {
            id: 0,
            name: name.clone(),
            prefix,
            title: imported.title.clone(),
            version: imported.version.clone(),
            openapi: imported.openapi.clone(),
            source: origin.place,
            sha256: origin.sha256,
            base_url,
            servers: imported.servers.clone(),
            schemes: imported.schemes.clone(),
            headers: Default::default(),
            auth: Default::default(),
            private: self.private,
            timeout: TIMEOUT,
            max_answer: ANSWER,
            imported_at: now,
            refreshed_at: now,
        };
        catalog.set_headers(headers)?;
        catalog.set_auth(auth)?;
        let rows = rows(&imported, &[])?;
        let author = context.author();
        context.store.write(|db| {
            if catalogs::list(db)?.iter().any(|row| row.facts.name == name) {
                return Err(catalogs::taken(&name));
            }
            check_groups(db, 0, &imported)?;
            let id = catalogs::insert(db, &catalog.facts(), author.now)?;
            catalogs::replace(db, id, &rows)?;
            context.event(db, author, None, "catalog.import", &name)
        })?;
        approval::approve(context, &catalog)?;
        let count = plural::count(rows.len(), "command");
        let version = Some(&catalog.version).filter(|version| !version.is_empty());
        let api = version.map_or_else(|| catalog.title.clone(), |version| format!("{} {version}", catalog.title));
        let idle = not_runnable(&catalog, &imported);
        let mut data = catalog.data();
        data["commands"] = json!(rows.len());
        data["not_runnable"] = json!(idle);
        data["left_out"] = imported.left_out.iter().map(Violation::data).collect();
        let mut reply = Reply::sentence(format!("Imported {count} of {api} as '{name}'"), data);
        reply.hints = hints(&catalog, &imported);
        if idle > 0 {
            let which = plural::count(idle, "command");
            reply.hints.push(format!("{which} cannot be run: `mcpkg catalog show {name}` says why"));
        }
        Ok(reply.warn(left_out(&imported.left_out)))
    }
}
