//! Aliases: short names that a person types instead of a tool's name. Agents do not see them.

mod operation;

use crate::package::Name;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Entry, Names};
use mcpkg_store::Db;
use mcpkg_store::tools::aliases;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<operation::Alias>()];

/// The aliases, for shell completion.
pub const ALIASES: Names =
    Names::Stored(|typed| Ok(typed.matching(aliases::all(typed.db)?.into_iter().map(|(alias, _)| alias))));

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
