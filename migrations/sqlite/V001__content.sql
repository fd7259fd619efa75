-- Contract 001: projects, prompts and resources, with what they need to be found, taken back and watched.
-- Times are milliseconds since the Unix epoch, UTC. INTEGER keys stay inside; uuid is what users see.

CREATE TABLE project (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: the search index and the trail keep it
  uuid       BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

-- The one selected project (`project select NAME`); gone with its project.
CREATE TABLE selection (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE
) STRICT;

-- Folders bound to a project (`project select NAME --here`); '/' separates, without a final one.
CREATE TABLE directory (
  path       TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE
) STRICT;

-- Content, stored once per SHA-256. The first MiB stands in the row, so that a small one is one look-up;
-- what is longer goes on in chunk. Values past 1e9 bytes are refused by SQLite itself.
CREATE TABLE blob (
  id     INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
  size   INTEGER NOT NULL CHECK (size >= 0),
  head   BLOB NOT NULL
) STRICT;

CREATE TABLE chunk (
  blob_id INTEGER NOT NULL REFERENCES blob (id) ON DELETE CASCADE,
  n       INTEGER NOT NULL CHECK (n > 0),
  bytes   BLOB NOT NULL,
  PRIMARY KEY (blob_id, n)
) STRICT;

CREATE TABLE prompt (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  project_id  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  description TEXT,
  template    INTEGER NOT NULL DEFAULT 0 CHECK (template IN (0, 1)),
  arguments   TEXT CHECK (arguments IS NULL OR json_valid(arguments)),  -- MCP's list: name, description, required
  blob_id     INTEGER NOT NULL REFERENCES blob (id),
  revision    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  UNIQUE (project_id, name)
) STRICT;

CREATE TABLE resource (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  project_id  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  uri         TEXT NOT NULL,
  description TEXT,
  mime_type   TEXT,
  text        INTEGER NOT NULL CHECK (text IN (0, 1)),        -- 1: served as text, 0: as a base64 blob
  executable  INTEGER NOT NULL DEFAULT 0 CHECK (executable IN (0, 1)),
  blob_id     INTEGER NOT NULL REFERENCES blob (id),
  revision    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  UNIQUE (project_id, name),
  UNIQUE (project_id, uri)
) STRICT;

CREATE INDEX prompt_blob ON prompt (blob_id);
CREATE INDEX resource_blob ON resource (blob_id);

-- Every state a prompt or resource was in, the deleted one too. item is its uuid; attributes is all but the content.
CREATE TABLE revision (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  kind       TEXT NOT NULL CHECK (kind IN ('prompt', 'resource')),
  item       BLOB NOT NULL CHECK (length(item) = 16),
  number     INTEGER NOT NULL,
  action     TEXT NOT NULL CHECK (action IN ('create', 'update', 'rename', 'delete', 'restore')),
  restored   INTEGER,  -- for a restore, the number it came from
  name       TEXT NOT NULL,
  attributes TEXT NOT NULL CHECK (json_valid(attributes)),
  blob_id    INTEGER NOT NULL REFERENCES blob (id),
  actor      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (item, number)
) STRICT;

CREATE INDEX revision_name ON revision (project_id, kind, name, at);
CREATE INDEX revision_blob ON revision (blob_id);

-- The trail and the change feed: every mutation, and every refused one, without contents.
CREATE TABLE event (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  project TEXT,
  kind    TEXT NOT NULL,      -- the operation, such as prompt.create
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL       -- ok, or the code of the refusal
) STRICT;

CREATE TABLE setting (
  key   TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT;

-- Changes with each restore, so that a watcher starts its feed anew.
INSERT INTO setting (key, value) VALUES ('generation', lower(hex(randomblob(16))));

-- Words of prompts and textual resources; the text itself stays in blob. rowid is 2 * prompt.id or 2 * resource.id + 1.
-- project holds the token p<id>, so that a search stays within one project inside the index.
CREATE VIRTUAL TABLE search USING fts5 (
  project, name, description, body,
  content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER prompt_unindexed AFTER DELETE ON prompt BEGIN
  DELETE FROM search WHERE rowid = 2 * old.id;
END;

CREATE TRIGGER resource_unindexed AFTER DELETE ON resource BEGIN
  DELETE FROM search WHERE rowid = 2 * old.id + 1;
END;
