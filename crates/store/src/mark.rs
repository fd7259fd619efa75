//! A mark that identifies a database. With it, a program recognizes that the program at the other end of a connection
//! uses the same database.

use super::Store;
use super::engine::{params, sql};
use mcpkg_base::error::Result;
use mcpkg_base::sha256;

impl Store {
    /// Returns a text that is unique to this database and reveals nothing about it: the SHA-256, in hex, of its location and
    /// generation.
    pub fn mark(&self) -> Result<String> {
        let sql = sql!("SELECT value FROM setting WHERE key = 'generation'");
        let generation: String = self.read(|db| db.single(sql, params![], |row| row.get(0)))?;
        let location = self.location();
        let place = location.file().unwrap_or(location.argument()).to_string_lossy();
        Ok(sha256::hex(format!("{place}\0{generation}")))
    }
}
