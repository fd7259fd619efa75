-- Contract 004: descriptions of APIs that were imported, and the commands that they make. The documents are not kept.

-- A description of an API. Secrets are references: where one is kept, never its value.
CREATE TABLE catalog (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL UNIQUE,
  prefix       TEXT NOT NULL,                 -- the group of its commands; empty: the first segment of each path
  title        TEXT NOT NULL,
  version      TEXT NOT NULL,                 -- of the API
  openapi      TEXT NOT NULL,
  source       TEXT NOT NULL,                 -- the file's path, or a URL
  sha256       BLOB NOT NULL CHECK (length(sha256) = 32), -- of the document
  base_url     TEXT,                          -- where its paths begin; NULL: not known
  servers      TEXT NOT NULL CHECK (json_valid(servers)),  -- those that the document names
  schemes      TEXT NOT NULL CHECK (json_valid(schemes)),  -- how it knows its callers
  headers      TEXT NOT NULL CHECK (json_valid(headers)),  -- a header to where its value is kept
  auth         TEXT NOT NULL CHECK (json_valid(auth)),     -- a scheme to where its secret is kept
  private      INTEGER NOT NULL CHECK (private IN (0, 1)), -- whether addresses that are not public are asked
  timeout_ms   INTEGER NOT NULL,
  max_answer   INTEGER NOT NULL,              -- bytes
  changes      INTEGER NOT NULL,              -- counts the changes of its row and its commands
  imported_at  INTEGER NOT NULL,
  refreshed_at INTEGER NOT NULL
) STRICT;

-- A command of a catalog. given is the id that it got with its first import, and keeps; id is the one that a person gave it,
-- else the same. What stands beside spec is taken from it with the patch, for searches that do not read it.
CREATE TABLE catalog_command (
  catalog_id INTEGER NOT NULL REFERENCES catalog (id) ON DELETE CASCADE,
  method     TEXT NOT NULL,
  path       TEXT NOT NULL,
  given      TEXT NOT NULL,
  id         TEXT NOT NULL UNIQUE,
  spec       TEXT NOT NULL CHECK (json_valid(spec)),       -- as the document says
  patch      TEXT CHECK (json_valid(patch)),               -- what a person corrected
  summary    TEXT NOT NULL,
  words      TEXT NOT NULL,                   -- the names of its arguments
  aliases    TEXT NOT NULL CHECK (json_valid(aliases)),
  effect     TEXT NOT NULL CHECK (effect IN ('read', 'write', 'destroy')),
  deprecated INTEGER NOT NULL CHECK (deprecated IN (0, 1)),
  lists      INTEGER NOT NULL CHECK (lists IN (0, 1)),
  PRIMARY KEY (catalog_id, method, path)
) STRICT;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 13;
