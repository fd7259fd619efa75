//! `mcpkg catalog import`: imports an API description as a catalog.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::new_catalog::{NewCatalog, Options};
use super::{CHANGES, base_url, hints, not_runnable, take_over, telling_left_out};
use crate::GROUP;
use crate::api::catalog::references;
use crate::api::fetch::Place;
use crate::api::violation::Violation;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};

/// Import an API
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// File or URL of an OpenAPI 3.0, 3.1 or 3.2 or Swagger 2.0 document, in JSON or YAML (http URLs only for this machine)
    #[arg(value_name = "FILE|URL", required_unless_present = "from_oatty")]
    #[serde(default)]
    document: Option<String>,
    /// Import the catalogs in oatty's registry.json instead of a document
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["document", "prefix", "name", "base_url", "header", "auth"])]
    #[serde(default)]
    from_oatty: Option<PathBuf>,
    /// Group of the commands; with '', the first segment of each path is the group [default: from the title]
    #[arg(long, value_name = "GROUP")]
    #[serde(default)]
    prefix: Option<String>,
    /// Name of the catalog [default: the group if given, otherwise a name made from the title]
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    name: Option<String>,
    /// Base URL of the API [default: the document's first server]
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    base_url: Option<String>,
    /// Header to send with each request, and where its value is stored: NAME=env:VARIABLE, NAME=file:PATH or NAME=command:ARGV
    #[arg(long, value_name = "NAME=REF")]
    #[serde(default)]
    header: Vec<String>,
    /// Security scheme of the document, and where its secret is stored: SCHEME=env:VARIABLE, SCHEME=file:PATH or SCHEME=command:ARGV.
    /// SCHEME@ORIGIN also allows commands on ORIGIN, with a separate secret
    #[arg(long, value_name = "SCHEME=REF")]
    #[serde(default)]
    auth: Vec<String>,
    /// Also allow addresses that are not public, such as addresses in your own network
    #[arg(long)]
    #[serde(default)]
    private: bool,
}

impl Operation for Import {
    const TOOL: &'static str = "import_catalog";
    const CLI: &'static [&'static str] = &["catalog", "import"];
    const TITLE: &'static str = "Import an API";
    const ABOUT: &'static str = "Import the description of an API as commands";
    const HELP: &'static str = "Each operation in the API's description becomes a command. mcpkg skips invalid operations, reports \
        the line of each, and imports the other operations. mcpkg stores only the reference to a secret, never the secret itself. \
        mcpkg reads a secret when a command runs, and sends the secret only to the API's origin or to another origin that you specify \
        for that secret. mcpkg fetches the API's description without sending secrets, and does not store the document: `mcpkg catalog \
        refresh` reads the document again. With --from-oatty, mcpkg reads each enabled catalog of oatty again, from the catalog's \
        original location. mcpkg then reports what it fixed or skipped, and copies no secret values from oatty's file or the system \
        keychain.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg catalog import hosting.yaml",
        "mcpkg catalog import https://api.example.com/openapi.json --prefix hosting --auth token=env:HOSTING_TOKEN",
        "mcpkg catalog import openapi.json --prefix '' --base-url http://localhost:8080/v1",
        "mcpkg catalog import --from-oatty ~/.config/oatty/registry.json",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().or_else(|| self.prefix.clone()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(file) = &self.from_oatty {
            return take_over::take_over(context, file, self.private);
        }
        let headers = references(&self.header, "--header", false)?;
        let auth = references(&self.auth, "--auth", false)?;
        let base_url = self.base_url.as_deref().map(base_url).transpose()?;
        let place = Place::of(self.document.as_deref().unwrap_or_default())?;
        let asked = Options { place, prefix: self.prefix, name: self.name, base_url, private: self.private };
        let mut made = NewCatalog::read(context, asked)?;
        made.catalog.set_headers(headers)?;
        made.catalog.set_auth(auth)?;
        let author = context.author();
        context.store.write(|db| {
            made.check(db)?;
            made.keep(context, db, author)
        })?;
        let NewCatalog { catalog, imported, rows } = made;
        catalog.approve(context)?;
        let name = &catalog.name;
        let count = plural::count(rows.len(), "command");
        let version = Some(&catalog.version).filter(|version| !version.is_empty());
        let api = version.map_or_else(|| catalog.title.clone(), |version| format!("{} {version}", catalog.title));
        let idle = not_runnable(&catalog, &imported);
        let mut data = catalog.data();
        data["commands"] = json!(rows.len());
        data["not_runnable"] = json!(idle);
        data["left_out"] = imported.left_out.iter().map(Violation::data).collect();
        let mut reply = Reply::sentence(format!("Imported {count} from {api} as '{name}'"), data);
        reply.hints = hints(&catalog, &imported);
        if idle > 0 {
            let which = plural::count(idle, "command");
            reply.hints.push(format!("{which} cannot be run; for the reasons, see `mcpkg catalog show {name}`"));
        }
        Ok(telling_left_out(reply, &imported.left_out))
    }
}
