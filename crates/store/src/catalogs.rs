//! Catalogs: imported descriptions of APIs, and the commands made from them.
//!
//! Parts that this crate does not interpret (servers, schemes, references to secrets, specs, patches) are stored as
//! JSON.

use super::Db;
use super::engine::{Row, Unique, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

const NAME: Unique = Unique::new("catalog", &["name"]);
const ID: Unique = Unique::new("catalog_command", &["id"]);

/// The properties of a catalog, without its key and its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub name: String,
    /// The group of its commands. If it is empty, the first segment of each path is the group.
    pub prefix: String,
    pub title: String,
    pub version: String,
    /// The OpenAPI version of the document.
    pub openapi: String,
    /// The source of the document: a file's path, or a URL.
    pub source: String,
    pub sha256: [u8; 32],
    /// The base URL of its paths, if known.
    pub base_url: Option<String>,
    /// The servers that the document names, as JSON.
    pub servers: String,
    /// The security schemes of the API, as JSON.
    pub schemes: String,
    /// Headers for every request, as JSON: each name maps to a reference to its value.
    pub headers: String,
    /// Secrets, as JSON: each scheme maps to a reference to its secret.
    pub auth: String,
    /// Whether requests may go to addresses that are not public.
    pub private: bool,
    /// The time limit for a call, in milliseconds.
    pub timeout_ms: i64,
    /// The largest answer in bytes.
    pub max_answer: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogRow {
    pub id: i64,
    pub facts: Facts,
    pub imported_at: Millis,
    pub refreshed_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// The method, in upper case.
    pub method: String,
    /// The path as the document gives it.
    pub path: String,
    /// The id that the import assigned. It never changes.
    pub given: String,
    /// The id that calls use.
    pub id: String,
    /// The command as described by the document, as JSON.
    pub spec: String,
    /// A person's corrections, as JSON.
    pub patch: Option<String>,
    /// A summary in one line.
    pub summary: String,
    /// The names of the command's arguments.
    pub words: String,
    /// Aliases of the id, as JSON.
    pub aliases: String,
    /// `read`, `write` or `destroy`.
    pub effect: String,
    pub deprecated: bool,
    /// Whether the command's answer is a list.
    pub lists: bool,
}

/// The part of a command that the index needs, borrowed from its row.
#[derive(Clone, Copy, Debug)]
pub struct BriefRow<'r> {
    pub id: &'r str,
    /// A summary in one line.
    pub summary: &'r str,
    /// The names of the command's arguments.
    pub words: &'r str,
    /// Aliases of the id, as JSON.
    pub aliases: &'r str,
    /// `read`, `write` or `destroy`.
    pub effect: &'r str,
    pub deprecated: bool,
    /// Whether the command's answer is a list.
    pub lists: bool,
}

/// The SELECT without its conditions; [`catalog`] reads its rows.
macro_rules! catalogs {
    () => {
        "SELECT c.id, c.name, c.prefix, c.title, c.version, c.openapi, c.source, c.sha256, c.base_url, c.servers, c.schemes,
                c.headers, c.auth, c.private, c.timeout_ms, c.max_answer, c.imported_at, c.refreshed_at
           FROM catalog c"
    };
}

/// The SELECT without its conditions; [`command`] reads its rows.
macro_rules! commands {
    () => {
        "SELECT m.method, m.path, m.given, m.id, m.spec, m.patch, m.summary, m.words, m.aliases, m.effect, m.deprecated,
                m.lists
           FROM catalog_command m"
    };
}

/// Adds a catalog and returns its key.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the name is taken.
pub fn insert(db: &Db<'_>, facts: &Facts, now: Millis) -> Result<i64> {
    let Facts { name, prefix, title, version, openapi, source, sha256, base_url, servers, schemes, .. } = facts;
    let Facts { headers, auth, private, timeout_ms, max_answer, .. } = facts;
    let sql = sql!(
        "INSERT INTO catalog (name, prefix, title, version, openapi, source, sha256, base_url, servers, schemes, headers, auth,
                              private, timeout_ms, max_answer, changes, imported_at, refreshed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0, ?16, ?16) RETURNING id"
    );
    let params = params![
        name, prefix, title, version, openapi, source, sha256, base_url, servers, schemes, headers, auth, private,
        timeout_ms, max_answer, now
    ];
    db.insert(sql, params).map_err(|error| if NAME.is_violated_by(&error) { name_taken(name) } else { error })
}

