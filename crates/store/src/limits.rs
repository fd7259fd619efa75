//! Limits by age and number for growing tables. Users can set them, and each table has its defaults.

use super::Db;
use super::engine::{damaged, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// How many rows a table keeps, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a row is kept, in milliseconds; `None` means forever. Each table defines which of its times the age is
    /// counted from.
    pub age: Option<Millis>,
    /// How many of the newest rows are kept; `None` means all.
    pub number: Option<u32>,
}

impl Limits {
    pub const NONE: Self = Self { age: None, number: None };

    /// Returns the time limit by age: rows from before this time may be deleted.
    pub(super) fn before(self, now: Millis) -> Millis {
        self.age.map_or(Millis::MIN, |age| now.saturating_sub(age))
    }

    /// Returns the number of rows as a parameter of a statement.
    pub(super) fn most(self) -> i64 {
        self.number.map_or(i64::MAX, i64::from)
    }
}

/// How many rows are deleted at once from a table that is pruned as it grows. Further rows are deleted the next time.
pub(super) const SWEEP: u32 = 1_000;

/// A growing table, whose size users can limit.
pub struct Growing {
    /// The name that users see.
    pub name: &'static str,
    /// Describes the rows of the table, and which of them are never deleted.
    pub about: &'static str,
    pub usual: Limits,
    /// Counts the rows beyond the limits.
    pub beyond: fn(&Db<'_>, Limits, Millis) -> Result<u64>,
    /// Deletes rows beyond the limits, up to the given number. Returns how many were deleted.
    pub delete: fn(&Db<'_>, Limits, Millis, u32) -> Result<u64>,
}

impl Growing {
    /// Counts the rows beyond the limits. Raises the time limit of statements, because this may read the whole table.
    pub fn count(&self, db: &Db<'_>, now: Millis) -> Result<u64> {
        db.allow_long();
        (self.beyond)(db, self.limits(db)?, now)
    }

    /// Deletes up to `most` rows beyond the limits, and returns how many. Raises the time limit of statements.
    pub fn prune(&self, db: &Db<'_>, now: Millis, most: u32) -> Result<u64> {
        db.allow_long();
        (self.delete)(db, self.limits(db)?, now, most)
    }

    pub fn limits(&self, db: &Db<'_>) -> Result<Limits> {
        let mut limits = self.usual;
        let select = sql!("SELECT key, value FROM setting WHERE key IN (?1, ?2)");
        let [age, number] = self.keys();
        db.each(select, params![age, number], |row| {
            let (key, value): (&str, &str) = (row.get(0)?, row.get(1)?);
            let wrong = || damaged("a limit is not a number");
            match value {
                NONE if key == age => limits.age = None,
                NONE => limits.number = None,
                value if key == age => limits.age = Some(value.parse().map_err(|_| wrong())?),
                value => limits.number = Some(value.parse().map_err(|_| wrong())?),
            }
            Ok(())
        })?;
        Ok(limits)
    }

    pub fn set(&self, db: &Db<'_>, limits: Limits) -> Result<()> {
        let insert = sql!(
            "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        );
        let [age, number] = self.keys();
        let text = |limit: Option<i64>| limit.map_or(NONE.to_owned(), |limit| limit.to_string());
        db.run(insert, params![age, text(limits.age)])?;
        db.run(insert, params![number, text(limits.number.map(i64::from))])?;
        Ok(())
    }

    fn keys(&self) -> [String; 2] {
        [format!("limit.{}.age", self.name), format!("limit.{}.number", self.name)]
    }
}

/// The value of a setting that means "no limit".
const NONE: &str = "none";
