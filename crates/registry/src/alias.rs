//! Aliases: short names that a person types instead of a tool's name. Agents do not see them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::package::Name;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Entry, Faces, Names, NoOutput, Operation, Reply, Table};
use mcpkg_store::Db;
use mcpkg_store::tools::{aliases, installs};

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<Alias>()];

/// The aliases, for shell completion.
pub const ALIASES: Names =
    Names::Stored(|typed| Ok(typed.matching(aliases::all(typed.db)?.into_iter().map(|(alias, _)| alias))));

/// The tools that can get an alias, for shell completion.
const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(installs::names(typed.db)?)));

/// Replaces the alias in a user's input with its tool: `weather@^1.2:forecast` becomes
/// `alice/utils/weather@^1.2:forecast`. A name with several segments is never an alias, and aliases in an agent's
/// input are not replaced.
pub fn expanded(context: &Context, text: &str) -> Result<String> {
    context.store.read(|db| expanded_in(db, context, text))
}

/// Like [`expanded`], in a transaction that is already open.
pub fn expanded_in(db: &Db<'_>, context: &Context, text: &str) -> Result<String> {
    // Skip the first character: it may be the `@` that starts a name.
    let end = text.char_indices().skip(1).find(|(_, c)| matches!(c, '@' | ':')).map_or(text.len(), |(at, _)| at);
    let (name, rest) = text.split_at(end);
    if !context.is_shell() || check(name).is_err() {
        return Ok(text.to_owned());
    }
    let tool = aliases::get(db, name)?;
    Ok(tool.map_or_else(|| text.to_owned(), |tool| format!("{tool}{rest}")))
}

/// Checks an alias. It must be a single name segment. Names of tools in registries have at least two segments, so an
/// alias never equals the name of a tool.
pub fn check(alias: &str) -> Result<()> {
    match Name::parse(alias) {
        Ok(name) if !name.is_publishable() && !alias.starts_with('@') => Ok(()),
        _ => Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid alias", alias.escape_debug()))
            .hint("an alias can contain only a-z, 0-9, - and _, for example: weather")),
    }
}

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
fn required(db: &Db<'_>, alias: &str) -> Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_core::op::{Caller, Connection, Identity};
    use mcpkg_store::Store;
    use mcpkg_store::projects::Selection;

    #[test]
    fn an_alias_stands_for_a_tool_in_the_shell_and_nowhere_else() {
        let scratch = tempfile::tempdir().expect("a folder");
        let store = Store::open(&scratch.path().join("a.db")).expect("a database");
        store.write(|db| aliases::set(db, "weather", "alice/utils/weather")).expect("an alias");
        let shell = Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default());
        for (text, meant) in [
            ("weather", "alice/utils/weather"),
            ("weather@^1.2:forecast", "alice/utils/weather@^1.2:forecast"),
            ("weather:forecast@1.0.0", "alice/utils/weather:forecast@1.0.0"),
            ("other", "other"),
            ("bob/weather", "bob/weather"),
            ("@weather", "@weather"),
            ("", ""),
            ("we ather", "we ather"),
        ] {
            assert_eq!(expanded(&shell, text).expect(text), meant);
        }
        let caller = Caller::client(Some("agent"), None, Connection::Stdio, Identity::Mcpkg);
        assert_eq!(expanded(&Context { caller, ..shell }, "weather").expect("a name"), "weather");
    }

    #[test]
    fn an_alias_is_one_segment() {
        assert!(["weather", "my-tool_2"].iter().all(|alias| check(alias).is_ok()));
        for bad in ["", "a/b", "@a", "A", "a b", "enact", "a.b"] {
            assert_eq!(check(bad).expect_err(bad).code(), Code::InvalidArgument);
        }
    }
}
