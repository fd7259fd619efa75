-- Where a project's content came from, and is kept current from (docs/adr/0018-sources.md).

CREATE TABLE source (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('git', 'folder')),
  -- What git fetches from, or the folder; no password is in it.
  url        TEXT NOT NULL,
  -- The branch or tag that is followed, in full, such as refs/heads/main; NULL: a commit, or a folder.
  ref        TEXT,
  -- The folder in the repository, '/' between; '' is all of it.
  path       TEXT NOT NULL,
  -- What else was said of it: {"only": [...], "prefix": "...", "as": "..."}.
  choice     TEXT NOT NULL CHECK (json_valid(choice)),
  -- The commit that its items were read from; NULL for a folder.
  commit_id  TEXT CHECK ((commit_id IS NOT NULL) = (kind = 'git')),
  -- SHA-256 over path, mode and SHA-256 of each item's file.
  digest     BLOB NOT NULL CHECK (length(digest) = 32),
  added_at   INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (project_id, name)
) STRICT;

-- What a file of a source became when it was last read.
CREATE TABLE source_item (
  source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
  -- The path in the source, '/' between.
  path      TEXT NOT NULL,
  -- prompt:<uuid> or resource:<uuid>; it may have been deleted since.
  item      TEXT NOT NULL,
  -- Name, attributes, and when it applies: with blob_id the base of the next update, which is the last version that was
  -- merged, or decided about.
  entry     TEXT NOT NULL CHECK (json_valid(entry)),
  -- The content.
  blob_id   INTEGER NOT NULL REFERENCES blob (id),
  -- Of the file's own bytes, which a prompt's content is a part of.
  sha256    BLOB NOT NULL CHECK (length(sha256) = 32),
  executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
  -- Whether other files stand for the same, or it was reached through a link.
  shared    INTEGER NOT NULL CHECK (shared IN (0, 1)),
  -- The proposal about it that was not acted on yet.
  proposal_id INTEGER REFERENCES proposal (id) ON DELETE SET NULL,
  PRIMARY KEY (source_id, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX source_item_item ON source_item (item);
CREATE INDEX source_item_blob ON source_item (blob_id);
CREATE INDEX source_item_proposal ON source_item (proposal_id);

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 10;
