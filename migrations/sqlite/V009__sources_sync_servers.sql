-- Proposals about content, and the folders that projects are kept the same as (docs/adr/0019-merge-and-sync.md).

-- A change that is offered to a project and waits for a person. origin is where it was made: in a deployed file, upstream of
-- a source, or in a folder that is synced. item is prompt:<uuid> or resource:<uuid>; path is the file it was made in.
-- change: the item becomes blob_id, with the attributes of entry where it is not of a deploy. delete: the item goes.
-- delete_file: the file in the synced folder goes. base_blob is what stood here when it was made.
ALTER TABLE proposal RENAME TO proposal_before;

CREATE TABLE proposal (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  origin     TEXT NOT NULL CHECK (origin IN ('deploy', 'source', 'sync')),
  action     TEXT NOT NULL CHECK (action IN ('change', 'delete', 'delete_file')),
  item       TEXT NOT NULL,
  module_id  TEXT NOT NULL,
  path       TEXT NOT NULL,
  base_blob  INTEGER REFERENCES blob (id),
  blob_id    INTEGER REFERENCES blob (id),
  entry      TEXT CHECK (entry IS NULL OR json_valid(entry)),
  state      TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'rejected')),
  actor      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER,
  CHECK ((action = 'delete') = (blob_id IS NULL))
) STRICT;

INSERT INTO proposal (id, project_id, origin, action, item, module_id, path, base_blob, blob_id, state, actor, created_at,
                      decided_at)
SELECT id, project_id, 'deploy', 'change', item, module_id, path, base_blob, blob_id, state, actor, created_at, decided_at
  FROM proposal_before;

DROP TABLE proposal_before;

CREATE INDEX proposal_open ON proposal (project_id, item) WHERE state = 'open';
CREATE INDEX proposal_base ON proposal (base_blob);
CREATE INDEX proposal_blob ON proposal (blob_id);

-- A project and a folder that are kept the same. looked_at is when the files of sync_file were looked at, project_state what
-- the project was by then (a SHA-256), where nothing was left to do; NULL: look at everything.
CREATE TABLE sync (
  id            INTEGER PRIMARY KEY,
  project_id    INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  folder        TEXT NOT NULL,               -- its real path
  project_state BLOB CHECK (length(project_state) = 32),
  looked_at     INTEGER NOT NULL,
  UNIQUE (project_id, folder)
) STRICT;

-- What project and folder both had of an item when it was last synced: the base of the next merge. Without entry and
-- blob_id they never had the same. listed: the folder's manifest lists the file. proposal_id is the proposal about it that was
-- not acted on yet.
CREATE TABLE sync_item (
  sync_id     INTEGER NOT NULL REFERENCES sync (id) ON DELETE CASCADE,
  path        TEXT NOT NULL,                 -- below the folder, '/' between
  item        TEXT NOT NULL,                 -- prompt:<uuid> or resource:<uuid>
  entry       TEXT CHECK (entry IS NULL OR json_valid(entry)),
  blob_id     INTEGER REFERENCES blob (id),
  listed      INTEGER NOT NULL CHECK (listed IN (0, 1)),
  proposal_id INTEGER REFERENCES proposal (id) ON DELETE SET NULL,
  PRIMARY KEY (sync_id, path),
  CHECK ((entry IS NULL) = (blob_id IS NULL))
) STRICT;

CREATE INDEX sync_item_blob ON sync_item (blob_id);
CREATE INDEX sync_item_proposal ON sync_item (proposal_id);

-- The files and folders that were looked at, as the disk described them: one that is the same is not read again. A cache.
CREATE TABLE sync_file (
  sync_id   INTEGER NOT NULL REFERENCES sync (id) ON DELETE CASCADE,
  path      TEXT NOT NULL,
  is_folder INTEGER NOT NULL CHECK (is_folder IN (0, 1)),
  size      INTEGER NOT NULL,
  mtime     INTEGER NOT NULL,
  ctime     INTEGER NOT NULL,
  inode     INTEGER NOT NULL,
  PRIMARY KEY (sync_id, path)
) STRICT;

-- Files of the folder that are being written: kept before the first one is, and taken away after the last one, so that a
-- sync that was killed is finished by the next. before_sha256 is what stands there (NULL: nothing), blob_id what will
-- (NULL: nothing), listed what the folder's manifest will say of it.
CREATE TABLE sync_write (
  sync_id       INTEGER NOT NULL REFERENCES sync (id) ON DELETE CASCADE,
  path          TEXT NOT NULL,
  before_sha256 BLOB CHECK (length(before_sha256) = 32),
  blob_id       INTEGER REFERENCES blob (id),
  executable    INTEGER NOT NULL CHECK (executable IN (0, 1)),
  listed        TEXT CHECK (listed IS NULL OR json_valid(listed)),
  PRIMARY KEY (sync_id, path)
) STRICT;

CREATE INDEX sync_write_blob ON sync_write (blob_id);

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

-- MCP servers that a project gives to agents, and files that are kept for one agent alone (docs/adr/0020-servers-and-hooks.md).

-- command, cwd and url are a text, args a list of texts, env and headers lists of a name and a text. A text is a JSON array
-- of parts: a string as it stands, {"env": NAME, "default": TEXT}, {"input": ID} or {"file": PATH}. What env and headers
-- hold stands elsewhere, and its place here: a row holds no secret. inputs are VS Code's, by which its user is asked; extra
-- are the keys that the agent alone knows from whose file it came, in their order. path is that file and entry the name in
-- it, NULL where that is the server's name. A server that is not enabled is neither deployed nor run.
CREATE TABLE mcp_server (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  project_id  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  transport   TEXT NOT NULL CHECK (transport IN ('stdio', 'http', 'sse')),
  command     TEXT CHECK (command IS NULL OR json_valid(command)),
  args        TEXT NOT NULL CHECK (json_valid(args)),
  env         TEXT NOT NULL CHECK (json_valid(env)),
  cwd         TEXT CHECK (cwd IS NULL OR json_valid(cwd)),
  url         TEXT CHECK (url IS NULL OR json_valid(url)),
  headers     TEXT NOT NULL CHECK (json_valid(headers)),
  inputs      TEXT NOT NULL CHECK (json_valid(inputs)),
  extra       TEXT NOT NULL CHECK (json_valid(extra)),
  description TEXT,
  agent       TEXT,
  path        TEXT,
  entry       TEXT,
  enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  revision    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  row_sum     INTEGER NOT NULL,
  UNIQUE (project_id, name),
  CHECK ((transport = 'stdio') = (command IS NOT NULL)),
  CHECK ((transport = 'stdio') = (url IS NULL))
) STRICT;

-- A hook, permissions, an ignore file, the manifest of a plugin, settings, or the file of MCP servers with references in
-- the place of its values: kept to the byte for the agent that reads it, and never for another.
CREATE TABLE agent_file (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  path       TEXT NOT NULL,                  -- below what was imported, '/' between
  kind       TEXT NOT NULL CHECK (kind IN ('hook', 'permission', 'ignore', 'plugin', 'settings', 'servers')),
  agent      TEXT NOT NULL,
  executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
  blob_id    INTEGER NOT NULL REFERENCES blob (id),
  revision   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (project_id, path)
) STRICT;

CREATE INDEX agent_file_blob ON agent_file (blob_id);

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
PRAGMA user_version = 9;
