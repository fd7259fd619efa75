//! Finds the rows that use a stored content, so that reports of damage can name them.

use uuid::Uuid;

use crate::Db;
use crate::engine::{Row, Sql, params, sql};
use crate::names::legible;
use mcpkg_base::error::Result;

/// One kind of row that refers to stored content: the columns with the reference, and how to name the row in a report.
struct Use {
    /// Pairs of table and column. All uses together list the same columns as the condition in `blobs/sweep.rs` that
    /// finds unreferenced content.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with everything that refers to a content"))]
    of: &'static [(&'static str, &'static str)],
    /// The query for the rows that refer to a content.
    rows: Sql,
    /// Returns the name to report for such a row.
    name: fn(&Row<'_>) -> Result<String>,
}

/// All kinds of rows that refer to stored content.
const USES: &[Use] = &[
    Use {
        of: &[("revision", "blob_id")],
        rows: sql!(
            "SELECT DISTINCT revision.kind, revision.name, revision.number, project.name
               FROM revision JOIN project ON project.id = project_id WHERE blob_id = ?1"
        ),
        name: |row| {
            let (kind, number): (&str, i64) = (row.get(0)?, row.get(2)?);
            Ok(format!("{kind} '{}' revision {number} in project '{}'", legible(row, 1), legible(row, 3)))
        },
    },
    Use {
        of: &[("prompt", "blob_id")],
        rows: sql!(
            "SELECT name FROM prompt p WHERE blob_id = ?1
                AND NOT EXISTS (SELECT 1 FROM revision WHERE item = p.uuid AND blob_id = ?1)"
        ),
        name: |row| Ok(format!("prompt '{}'", legible(row, 0))),
    },
    Use {
        of: &[("resource", "blob_id")],
        rows: sql!(
            "SELECT name FROM resource r WHERE blob_id = ?1
                AND NOT EXISTS (SELECT 1 FROM revision WHERE item = r.uuid AND blob_id = ?1)"
        ),
        name: |row| Ok(format!("resource '{}'", legible(row, 0))),
    },
    Use {
        of: &[("agent_file", "blob_id")],
        rows: sql!("SELECT path FROM agent_file WHERE blob_id = ?1"),
        name: |row| Ok(format!("the agent file {}", legible(row, 0))),
    },
    Use {
        of: &[("link", "blob_id")],
        rows: sql!("SELECT path FROM link WHERE blob_id = ?1"),
        name: |row| Ok(format!("the imported file {}", legible(row, 0))),
    },
    Use {
        of: &[("deployed", "applied_blob")],
        rows: sql!("SELECT path FROM deployed WHERE applied_blob = ?1"),
        name: |row| Ok(format!("the deployed file {}", legible(row, 0))),
    },
    Use {
        of: &[("deployed", "pristine_blob")],
        rows: sql!("SELECT path FROM deployed WHERE pristine_blob = ?1"),
        name: |row| Ok(format!("the original file at {} (from before the first deploy)", legible(row, 0))),
    },
    Use {
        of: &[("snapshot_file", "before_blob")],
        rows: sql!(
            "SELECT snapshot.uuid, path FROM snapshot_file JOIN snapshot ON snapshot.id = snapshot_id
              WHERE before_blob = ?1"
        ),
        name: |row| Ok(format!("snapshot {} (file {}, before the change)", row.get::<Uuid>(0)?, legible(row, 1))),
    },
    Use {
        of: &[("snapshot_file", "after_blob")],
        rows: sql!(
            "SELECT snapshot.uuid, path FROM snapshot_file JOIN snapshot ON snapshot.id = snapshot_id
              WHERE after_blob = ?1"
        ),
        name: |row| Ok(format!("snapshot {} (file {}, after the change)", row.get::<Uuid>(0)?, legible(row, 1))),
    },
    Use {
        of: &[("proposal", "base_blob"), ("proposal", "blob_id")],
        rows: sql!("SELECT id FROM proposal WHERE base_blob = ?1 OR blob_id = ?1"),
        name: |row| Ok(format!("proposal {}", row.get::<i64>(0)?)),
    },
    Use {
        of: &[("source_item", "blob_id")],
        rows: sql!(
            "SELECT source.name, source_item.path
               FROM source_item JOIN source ON source.id = source_id WHERE blob_id = ?1"
        ),
        name: |row| Ok(format!("the file {} from the source '{}'", legible(row, 1), legible(row, 0))),
    },
    Use {
        of: &[("sync_item", "blob_id")],
        rows: sql!("SELECT folder FROM sync_item JOIN sync ON sync.id = sync_id WHERE blob_id = ?1"),
        name: |row| Ok(format!("the last sync with {}", legible(row, 0))),
    },
    Use {
        of: &[("sync_write", "blob_id")],
        rows: sql!("SELECT folder FROM sync_write JOIN sync ON sync.id = sync_id WHERE blob_id = ?1"),
        name: |row| Ok(format!("the last sync with {}", legible(row, 0))),
    },
    Use {
        of: &[("tool_package", "blob_id")],
        rows: sql!("SELECT name, version, registry FROM tool_package WHERE blob_id = ?1"),
        name: |row| {
            let [name, version, registry] = [0, 1, 2].map(|column| legible(row, column));
            Ok(format!("the tool {name}@{version} from registry '{registry}'"))
        },
    },
    Use {
        of: &[("tool_build", "blob_id")],
        rows: sql!(
            "SELECT p.name, p.version FROM tool_build AS b JOIN tool_package AS p ON p.sha256 = b.package_sha256
              WHERE b.blob_id = ?1"
        ),
        name: |row| Ok(format!("the build output of {}@{}", legible(row, 0), legible(row, 1))),
    },
    Use {
        of: &[("build_row", "blob_id")],
        rows: sql!(
            "SELECT build_run.uuid, repo, step FROM build_row JOIN build_run ON build_run.id = run_id
              WHERE blob_id = ?1"
        ),
        name: |row| {
            let (repo, step) = (legible(row, 1), legible(row, 2));
            Ok(format!("the log of step '{step}' (build {}, repo {repo})", row.get::<Uuid>(0)?))
        },
    },
    Use {
        of: &[("gate_model", "blob_id")],
        rows: sql!(
            "SELECT m.name, w.name FROM gate_model AS m JOIN workspace AS w ON w.id = m.workspace_id
              WHERE m.blob_id = ?1"
        ),
        name: |row| Ok(format!("the model {} (workspace '{}')", legible(row, 0), legible(row, 1))),
    },
    Use {
        // The text of a workflow is also the text of its newest revision, so the revision is reported.
        of: &[("workflow", "blob_id"), ("workflow_revision", "blob_id")],
        rows: sql!("SELECT DISTINCT name, number FROM workflow_revision WHERE blob_id = ?1"),
        name: |row| Ok(format!("workflow '{}' revision {}", legible(row, 0), row.get::<i64>(1)?)),
    },
    Use {
        of: &[("workflow_draft", "blob_id"), ("workflow_draft", "base_blob")],
        rows: sql!("SELECT uuid FROM workflow_draft WHERE blob_id = ?1 OR base_blob = ?1"),
        name: |row| Ok(format!("draft {}", row.get::<Uuid>(0)?)),
    },
    Use {
        of: &[("workflow_template", "blob_id")],
        rows: sql!(
            "SELECT workflow_template.name, project.name
               FROM workflow_template JOIN project ON project.id = project_id WHERE blob_id = ?1"
        ),
        name: |row| Ok(format!("template '{}' in project '{}'", legible(row, 0), legible(row, 1))),
    },
    Use {
        of: &[("run", "blob_id"), ("run", "output_blob"), ("run_step", "blob_id")],
        rows: sql!(
            "SELECT uuid FROM run WHERE blob_id = ?1 OR output_blob = ?1
              UNION SELECT run.uuid FROM run_step JOIN run ON run.id = run_id WHERE run_step.blob_id = ?1"
        ),
        name: |row| Ok(format!("the run {}", row.get::<Uuid>(0)?)),
    },
];

/// Returns the names of everything that uses a blob. If nothing does, returns a name for the unused blob.
pub(crate) fn users(db: &Db<'_>, blob: i64) -> Result<Vec<String>> {
    let mut users = Vec::new();
    for Use { rows, name, .. } in USES {
        db.each(*rows, params![blob], |row| {
            users.push(name(row)?);
            Ok(())
        })?;
    }
    users.sort_unstable();
    users.dedup();
    if users.is_empty() {
        users.push(format!("the unused blob {blob}"));
    }
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, blobs};

    #[test]
    fn every_column_that_refers_to_a_blob_has_a_name_for_reports() {
        let named: Vec<_> = USES.iter().flat_map(|uses| uses.of).collect();
        let keep = |(table, column): &(&str, &str)| format!("FROM {table} WHERE {column} = blob.id)");
        for column in &named {
            assert!(blobs::UNREFERENCED.contains(&keep(column)), "{column:?} keeps nothing");
        }
        assert_eq!(blobs::UNREFERENCED.matches("NOT EXISTS").count(), named.len(), "one is not named");
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("test.db")).expect("a database");
        let users = store.read(|db| users(db, 7)).expect("each statement is taken");
        assert_eq!(users, ["the unused blob 7"]);
    }
}
