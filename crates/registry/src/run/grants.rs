//! The permissions that a person gives a tool beyond its sandbox, and the approvals to read secrets for tools.
//!
//! A database row allows nothing by itself, since the database may come from somebody else. A row counts only if this
//! machine has this user's record of it. The record's name is the SHA-256 of the row's contents.

use serde_json::{Value, json};

use super::call::Tool;
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::error::Result;
use mcpkg_base::sha256;
use mcpkg_store::Db;
use mcpkg_store::tools::env::{self, Setting};
use mcpkg_store::tools::grants::{self, Allowed, Grant};

/// The permissions of a tool beyond its sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Whether the tool may use the host's network.
    pub network: bool,
    /// The folders of the host that the tool may read and write.
    pub folders: Vec<String>,
    /// Whether the tool may run without a sandbox; the settings must also allow this.
    pub unsandboxed: bool,
}

/// Returns the permissions of a tool.
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

/// Records the user's approval of a permission. Without the approval, the permission has no effect.
pub fn approve(approved: &Approved, grant: &Grant) -> Result<()> {
    let note = note(grant);
    approved.put(Kind::ToolGrant, &sha256(&note), &note)
}

/// Deletes the record of the user's approval of a permission.
pub fn withdraw(approved: &Approved, grant: &Grant) -> Result<()> {
    approved.withdraw(Kind::ToolGrant, &sha256(&note(grant)))
}

/// Returns whether the user approved a permission on this machine.
pub fn counts(approved: &Approved, grant: &Grant) -> Result<bool> {
    Ok(approved.get(Kind::ToolGrant, &sha256(&note(grant)))?.is_some())
}

/// Records the user's approval to read the secret of a variable. Does nothing for a variable with a plain value.
pub fn approve_secret(approved: &Approved, variable: &env::Variable) -> Result<()> {
    match secret_note(variable) {
        Some(note) => approved.put(Kind::ToolSecret, &sha256(&note), &note),
        None => Ok(()),
    }
}

/// Deletes the record of the user's approval to read the secret of a variable, if there is one.
pub fn withdraw_secret(approved: &Approved, variable: &env::Variable) -> Result<()> {
    secret_note(variable).map_or(Ok(()), |note| approved.withdraw(Kind::ToolSecret, &sha256(&note)))
}

/// Returns whether a variable may be read: if it refers to a secret, this user must have set it on this machine.
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
    sha256::hex(note.to_string().as_bytes())
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
