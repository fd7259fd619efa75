//! Registries: where tools are published to and installed from. The registry [`LOCAL`] is this database itself and has no row.

use crate::Db;
use crate::blobs::damaged_value;
use crate::engine::{Row, Unique, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

/// The name of the registry that is this database.
pub const LOCAL: &str = "local";

/// The registry of packages that were installed from a path. No real registry can have this name.
pub const PATH: &str = "path";

const NAME: Unique = Unique::new("registry", &["name"]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder on this machine.
    Directory,
    Http,
}

impl Kind {
    /// Returns the kind's name, as it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Directory => "directory",
            Kind::Http => "http",
        }
    }
}

/// Everything about a registry except its key and when it was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    pub kind: Kind,
    /// The folder's path with symlinks resolved, or the base URL without a slash at its end.
    pub location: String,
    /// The reference to the registry's token, in the format of `mcpkg_base::secret::Reference`.
    pub token: Option<String>,
    /// The order in which registries are asked: the lowest priority comes first.
    pub priority: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryRow {
    pub id: i64,
    pub place: Place,
    pub added_at: Millis,
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! registries {
    () => {
        "SELECT id, name, kind, location, token, priority, added_at FROM registry"
    };
}
/// Adds a registry.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the name is taken.
pub fn insert(db: &Db<'_>, place: &Place, now: Millis) -> Result<i64> {
    let Place { name, kind, location, token, priority } = place;
    let sql = sql!(
        "INSERT INTO registry (name, kind, location, token, priority, added_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id"
    );
    db.insert(sql, params![name, kind.word(), location, token, priority, now])
        .map_err(|error| if NAME.is_violated_by(&error) { name_taken(name) } else { error })
}

pub fn name_taken(name: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("Registry '{name}' already exists"))
        .hint(format!("choose another name; `mcpkg registry show {name}` shows the existing registry"))
}

/// Returns the registries in the order in which they are asked.
pub fn list(db: &Db<'_>) -> Result<Vec<RegistryRow>> {
    db.all(sql!(registries!(), " ORDER BY priority, name"), params![], from_row)
}

pub fn get(db: &Db<'_>, name: &str) -> Result<RegistryRow> {
    if let Some(found) = db.one(sql!(registries!(), " WHERE name = ?1"), params![name], from_row)? {
        return Ok(found);
    }
    let names: Vec<String> = db.all(sql!("SELECT name FROM registry"), params![], |row| row.get(0))?;
    let known = names.iter().map(String::as_str).chain([LOCAL]);
    let error = Error::new(Code::NotFound, format!("Registry '{name}' does not exist"));
    Err(error.suggest(name, known, "`mcpkg registry list` shows the existing registries"))
}

/// Returns a priority that comes after those of all registries.
pub fn next_priority(db: &Db<'_>) -> Result<i64> {
    let last: i64 = db.single(sql!("SELECT coalesce(max(priority), 0) FROM registry"), params![], |row| row.get(0))?;
    Ok(last.saturating_add(10))
}

/// Removes a registry. The rows of its packages stay, so that changed digests are still detected if the registry is
/// added again.
pub fn delete(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM registry WHERE id = ?1"), params![id]).map(drop)
}

fn from_row(row: &Row<'_>) -> Result<RegistryRow> {
    let kind = match row.get(2)? {
        "directory" => Kind::Directory,
        "http" => Kind::Http,
        _ => return Err(damaged_value("a registry has an unknown kind")),
    };
    let place = Place { name: row.get(1)?, kind, location: row.get(3)?, token: row.get(4)?, priority: row.get(5)? };
    Ok(RegistryRow { id: row.get(0)?, place, added_at: row.get(6)? })
}
