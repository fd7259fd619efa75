//! What a person allows a tool beyond its sandbox, and where a person lets the secrets of tools be read from.
//!
//! A row of the database allows nothing by itself, since the database may be somebody else's: it counts where a record of
//! this user's on this machine names its SHA-256.

use serde_json::{Value, json};

use super::call::Tool;
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_store::Db;
use mcpkg_store::tools::env::{self, Setting};
use mcpkg_store::tools::grants::{self, Allowed, Grant};

/// What a tool is allowed beyond its sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Whether it is on the host's network.
    pub network: bool,
    /// The folders of the host that it reads and writes.
    pub folders: Vec<String>,
    /// Whether it may run without a sandbox, where the settings allow that at all.
    pub unsandboxed: bool,
}

/// Returns what a tool is allowed.
pub fn of(db: &Db<'_>, approved: &Approved, tool: &Tool) -> Result<Granted> {
    let mut granted = Granted::default();
    for grant in grants::of(db, &tool.name, &tool.holder())? {
        if approved.get(Kind::ToolGrant, &sha256(&note(&grant)))?.is_none() {
            continue;
        }
        match grant.allowed {
            Allowed::Network => granted.network = true,
            Allowed::Files(folder) => granted.folders.push(folder),
            Allowed::Unsandboxed => granted.unsandboxed = true,
        }
    }
    Ok(granted)
}

/// Keeps the record that makes a grant count.
pub fn approve(approved: &Approved, grant: &Grant) -> Result<()> {
    let note = note(grant);
    approved.put(Kind::ToolGrant, &sha256(&note), &note)
}

/// Takes the record of a grant away.
pub fn withdraw(approved: &Approved, grant: &Grant) -> Result<()> {
    approved.withdraw(Kind::ToolGrant, &sha256(&note(grant)))
}

/// Whether a grant counts on this machine.
pub fn counts(approved: &Approved, grant: &Grant) -> Result<bool> {
    Ok(approved.get(Kind::ToolGrant, &sha256(&note(grant)))?.is_some())
}

/// Keeps the record that lets the secret of a variable be read.
pub fn approve_secret(approved: &Approved, variable: &env::Variable) -> Result<()> {
    match secret_note(variable) {
        Some(note) => approved.put(Kind::ToolSecret, &sha256(&note), &note),
        None => Ok(()),
    }
}

/// Takes the record of a variable's secret away.
pub fn withdraw_secret(approved: &Approved, variable: &env::Variable) -> Result<()> {
    secret_note(variable).map_or(Ok(()), |note| approved.withdraw(Kind::ToolSecret, &sha256(&note)))
}

/// Whether this user set a variable on this machine, where it refers to a secret.
pub fn may_read(approved: &Approved, variable: &env::Variable) -> Result<bool> {
    secret_note(variable).map_or(Ok(true), |note| Ok(approved.get(Kind::ToolSecret, &sha256(&note))?.is_some()))
}

fn note(grant: &Grant) -> Value {
    let Grant { tool, publisher, allowed, granted_at: _ } = grant;
    json!({ "tool": tool, "publisher": publisher, "kind": allowed.word(), "value": allowed.value() })
}

fn secret_note(variable: &env::Variable) -> Option<Value> {
    let Setting::Reference(reference) = &variable.setting else { return None };
    Some(json!({ "name": variable.name, "pattern": variable.pattern, "reference": reference }))
}

fn sha256(note: &Value) -> String {
    hex::encode(&disk::sha256(note.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_store::Store;

    #[test]
    fn a_row_allows_nothing_without_its_record_and_another_publisher_gets_nothing() {
        let scratch = tempfile::tempdir().expect("a folder");
        let store = Store::open(&scratch.path().join("a.db")).expect("a database");
        let approved = Approved::below(scratch.path().join("approved"));
        let tool = |publisher: &str| Tool {
            name: "alice/tool".to_owned(),
            version: None,
            sha256: None,
            publisher: publisher.to_owned(),
        };
        let grant =
            |allowed| Grant { tool: "alice/tool".to_owned(), publisher: "p".to_owned(), allowed, granted_at: 0 };
        let (network, files) = (grant(Allowed::Network), grant(Allowed::Files("/data".to_owned())));
        store
            .write(|db| {
                grants::insert(db, &network)?;
                grants::insert(db, &files)
            })
            .expect("rows");
        let of = |publisher: &str| store.read(|db| of(db, &approved, &tool(publisher))).expect("grants");
        assert_eq!(of("p"), Granted::default());
        approve(&approved, &files).expect("a record");
        assert_eq!(of("p"), Granted { folders: vec!["/data".to_owned()], ..Granted::default() });
        approve(&approved, &network).expect("a record");
        assert!(of("p").network && !of("").network && !of("q").network);
        withdraw(&approved, &network).expect("gone");
        assert!(!of("p").network);
    }
}
