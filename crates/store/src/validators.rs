//! Validators: values that change if a read would return something new. Computing one reads no content.

use serde::Serialize;

use super::Db;
use super::engine::{params, sql};
use super::projects::{Selection, resolved};
use super::resources::Key;
use mcpkg_base::error::Result;

/// The values that decide what a read of a resource returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Resource {
    sha256: [u8; 32],
    mime_type: Option<String>,
    text: bool,
}

/// Returns the validator of the resource `key` of the selected project; `None` if there is none.
pub fn resource(db: &Db<'_>, selection: &Selection, key: Key<'_>) -> Result<Option<Resource>> {
    macro_rules! of_project {
        () => {
            concat!(
                "SELECT b.sha256, r.mime_type, r.text FROM resource r JOIN blob b ON b.id = r.blob_id
                  WHERE r.project_id = ",
                resolved!()
            )
        };
    }
    let (sql, value) = match key {
        Key::Name(name) => (sql!(of_project!(), " AND r.name = ?3"), name),
        Key::Uri(uri) => (sql!(of_project!(), " AND r.uri = ?3"), uri),
    };
    db.one(sql, params![selection.named, selection.directory, value], |row| {
        Ok(Resource { sha256: row.get(0)?, mime_type: row.get(1)?, text: row.get(2)? })
    })
}

/// Returns the SHA-256 of the content of the prompt `name` of the selected project; `None` if there is none.
pub fn prompt(db: &Db<'_>, selection: &Selection, name: &str) -> Result<Option<[u8; 32]>> {
    let sql = sql!(
        "SELECT b.sha256 FROM prompt p JOIN blob b ON b.id = p.blob_id WHERE p.name = ?3 AND p.project_id = ",
        resolved!()
    );
    db.one(sql, params![selection.named, selection.directory, name], |row| row.get(0))
}