pub fn name_taken(name: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("Catalog '{name}' already exists")).hint(format!(
        "`mcpkg catalog refresh {name}` reads its document again; to import the document as a second catalog, give \
            --name and --prefix"
    ))
}

/// Updates a catalog. Its name and its prefix stay the same.
pub fn update(db: &Db<'_>, id: i64, facts: &Facts, refreshed_at: Millis) -> Result<()> {
    let Facts { title, version, openapi, source, sha256, base_url, servers, schemes, headers, auth, .. } = facts;
    let Facts { private, timeout_ms, max_answer, .. } = facts;
    let sql = sql!(
        "UPDATE catalog SET title = ?2, version = ?3, openapi = ?4, source = ?5, sha256 = ?6, base_url = ?7, servers = ?8,
                schemes = ?9, headers = ?10, auth = ?11, private = ?12, timeout_ms = ?13, max_answer = ?14,
                changes = changes + 1, refreshed_at = ?15
          WHERE id = ?1"
    );
    let params = params![
        id,
        title,
        version,
        openapi,
        source,
        sha256,
        base_url,
        servers,
        schemes,
        headers,
        auth,
        private,
        timeout_ms,
        max_answer,
        refreshed_at
    ];
    db.run(sql, params).map(drop)
}

pub fn list(db: &Db<'_>) -> Result<Vec<CatalogRow>> {
    db.all(sql!(catalogs!(), " ORDER BY c.name"), params![], catalog)
}

pub fn get(db: &Db<'_>, name: &str) -> Result<CatalogRow> {
    if let Some(found) = db.one(sql!(catalogs!(), " WHERE c.name = ?1"), params![name], catalog)? {
        return Ok(found);
    }
    let names: Vec<String> = db.all(sql!("SELECT name FROM catalog ORDER BY name"), params![], |row| row.get(0))?;
    let error = Error::new(Code::NotFound, format!("Catalog '{name}' does not exist"));
    Err(error.suggest(name, names.iter().map(String::as_str), "`mcpkg catalog list` shows the existing catalogs"))
}

/// Deletes a catalog with its commands.
pub fn delete(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM catalog WHERE id = ?1"), params![id]).map(drop)
}

pub fn count(db: &Db<'_>, catalog: i64) -> Result<i64> {
    db.single(sql!("SELECT count(*) FROM catalog_command WHERE catalog_id = ?1"), params![catalog], |row| row.get(0))
}

/// Returns the commands of a catalog, ordered by id.
pub fn commands(db: &Db<'_>, catalog: i64) -> Result<Vec<CommandRow>> {
    db.all(sql!(commands!(), " WHERE m.catalog_id = ?1 ORDER BY m.id"), params![catalog], command)
}

/// Replaces the commands of a catalog.
///
/// # Errors
/// `E_ALREADY_EXISTS` if another catalog has a command with the same id.
pub fn replace(db: &Db<'_>, catalog: i64, rows: &[CommandRow]) -> Result<()> {
    db.run(sql!("DELETE FROM catalog_command WHERE catalog_id = ?1"), params![catalog])?;
    for row in rows {
        let CommandRow { method, path, given, id, spec, patch, summary, words, aliases, effect, deprecated, lists } =
            row;
        let sql = sql!(
            "INSERT INTO catalog_command (catalog_id, method, path, given, id, spec, patch, summary, words, aliases, effect,
                                          deprecated, lists)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        );
        let params =
            params![catalog, method, path, given, id, spec, patch, summary, words, aliases, effect, deprecated, lists];
        db.run(sql, params).map_err(|error| if ID.is_violated_by(&error) { id_taken(id) } else { error })?;
    }
    Ok(())
}

pub fn id_taken(id: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("Command '{id}' already exists"))
}

/// Updates the command with the same method and path, except for its spec and the id that the import assigned.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the new id is taken.
pub fn update_command(db: &Db<'_>, catalog: i64, row: &CommandRow) -> Result<()> {
    let CommandRow { method, path, id, patch, summary, words, aliases, effect, deprecated, lists, .. } = row;
    let sql = sql!(
        "UPDATE catalog_command SET id = ?4, patch = ?5, summary = ?6, words = ?7, aliases = ?8, effect = ?9, deprecated = ?10,
                lists = ?11
          WHERE catalog_id = ?1 AND method = ?2 AND path = ?3"
    );
    let params = params![catalog, method, path, id, patch, summary, words, aliases, effect, deprecated, lists];
    db.run(sql, params).map_err(|error| if ID.is_violated_by(&error) { id_taken(id) } else { error })?;
    db.run(sql!("UPDATE catalog SET changes = changes + 1 WHERE id = ?1"), params![catalog]).map(drop)
}

