//! Access rules: what people and programs may do after signing in with a token of the server's issuer.

use uuid::Uuid;

use super::Db;
use super::blobs::damaged_value;
use super::engine::{Row, Unique, params, sql};
use super::items::json;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

/// The value of the column `reach` that means all projects.
const ALL: &str = "all";
/// The prefix of the column `reach` that comes before the id of a project.
const PROJECT: &str = "project:";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The claim that a token must have: `NAME=VALUE`. Unique for each reach.
    pub claim: String,
    /// The project that the rule is limited to; `None` if it reaches all projects.
    pub project: Option<Uuid>,
    /// Whether the rule only allows reading.
    pub read_only: bool,
    /// The namespaces of tools in which the rule allows publishing on a server's registry.
    pub publish: Vec<String>,
    /// Whether the rule allows posting attestations to a server's registry.
    pub attest: bool,
    /// Whether the rule allows running commands, if a person consents.
    pub execute: bool,
    pub created_at: Millis,
}

const CLAIM: Unique = Unique::new("access_rule", &["claim", "reach"]);

/// A rule with the time of its removal, if it was removed.
#[derive(Clone, Debug)]
pub(super) struct Kept(Rule, Option<Millis>);

/// Adds a rule.
///
/// # Errors
/// `E_ALREADY_EXISTS` if there is a rule for the same claim and reach.
pub fn insert(db: &Db<'_>, rule: &Rule) -> Result<()> {
    let removed = sql!("DELETE FROM access_rule WHERE claim = ?1 AND reach = ?2 AND removed_at IS NOT NULL");
    db.run(removed, params![rule.claim, reach(rule.project)])?;
    write(db, rule, None).map_err(|error| match CLAIM.is_violated_by(&error) {
        true => {
            Error::new(Code::AlreadyExists, format!("There is already a rule for '{}' with this reach", rule.claim))
        }
        false => error,
    })
}

/// Returns all rules, ordered by claim.
pub fn list(db: &Db<'_>) -> Result<Vec<Rule>> {
    Ok(all(db)?.into_iter().filter(|kept| kept.1.is_none()).map(|kept| kept.0).collect())
}

/// Removes a rule. It stays in the table as removed.
pub fn remove(db: &Db<'_>, rule: &Rule, now: Millis) -> Result<()> {
    let sql = sql!("UPDATE access_rule SET removed_at = ?3 WHERE claim = ?1 AND reach = ?2");
    db.run(sql, params![rule.claim, reach(rule.project), now]).map(drop)
}

/// Returns all rules, including the removed ones.
pub(super) fn all(db: &Db<'_>) -> Result<Vec<Kept>> {
    let sql = sql!(
        "SELECT claim, reach, read_only, publish, attest, execute, created_at, removed_at
         FROM access_rule ORDER BY claim, reach"
    );
    db.all(sql, params![], from_row)
}

/// Stores rules. Each replaces the rule with the same claim and reach. A restore calls this with the rules from before
/// the restore, because rules that were narrowed or removed after the backup must not come back.
pub(super) fn keep(db: &Db<'_>, rules: &[Kept]) -> Result<()> {
    for Kept(rule, removed_at) in rules {
        let same = sql!("DELETE FROM access_rule WHERE claim = ?1 AND reach = ?2");
        db.run(same, params![rule.claim, reach(rule.project)])?;
        write(db, rule, *removed_at)?;
    }
    Ok(())
}

fn write(db: &Db<'_>, rule: &Rule, removed_at: Option<Millis>) -> Result<()> {
    let publish = if rule.publish.is_empty() { None } else { Some(json(&rule.publish)?) };
    let reach = reach(rule.project);
    db.run(
        sql!(
            "INSERT INTO access_rule (claim, reach, read_only, publish, attest, execute, created_at, removed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        ),
        params![rule.claim, reach, rule.read_only, publish, rule.attest, rule.execute, rule.created_at, removed_at],
    )
    .map(drop)
}

/// Returns the issuer that a server of this database was last started with.
pub fn issuer(db: &Db<'_>) -> Result<Option<String>> {
    db.one(sql!("SELECT value FROM setting WHERE key = 'oauth_issuer'"), params![], |row| row.get(0))
}

/// Records the issuer, so that `doctor` can check it.
pub fn set_issuer(db: &Db<'_>, issuer: &str) -> Result<()> {
    let sql = sql!(
        "INSERT INTO setting (key, value) VALUES ('oauth_issuer', ?1)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    );
    db.run(sql, params![issuer]).map(drop)
}

fn reach(project: Option<Uuid>) -> String {
    project.map_or_else(|| ALL.to_owned(), |uuid| format!("{PROJECT}{uuid}"))
}

fn from_row(row: &Row<'_>) -> Result<Kept> {
    let project = match row.get::<&str>(1)? {
        ALL => None,
        reach => {
            let uuid = reach.strip_prefix(PROJECT).and_then(|uuid| uuid.parse().ok());
            Some(uuid.ok_or_else(|| damaged_value("an access rule's reach is malformed"))?)
        }
    };
    let publish = row.get::<Option<&str>>(3)?.map(serde_json::from_str);
    let rule = Rule {
        claim: row.get(0)?,
        project,
        read_only: row.get(2)?,
        publish: publish
            .transpose()
            .map_err(|error| damaged_value("an access rule's namespaces are malformed").with_source(error))?
            .unwrap_or_default(),
        attest: row.get(4)?,
        execute: row.get(5)?,
        created_at: row.get(6)?,
    };
    Ok(Kept(rule, row.get(7)?))
}
