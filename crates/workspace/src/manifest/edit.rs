//! Adds repositories to a manifest's text and removes them. The rest of the text stays the same, byte for byte.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::{Manifest, read};
use mcpkg_base::error::{Error, Result};

/// A repository to add to a manifest.
pub struct NewRepo<'a> {
    pub name: &'a str,
    /// The URL to clone from, without a password.
    pub url: &'a str,
    /// The folder; only written if it differs from the name.
    pub path: &'a str,
    /// The main branch; only written if it differs from the workspace's.
    pub default_branch: &'a str,
}

pub fn new(name: &str, repos: &[NewRepo<'_>]) -> String {
    let mut document = DocumentMut::new();
    let mut workspace = Table::new();
    workspace.insert("name", value(name));
    document.insert("workspace", Item::Table(workspace));
    if !repos.is_empty() {
        let tables: ArrayOfTables = repos.iter().map(|repo| table(repo, "main")).collect();
        document.insert("repos", Item::ArrayOfTables(tables));
    }
    document.to_string()
}

/// Returns `text` with one more repository at the end of the list.
///
/// # Errors
/// `E_WORKSPACE_INVALID` if the result is not a valid manifest, for example because the repository conflicts with another
/// one.
pub fn add(text: &str, shown: &str, manifest: &Manifest, repo: &NewRepo<'_>) -> Result<String> {
    let mut document = parse(text)?;
    match document.get_mut("repos") {
        Some(Item::ArrayOfTables(tables)) => tables.push(table(repo, &manifest.flow.main_branch)),
        Some(Item::Value(Value::Array(list))) => {
            let new = table(repo, &manifest.flow.main_branch).into_inline_table();
            push(list, new);
        }
        _ => {
            let tables: ArrayOfTables = [table(repo, &manifest.flow.main_branch)].into_iter().collect();
            document.insert("repos", Item::ArrayOfTables(tables));
        }
    }
    let text = document.to_string();
    read(&text, shown)?;
    Ok(text)
}

/// Returns `text` without the repository `name`.
///
/// # Errors
/// `E_WORKSPACE_INVALID` if the result is not a valid manifest, for example because another repository depends on it.
pub fn remove(text: &str, shown: &str, name: &str) -> Result<String> {
    let mut document = parse(text)?;
    match document.get_mut("repos") {
        Some(Item::ArrayOfTables(tables)) => {
            tables.retain(|table| table.get("name").and_then(Item::as_str) != Some(name));
        }
        Some(Item::Value(Value::Array(list))) => list.retain(|value| {
            value.as_inline_table().and_then(|table| table.get("name")).and_then(Value::as_str) != Some(name)
        }),
        _ => {}
    }
    let text = document.to_string();
    read(&text, shown)?;
    Ok(text)
}

/// Appends an inline table. It gets its own line if the existing entries have their own lines.
fn push(list: &mut Array, table: InlineTable) {
    let prefix = list.iter().last().and_then(|last| last.decor().prefix()?.as_str().map(str::to_owned));
    let mut new = Value::InlineTable(table);
    if let Some(prefix) = prefix {
        new.decor_mut().set_prefix(prefix);
    }
    list.push_formatted(new);
}

fn table(repo: &NewRepo<'_>, main_branch: &str) -> Table {
    let mut table = Table::new();
    table.insert("name", value(repo.name));
    table.insert("url", value(repo.url));
    if repo.path != repo.name {
        table.insert("path", value(repo.path));
    }
    if repo.default_branch != main_branch {
        table.insert("default_branch", value(repo.default_branch));
    }
    table
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error| Error::internal(format!("cannot parse a manifest that was read earlier: {error}")))
}
