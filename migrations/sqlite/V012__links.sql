-- Links of an imported tree that are one thing with what they lead to, such as CLAUDE.md -> AGENTS.md: an export makes them
-- again.

-- path and target as they were below what was imported, '/' between; target is the link's text, relative to its folder.
CREATE TABLE link (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  path       TEXT NOT NULL,
  target     TEXT NOT NULL,
  PRIMARY KEY (project_id, path)
) STRICT, WITHOUT ROWID;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 12;
