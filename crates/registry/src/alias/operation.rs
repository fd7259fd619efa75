//! `mcpkg tool alias`: shows, creates and removes aliases of tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ALIASES, check};
use crate::GROUP;
use crate::package::Name;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, Names, NoOutput, Operation, Reply, Table};
use mcpkg_store::tools::{aliases, installs};

/// The tools that can get an alias, for shell completion.
const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(installs::names(typed.db)?)));

/// Show, create or remove a short name for a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Alias {
    /// Alias to show, create or remove [default: show all aliases]
    #[arg(add = ALIASES)]
    alias: Option<String>,
    /// Tool that the alias stands for
    #[arg(conflicts_with = "remove", add = TOOLS)]
    tool: Option<String>,
    /// Remove the alias
    #[arg(long, requires = "alias")]
    #[serde(default)]
    remove: bool,
}

impl Operation for Alias {
    const TOOL: &'static str = "tool_alias";
    const CLI: &'static [&'static str] = &["tool", "alias"];
    const TITLE: &'static str = "Show, create or remove a short name for a tool";
    const ABOUT: &'static str = "Show, create or remove short names for tools, for use in the shell";
    const HELP: &'static str =
        "You can use a short name wherever a command takes a tool's name. Agents do not see short names.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool alias", "mcpkg tool alias weather alice/utils/weather", "mcpkg tool alias weather --remove"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.alias.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Some(alias) = &self.alias else { return all(context) };
        let author = context.author();
        if self.remove {
            let tool = context.store.write(|db| {
                let tool = required(db, alias)?;
                aliases::remove(db, alias)?;
                context.event(db, author, None, "tool.alias.remove", alias)?;
                Ok(tool)
            })?;
            return Ok(Reply::sentence(format!("Removed the alias '{alias}' for {tool}"), data(alias, &tool)));
        }
        let Some(tool) = &self.tool else {
            let tool = context.store.read(|db| required(db, alias))?;
            return Ok(Reply::new(Body::Text(format!("{tool}\n")), data(alias, &tool)));
        };
        check(alias)?;
        let name = Name::parse(tool)?;
        if !name.is_publishable() {
            let what = format!("'{name}' is not a full tool name");
            return Err(Error::new(Code::InvalidArgument, what).hint("use a full name such as alice/utils/weather"));
        }
        let is_installed = context.store.write(|db| {
            if aliases::get(db, alias)?.as_deref() != Some(name.as_str()) {
                aliases::set(db, alias, name.as_str())?;
                context.event(db, author, None, "tool.alias", alias)?;
            }
            Ok(installs::names(db)?.iter().any(|known| known == name.as_str()))
        })?;
        let reply = Reply::sentence(format!("'{alias}' is an alias for {name}"), data(alias, name.as_str()));
        Ok(match is_installed {
            true => reply,
            false => reply.hint(format!("the tool is not installed yet; to install it: `mcpkg tool install {alias}`")),
        })
    }
}

/// Returns the tool that an alias stands for.
fn required(db: &mcpkg_store::Db<'_>, alias: &str) -> Result<String> {
    if let Some(tool) = aliases::get(db, alias)? {
        return Ok(tool);
    }
    let known = aliases::all(db)?;
    Err(Error::new(Code::NotFound, format!("There is no alias '{}'", alias.escape_debug())).suggest(
        alias,
        known.iter().map(|(alias, _)| alias.as_str()),
        "`mcpkg tool alias` lists the aliases",
    ))
}

fn all(context: &Context) -> Result<Reply> {
    let known = context.store.read(aliases::all)?;
    let listed: Vec<Value> = known.iter().map(|(alias, tool)| data(alias, tool)).collect();
    let table = Table {
        columns: &["ALIAS", "TOOL"],
        rows: known.into_iter().map(|(alias, tool)| vec![alias, tool]).collect(),
        empty: "There are no aliases; `mcpkg tool alias NAME TOOL` creates one".to_owned(),
    };
    Ok(Reply::new(Body::Table(table), json!({ "aliases": listed })))
}

fn data(alias: &str, tool: &str) -> Value {
    json!({ "alias": alias, "tool": tool })
}
