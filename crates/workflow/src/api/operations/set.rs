//! `mcpkg catalog set`: changes the settings of a catalog.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CATALOGS, CHANGES, base_url, get};
use crate::GROUP;
use crate::api::catalog::{Catalog, LARGEST_ANSWER, LONGEST_TIMEOUT, references};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::catalogs;

/// Change a catalog
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Name of the catalog
    #[arg(add = CATALOGS)]
    name: String,
    /// Base URL of the API
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    base_url: Option<String>,
    /// Header to send with each request, and where its value is stored; NAME= removes the header
    #[arg(long, value_name = "NAME=REF")]
    #[serde(default)]
    header: Vec<String>,
    /// Security scheme of the document, and where its secret is stored. SCHEME@ORIGIN also allows commands on ORIGIN, with a separate
    /// secret; SCHEME= removes the secret
    #[arg(long, value_name = "SCHEME=REF")]
    #[serde(default)]
    auth: Vec<String>,
    /// Also allow addresses that are not public
    #[arg(long, conflicts_with = "public")]
    #[serde(default)]
    private: bool,
    /// Allow public addresses only
    #[arg(long)]
    #[serde(default)]
    public: bool,
    /// Timeout for each call, in seconds (at most 600)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    #[serde(default)]
    timeout: Option<u32>,
    /// Size limit for a response, in MiB (at most 64)
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=64))]
    #[serde(default)]
    max_answer: Option<u32>,
}

impl Operation for Set {
    const TOOL: &'static str = "set_catalog";
    const CLI: &'static [&'static str] = &["catalog", "set"];
    const TITLE: &'static str = "Change a catalog";
    const ABOUT: &'static str = "Set an API's base URL, secrets, headers and limits";
    const HELP: &'static str = "mcpkg stores only the reference to a secret, such as env:API_TOKEN, file:~/.config/token or \
        command:pass show token, and never the secret itself. By default, mcpkg sends a secret only to the API's origin. With --auth \
        SCHEME@https://upload.example.com=REF, you also allow the commands that the document serves from that other origin, and mcpkg \
        sends the secret in REF only to that other origin.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg catalog set hosting --auth token=env:HOSTING_TOKEN",
        "mcpkg catalog set hosting --base-url https://eu.hosting.example.com/v1 --timeout 120",
        "mcpkg catalog set hosting --header X-Team=",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if self.says_nothing() {
            let why = format!("No setting given for the catalog '{}'", self.name);
            return Err(Error::new(Code::InvalidArgument, why).hint(
                "pass --base-url, --header, --auth, --private, --public, --timeout or --max-answer; `mcpkg catalog show` shows the \
                    current settings",
            ));
        }
        let before = get(context, &self.name)?;
        // The stored settings may come from someone else's database. Changing one field must not approve the other
        // fields unseen.
        before.require(context)?;
        let after = self.changed(before.clone())?;
        if after == before {
            let sentence = format!("The catalog '{}' already has these settings", self.name);
            return Ok(Reply::sentence(sentence, before.data()));
        }
        let author = context.author();
        context.store.write(|db| {
            if Catalog::of(catalogs::get(db, &self.name)?)? != before {
                let why =
                    format!("Somebody else changed the catalog '{}' in the meantime; nothing was written", self.name);
                return Err(Error::new(Code::PlanChanged, why).hint("try again"));
            }
            catalogs::update(db, after.id, &after.facts(), after.refreshed_at)?;
            context.event(db, author, None, "catalog.set", &self.name)
        })?;
        after.approve(context)?;
        Ok(Reply::sentence(format!("Changed the catalog '{}'", self.name), after.data()))
    }
}

impl Set {
    fn says_nothing(&self) -> bool {
        let Self { name: _, base_url, header, auth, private, public, timeout, max_answer } = self;
        let is_given = *private || *public || base_url.is_some() || timeout.is_some() || max_answer.is_some();
        !is_given && header.is_empty() && auth.is_empty()
    }

    /// Returns the catalog with the new settings.
    fn changed(&self, mut catalog: Catalog) -> Result<Catalog> {
        if let Some(url) = &self.base_url {
            catalog.base_url = Some(base_url(url)?);
        }
        catalog.set_headers(references(&self.header, "--header", true)?)?;
        catalog.set_auth(references(&self.auth, "--auth", true)?)?;
        catalog.private = (catalog.private || self.private) && !self.public;
        if let Some(seconds) = self.timeout {
            catalog.timeout = Duration::from_secs(seconds.into()).min(LONGEST_TIMEOUT);
        }
        if let Some(mib) = self.max_answer {
            catalog.max_answer = (u64::from(mib) << 20).min(LARGEST_ANSWER);
        }
        Ok(catalog)
    }
}