/// Returns the command with an id, and its catalog.
pub fn find(db: &Db<'_>, id: &str) -> Result<Option<(CatalogRow, CommandRow)>> {
    let Some(found) = db.one(sql!(commands!(), " WHERE m.id = ?1"), params![id], command)? else { return Ok(None) };
    let of = sql!(catalogs!(), " JOIN catalog_command m ON m.catalog_id = c.id WHERE m.id = ?1");
    Ok(db.one(of, params![id], catalog)?.map(|catalog| (catalog, found)))
}

/// Passes the [`BriefRow`] of each command in all catalogs to `f`, ordered by id.
///
/// # Errors
/// Errors of `f`.
pub fn briefs(db: &Db<'_>, mut f: impl FnMut(BriefRow<'_>) -> Result<()>) -> Result<()> {
    let sql = sql!("SELECT id, summary, words, aliases, effect, deprecated, lists FROM catalog_command ORDER BY id");
    db.each(sql, params![], |row| {
        f(BriefRow {
            id: row.get(0)?,
            summary: row.get(1)?,
            words: row.get(2)?,
            aliases: row.get(3)?,
            effect: row.get(4)?,
            deprecated: row.get(5)?,
            lists: row.get(6)?,
        })
    })
}

/// Returns the ids of all commands with the keys of their catalogs, to detect conflicts between catalogs.
pub fn ids(db: &Db<'_>) -> Result<Vec<(i64, String)>> {
    db.all(sql!("SELECT catalog_id, id FROM catalog_command ORDER BY id"), params![], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// Whether any catalog has commands of a group.
pub fn has_group(db: &Db<'_>, group: &str) -> Result<bool> {
    // `;` is the character after `:`, so these are all ids that begin with `GROUP:`.
    let sql = sql!("SELECT 1 FROM catalog_command WHERE id >= ?1 AND id < ?2 LIMIT 1");
    Ok(db.one(sql, params![format!("{group}:"), format!("{group};")], |row| row.get::<i64>(0))?.is_some())
}

/// Returns a text that changes whenever any catalog or command does.
pub fn validator(db: &Db<'_>) -> Result<String> {
    let mut validator = String::new();
    db.each(sql!("SELECT id, changes, imported_at, sha256 FROM catalog ORDER BY id"), params![], |row| {
        let (id, changes, at): (i64, i64, Millis) = (row.get(0)?, row.get(1)?, row.get(2)?);
        validator.push_str(&format!("{id}.{changes}.{at}.{};", mcpkg_base::hex::encode(row.get(3)?)));
        Ok(())
    })?;
    Ok(validator)
}

fn catalog(row: &Row<'_>) -> Result<CatalogRow> {
    let facts = Facts {
        name: row.get(1)?,
        prefix: row.get(2)?,
        title: row.get(3)?,
        version: row.get(4)?,
        openapi: row.get(5)?,
        source: row.get(6)?,
        sha256: row.get(7)?,
        base_url: row.get(8)?,
        servers: row.get(9)?,
        schemes: row.get(10)?,
        headers: row.get(11)?,
        auth: row.get(12)?,
        private: row.get(13)?,
        timeout_ms: row.get(14)?,
        max_answer: row.get(15)?,
    };
    Ok(CatalogRow { id: row.get(0)?, facts, imported_at: row.get(16)?, refreshed_at: row.get(17)? })
}

fn command(row: &Row<'_>) -> Result<CommandRow> {
    Ok(CommandRow {
        method: row.get(0)?,
        path: row.get(1)?,
        given: row.get(2)?,
        id: row.get(3)?,
        spec: row.get(4)?,
        patch: row.get(5)?,
        summary: row.get(6)?,
        words: row.get(7)?,
        aliases: row.get(8)?,
        effect: row.get(9)?,
        deprecated: row.get(10)?,
        lists: row.get(11)?,
    })
}
