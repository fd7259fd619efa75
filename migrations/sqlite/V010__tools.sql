-- Contract 002: registries, packages of tools, who is trusted, what is installed, and what was run.

-- Where tools are published and fetched from. The one called local is this database and has no row. token says where its
-- secret is kept (env:, file:, command:); no secret is here.
CREATE TABLE registry (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL CHECK (kind IN ('directory', 'http')),
  location   TEXT NOT NULL,                  -- the folder's real path, or the base URL
  token      TEXT,
  priority   INTEGER NOT NULL,               -- the lowest is asked first
  added_at   INTEGER NOT NULL
) STRICT;

-- A version of a tool as a registry has it: published in this database (registry 'local'), installed from another, or seen
-- there. A digest that was once seen never changes, and neither does a yank. blob_id is the archive, NULL where it was only
-- seen; manifest is the one in the archive, as JSON. The row of a registry that was removed stays.
CREATE TABLE tool_package (
  id               INTEGER PRIMARY KEY,
  registry         TEXT NOT NULL,
  name             TEXT NOT NULL,
  version          TEXT NOT NULL,
  sha256           BLOB NOT NULL CHECK (length(sha256) = 32),
  size             INTEGER NOT NULL CHECK (size >= 0),
  blob_id          INTEGER REFERENCES blob (id),
  manifest         TEXT CHECK (manifest IS NULL OR json_valid(manifest)),
  raw_manifest     TEXT,                     -- as it stands in the archive
  publisher        TEXT,                     -- an identity, or the access key that published it
  visibility       TEXT NOT NULL CHECK (visibility IN ('public', 'unlisted', 'private')),
  published_at     INTEGER NOT NULL,
  seen_at          INTEGER NOT NULL,
  yanked_at        INTEGER,
  yank_reason      TEXT,
  yank_replacement TEXT,
  downloads        INTEGER NOT NULL DEFAULT 0,
  UNIQUE (registry, name, version),
  CHECK ((blob_id IS NULL) = (manifest IS NULL))
) STRICT;

CREATE INDEX tool_package_blob ON tool_package (blob_id);
CREATE INDEX tool_package_sha256 ON tool_package (sha256);

-- What a search finds: one row for each tool of a registry that is kept here, by the version that counts. Rows of a directory
-- are made from its index.
CREATE TABLE tool_listing (
  id           INTEGER PRIMARY KEY,
  registry     TEXT NOT NULL,
  name         TEXT NOT NULL,
  version      TEXT NOT NULL,
  description  TEXT NOT NULL,
  tags         TEXT NOT NULL CHECK (json_valid(tags)),
  published_at INTEGER NOT NULL,
  UNIQUE (registry, name)
) STRICT;

-- The words of tool_listing; rowid is its id.
CREATE VIRTUAL TABLE tool_search USING fts5 (
  name, description, tags,
  content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Answers of registries over HTTP, and how a directory's index was when it was read. A cache.
CREATE TABLE registry_answer (
  registry   TEXT NOT NULL,
  request    TEXT NOT NULL,
  etag       TEXT,
  body       TEXT NOT NULL,
  fetched_at INTEGER NOT NULL,
  PRIMARY KEY (registry, request)
) STRICT;

-- What somebody says of an archive, kept as a claim: it counts where it verifies and its identity is trusted. sha256 is of
-- its bytes, package_sha256 of the archive that it came with. poster is the access key that sent it.
CREATE TABLE tool_attestation (
  id             INTEGER PRIMARY KEY,
  package_sha256 BLOB NOT NULL CHECK (length(package_sha256) = 32),
  sha256         BLOB NOT NULL CHECK (length(sha256) = 32),
  bundle         TEXT NOT NULL,
  poster         TEXT,
  added_at       INTEGER NOT NULL,
  UNIQUE (package_sha256, sha256)
) STRICT;

-- Whom this user trusts, for which tools (a pattern) and in which part.
CREATE TABLE trusted_identity (
  id         INTEGER PRIMARY KEY,
  identity   TEXT NOT NULL,
  label      TEXT,
  pattern    TEXT NOT NULL,
  part       TEXT NOT NULL CHECK (part IN ('publisher', 'auditor', 'both')),
  added_at   INTEGER NOT NULL,
  UNIQUE (identity, pattern, part)
) STRICT;

-- What was decided of an archive while the epoch of trust was this one; and a person's yes to it, which has a record outside
-- of the database.
CREATE TABLE tool_verdict (
  package_sha256 BLOB NOT NULL CHECK (length(package_sha256) = 32),
  name           TEXT NOT NULL,
  version        TEXT NOT NULL,
  epoch          INTEGER NOT NULL,
  verdict        TEXT NOT NULL CHECK (json_valid(verdict)),
  PRIMARY KEY (package_sha256, name, version)
) STRICT;

-- Which version of a tool is installed for whom. scope: global, project:<uuid>, key:<key id>. Of the versions of a tool in a
-- scope one is active: it is the one that is projected.
CREATE TABLE tool_install (
  id           INTEGER PRIMARY KEY,
  scope        TEXT NOT NULL,
  package_id   INTEGER NOT NULL REFERENCES tool_package (id),
  name         TEXT NOT NULL,
  version      TEXT NOT NULL,
  active       INTEGER NOT NULL CHECK (active IN (0, 1)),
  publisher    TEXT,                         -- the identity that published it, by its attestations
  actor        TEXT NOT NULL,
  installed_at INTEGER NOT NULL,
  UNIQUE (scope, name, version)
) STRICT;

CREATE INDEX tool_install_package ON tool_install (package_id);

-- The names that tools are called by over MCP. A name keeps its meaning for good.
CREATE TABLE tool_name (
  mcp_name TEXT PRIMARY KEY,
  tool     TEXT NOT NULL,
  action   TEXT NOT NULL,                    -- '' is the main one
  UNIQUE (tool, action)
) STRICT;

CREATE TABLE toolset (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  active     INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX toolset_active ON toolset (active) WHERE active = 1;

CREATE TABLE toolset_item (
  toolset_id INTEGER NOT NULL REFERENCES toolset (id) ON DELETE CASCADE,
  tool       TEXT NOT NULL,
  PRIMARY KEY (toolset_id, tool)
) STRICT;

-- What a person allows a tool beyond its sandbox, bound to its publisher. Each has a record outside of the database.
CREATE TABLE tool_grant (
  id         INTEGER PRIMARY KEY,
  tool       TEXT NOT NULL,
  publisher  TEXT NOT NULL,                  -- '' for one that nobody signed
  kind       TEXT NOT NULL CHECK (kind IN ('network', 'files', 'unsandboxed')),
  value      TEXT NOT NULL,                  -- the folder, or ''
  granted_at INTEGER NOT NULL,
  UNIQUE (tool, publisher, kind, value)
) STRICT;

-- Variables of tools: where a secret is kept, or a plain value.
CREATE TABLE tool_env (
  name      TEXT NOT NULL,
  pattern   TEXT NOT NULL,                   -- the tools that get it
  reference TEXT,
  value     TEXT,
  set_at    INTEGER NOT NULL,
  PRIMARY KEY (name, pattern),
  CHECK ((reference IS NULL) <> (value IS NULL))
) STRICT;

-- Every run, the refused ones too, without contents. ended_at is NULL while it runs.
CREATE TABLE tool_run (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  actor       TEXT NOT NULL,
  asker       TEXT NOT NULL,
  tool        TEXT NOT NULL,
  version     TEXT,
  action      TEXT NOT NULL,
  sha256      BLOB CHECK (length(sha256) = 32),
  input_hash  BLOB NOT NULL CHECK (length(input_hash) = 32),
  runner      TEXT,
  verdict     TEXT NOT NULL,
  outcome     TEXT,                          -- ok, or the code of the failure
  exit_code   INTEGER,
  stdout_size INTEGER,
  stderr_size INTEGER,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER
) STRICT;

CREATE INDEX tool_run_started ON tool_run (started_at);

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 10;
