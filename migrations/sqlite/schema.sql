-- The schema after all migrations, with which a new database starts. Generated from them.

CREATE TABLE refinery_schema_history(
             version int4 PRIMARY KEY,
             name VARCHAR(255),
             applied_on VARCHAR(255),
             checksum VARCHAR(255));

CREATE TABLE project (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: the search index and the trail keep it
  uuid       BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE selection (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE
) STRICT;

CREATE TABLE directory (
  path       TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE
) STRICT;

CREATE TABLE blob (
  id     INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
  size   INTEGER NOT NULL CHECK (size >= 0),
  head   BLOB NOT NULL
, checksum INTEGER) STRICT;

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
  updated_at  INTEGER NOT NULL, front_matter TEXT, file TEXT, listed_sum INTEGER NOT NULL DEFAULT 0, row_sum INTEGER NOT NULL DEFAULT 0, dialect TEXT CHECK (dialect IN ('claude', 'opencode')), skill TEXT NOT NULL DEFAULT '',
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
  updated_at  INTEGER NOT NULL, listed_sum INTEGER NOT NULL DEFAULT 0, row_sum INTEGER NOT NULL DEFAULT 0,
  UNIQUE (project_id, name),
  UNIQUE (project_id, uri)
) STRICT;

CREATE INDEX prompt_blob ON prompt (blob_id);

CREATE INDEX resource_blob ON resource (blob_id);

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
  at         INTEGER NOT NULL, row_sum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (item, number)
) STRICT;

CREATE INDEX revision_name ON revision (project_id, kind, name, at);

CREATE INDEX revision_blob ON revision (blob_id);

CREATE TABLE event (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  project TEXT,
  kind    TEXT NOT NULL,      -- the operation, such as prompt.create
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL       -- ok, or the code of the refusal
, session TEXT, changes TEXT) STRICT;

CREATE TABLE setting (
  key   TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search USING fts5 (
  project, name, description, body,
  content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE module (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       TEXT NOT NULL,
  type       TEXT CHECK (type IN ('instructions', 'skill', 'prompt', 'command')),
  tags       TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  targets    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(targets)),  -- empty: every target
  enabled    INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)), applies TEXT CHECK (applies IS NULL OR json_valid(applies)), agent TEXT, path TEXT,
  PRIMARY KEY (project_id, item)
) STRICT;

CREATE TABLE place (
  id      INTEGER PRIMARY KEY,
  source  TEXT NOT NULL,
  origin  TEXT NOT NULL,
  machine TEXT NOT NULL,
  root    TEXT NOT NULL,
  UNIQUE (source, origin, machine, root)
) STRICT;

CREATE TABLE snapshot (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  place_id    INTEGER NOT NULL REFERENCES place (id),
  kind        TEXT NOT NULL CHECK (kind IN ('deploy', 'rollback', 'restore')),
  state       TEXT NOT NULL CHECK (state IN ('applying', 'applied', 'undone', 'pruned')),
  targets     TEXT NOT NULL CHECK (json_valid(targets)),
  profile     TEXT NOT NULL,
  plan_hash   TEXT NOT NULL,
  rolled_back_to TEXT,                     -- a snapshot's id, or pristine
  pinned      INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
  actor       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;

CREATE INDEX snapshot_place ON snapshot (place_id, id);

CREATE INDEX snapshot_unfinished ON snapshot (id) WHERE finished_at IS NULL;

CREATE TABLE snapshot_file (
  snapshot_id INTEGER NOT NULL REFERENCES snapshot (id) ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  place_id    INTEGER NOT NULL REFERENCES place (id),
  path        TEXT NOT NULL,               -- absolute
  root        TEXT NOT NULL,               -- the folder of the target that it lies below
  op          TEXT NOT NULL CHECK (op IN ('create', 'update', 'delete', 'claim')),
  targets     TEXT NOT NULL CHECK (json_valid(targets)),
  module_ids  TEXT NOT NULL CHECK (json_valid(module_ids)),
  block       INTEGER NOT NULL CHECK (block IN (0, 1)),
  keep        TEXT NOT NULL CHECK (keep IN ('written', 'claimed', 'nobody')),  -- whose it is afterwards
  before_blob INTEGER REFERENCES blob (id),
  before_mode INTEGER,
  before_link TEXT,
  after_blob  INTEGER REFERENCES blob (id),
  after_mode  INTEGER,
  after_link  TEXT, before_attributes TEXT,
  PRIMARY KEY (snapshot_id, seq)
) STRICT;

CREATE INDEX snapshot_file_path ON snapshot_file (place_id, path, snapshot_id);

CREATE INDEX snapshot_file_before ON snapshot_file (before_blob);

CREATE INDEX snapshot_file_after ON snapshot_file (after_blob);

CREATE TABLE snapshot_folder (
  snapshot_id INTEGER NOT NULL REFERENCES snapshot (id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  PRIMARY KEY (snapshot_id, path)
) STRICT;

CREATE TABLE deployed (
  machine       TEXT NOT NULL,
  path          TEXT NOT NULL,
  place_id      INTEGER NOT NULL REFERENCES place (id),
  root          TEXT NOT NULL,
  targets       TEXT NOT NULL CHECK (json_valid(targets)),
  module_ids    TEXT NOT NULL CHECK (json_valid(module_ids)),
  block         INTEGER NOT NULL CHECK (block IN (0, 1)),
  written       INTEGER NOT NULL CHECK (written IN (0, 1)),
  applied_blob  INTEGER REFERENCES blob (id),
  applied_mode  INTEGER,
  applied_link  TEXT,
  pristine_blob INTEGER REFERENCES blob (id),
  pristine_mode INTEGER,
  pristine_link TEXT,
  size          INTEGER,
  mtime         INTEGER,
  ctime         INTEGER,
  inode         INTEGER, pristine_attributes TEXT,
  PRIMARY KEY (machine, path)
) STRICT;

CREATE INDEX deployed_place ON deployed (place_id, path);

CREATE INDEX deployed_applied ON deployed (applied_blob);

CREATE INDEX deployed_pristine ON deployed (pristine_blob);

CREATE TABLE access_key (
  id           INTEGER PRIMARY KEY,
  key_id       TEXT NOT NULL UNIQUE CHECK (length(key_id) = 12),  -- the part of the key that is no secret
  name         TEXT NOT NULL UNIQUE,
  project_uuid BLOB CHECK (length(project_uuid) = 16),
  read_only    INTEGER NOT NULL CHECK (read_only IN (0, 1)),
  hash         BLOB NOT NULL CHECK (length(hash) = 32),
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER
, consent INTEGER NOT NULL DEFAULT 0 CHECK (consent IN (0, 1)), publish TEXT CHECK (publish IS NULL OR json_valid(publish)), attest INTEGER NOT NULL DEFAULT 0 CHECK (attest IN (0, 1)), execute INTEGER NOT NULL DEFAULT 0 CHECK (execute IN (0, 1))) STRICT;

CREATE INDEX prompt_skill ON prompt (project_id, skill, name);

CREATE TABLE consent (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  needs       TEXT NOT NULL CHECK (needs IN ('token', 'person')),
  sha256      BLOB UNIQUE CHECK (length(sha256) = 32),
  operation   TEXT NOT NULL,
  asker       TEXT NOT NULL,
  caller      TEXT NOT NULL,                 -- as the trail names it
  project     TEXT NOT NULL,                 -- its name when it was asked; empty where none applied
  inputs      TEXT NOT NULL CHECK (json_valid(inputs)),
  plan_hash   TEXT NOT NULL,
  summary     TEXT NOT NULL,
  effects     TEXT NOT NULL CHECK (json_valid(effects)),
  state       TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'consumed')),
  asked_at    INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  decided_at  INTEGER,
  consumed_at INTEGER, note TEXT, effect TEXT CHECK (effect IN ('reads', 'writes', 'destroys')),
  CHECK ((needs = 'token') = (sha256 IS NOT NULL)),
  CHECK (needs = 'person' OR state IN ('pending', 'consumed'))
) STRICT;

CREATE INDEX consent_asker ON consent (asker, needs, id);

CREATE INDEX consent_expires ON consent (expires_at);

CREATE TABLE task (
  id         INTEGER PRIMARY KEY,
  uuid       BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  asker      TEXT NOT NULL,
  tool       TEXT NOT NULL,
  runner     BLOB NOT NULL CHECK (length(runner) = 16),
  status     TEXT NOT NULL CHECK (status IN ('working', 'completed', 'failed', 'cancelled')),
  message    TEXT,
  outcome    TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  CHECK ((status IN ('completed', 'failed')) = (outcome IS NOT NULL))
) STRICT;

CREATE INDEX task_by_expiry ON task (expires_at);

CREATE INDEX task_by_asker ON task (asker);

CREATE INDEX task_by_status ON task (status);

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
  decided_at INTEGER, note TEXT,
  CHECK ((action = 'delete') = (blob_id IS NULL))
) STRICT;

CREATE INDEX proposal_open ON proposal (project_id, item) WHERE state = 'open';

CREATE INDEX proposal_base ON proposal (base_blob);

CREATE INDEX proposal_blob ON proposal (blob_id);

CREATE TABLE sync (
  id            INTEGER PRIMARY KEY,
  project_id    INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  folder        TEXT NOT NULL,               -- its real path
  project_state BLOB CHECK (length(project_state) = 32),
  looked_at     INTEGER NOT NULL,
  UNIQUE (project_id, folder)
) STRICT;

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
  updated_at INTEGER NOT NULL, plugins TEXT CHECK (plugins IS NULL OR json_valid(plugins)),
  UNIQUE (project_id, name)
) STRICT;

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

CREATE TABLE link (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  path       TEXT NOT NULL,
  target     TEXT NOT NULL, blob_id INTEGER REFERENCES blob (id), executable INTEGER NOT NULL DEFAULT 0 CHECK (executable IN (0, 1)),
  PRIMARY KEY (project_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE registry (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL CHECK (kind IN ('directory', 'http')),
  location   TEXT NOT NULL,                  -- the folder's real path, or the base URL
  token      TEXT,
  priority   INTEGER NOT NULL,               -- the lowest is asked first
  added_at   INTEGER NOT NULL
) STRICT;

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

CREATE VIRTUAL TABLE tool_search USING fts5 (
  name, description, tags,
  content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE registry_answer (
  registry   TEXT NOT NULL,
  request    TEXT NOT NULL,
  etag       TEXT,
  body       TEXT NOT NULL,
  fetched_at INTEGER NOT NULL,
  PRIMARY KEY (registry, request)
) STRICT;

CREATE TABLE tool_attestation (
  id             INTEGER PRIMARY KEY,
  package_sha256 BLOB NOT NULL CHECK (length(package_sha256) = 32),
  sha256         BLOB NOT NULL CHECK (length(sha256) = 32),
  bundle         TEXT NOT NULL,
  poster         TEXT,
  added_at       INTEGER NOT NULL,
  UNIQUE (package_sha256, sha256)
) STRICT;

CREATE TABLE trusted_identity (
  id         INTEGER PRIMARY KEY,
  identity   TEXT NOT NULL,
  label      TEXT,
  pattern    TEXT NOT NULL,
  part       TEXT NOT NULL CHECK (part IN ('publisher', 'auditor', 'both')),
  added_at   INTEGER NOT NULL,
  UNIQUE (identity, pattern, part)
) STRICT;

CREATE TABLE tool_verdict (
  package_sha256 BLOB NOT NULL CHECK (length(package_sha256) = 32),
  name           TEXT NOT NULL,
  version        TEXT NOT NULL,
  epoch          INTEGER NOT NULL,
  verdict        TEXT NOT NULL CHECK (json_valid(verdict)),
  PRIMARY KEY (package_sha256, name, version)
) STRICT;

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

CREATE TABLE tool_grant (
  id         INTEGER PRIMARY KEY,
  tool       TEXT NOT NULL,
  publisher  TEXT NOT NULL,                  -- '' for one that nobody signed
  kind       TEXT NOT NULL CHECK (kind IN ('network', 'files', 'unsandboxed')),
  value      TEXT NOT NULL,                  -- the folder, or ''
  granted_at INTEGER NOT NULL,
  UNIQUE (tool, publisher, kind, value)
) STRICT;

CREATE TABLE tool_env (
  name      TEXT NOT NULL,
  pattern   TEXT NOT NULL,                   -- the tools that get it
  reference TEXT,
  value     TEXT,
  set_at    INTEGER NOT NULL,
  PRIMARY KEY (name, pattern),
  CHECK ((reference IS NULL) <> (value IS NULL))
) STRICT;

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

CREATE TABLE tool_build (
  package_sha256 BLOB NOT NULL CHECK (length(package_sha256) = 32),
  runner         TEXT NOT NULL,
  sha256         BLOB NOT NULL CHECK (length(sha256) = 32),
  blob_id        INTEGER NOT NULL REFERENCES blob (id),
  built_at       INTEGER NOT NULL,
  PRIMARY KEY (package_sha256, runner)
) STRICT;

CREATE INDEX tool_build_blob ON tool_build (blob_id);

CREATE TABLE tool_alias (
  alias TEXT PRIMARY KEY,
  tool  TEXT NOT NULL
) STRICT;

CREATE TABLE workspace (
  id       INTEGER PRIMARY KEY,
  uuid     BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  machine  TEXT NOT NULL,
  root     TEXT NOT NULL,                    -- the folder's real path
  name     TEXT NOT NULL,
  added_at INTEGER NOT NULL,
  UNIQUE (machine, root)
) STRICT;

CREATE TABLE flow_run (
  id           INTEGER PRIMARY KEY,
  uuid         BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  workspace_id INTEGER NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  operation    TEXT NOT NULL,                -- such as feature finish
  subject      TEXT NOT NULL,                -- such as the branch
  state        TEXT NOT NULL CHECK (state IN ('applying', 'landed', 'done', 'undone', 'kept')),
  actor        TEXT NOT NULL,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER
) STRICT;

CREATE INDEX flow_run_workspace ON flow_run (workspace_id, id);

CREATE TABLE flow_step (
  run_id INTEGER NOT NULL REFERENCES flow_run (id) ON DELETE CASCADE,
  seq    INTEGER NOT NULL,
  repo   TEXT NOT NULL,
  tidies INTEGER NOT NULL CHECK (tidies IN (0, 1)),
  step   TEXT NOT NULL CHECK (json_valid(step)),
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE TABLE flow_push (
  run_id    INTEGER NOT NULL REFERENCES flow_run (id) ON DELETE CASCADE,
  repo      TEXT NOT NULL,
  ref_name  TEXT NOT NULL,
  new_id    TEXT,
  pushed_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, repo, ref_name)
) STRICT;

CREATE TABLE build_run (
  id           INTEGER PRIMARY KEY,
  uuid         BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  workspace_id INTEGER NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  actor        TEXT NOT NULL,
  options      TEXT NOT NULL CHECK (json_valid(options)),
  all_passed   INTEGER CHECK (all_passed IN (0, 1)), -- NULL while it runs, or where its process was killed
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER
) STRICT;

CREATE INDEX build_run_workspace ON build_run (workspace_id, id);

CREATE TABLE build_row (
  run_id      INTEGER NOT NULL REFERENCES build_run (id) ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  repo        TEXT NOT NULL,
  step        TEXT NOT NULL CHECK (step IN ('clean', 'build', 'test')),
  success     INTEGER NOT NULL CHECK (success IN (0, 1)),
  skipped     INTEGER NOT NULL CHECK (skipped IN (0, 1)),
  exit_code   INTEGER,
  duration_ms INTEGER NOT NULL,
  blob_id     INTEGER REFERENCES blob (id),
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE INDEX build_row_blob ON build_row (blob_id);

CREATE TABLE gate_model (
  id            INTEGER PRIMARY KEY,
  workspace_id  INTEGER NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  blob_id       INTEGER NOT NULL REFERENCES blob (id),
  header        TEXT NOT NULL CHECK (json_valid(header)),
  registered_at INTEGER NOT NULL,
  UNIQUE (workspace_id, name)
) STRICT;

CREATE INDEX gate_model_blob ON gate_model (blob_id);

CREATE TABLE gate_route (
  workspace_id INTEGER NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  endpoint     TEXT NOT NULL,
  model_id     INTEGER NOT NULL REFERENCES gate_model (id) ON DELETE CASCADE,
  active       INTEGER NOT NULL CHECK (active IN (0, 1)),
  PRIMARY KEY (workspace_id, endpoint)
) STRICT;

CREATE INDEX gate_route_model ON gate_route (model_id);

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

CREATE TABLE workflow (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  project_id  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  title       TEXT,
  description TEXT,
  model_hash  BLOB NOT NULL CHECK (length(model_hash) = 32),
  blob_id     INTEGER NOT NULL REFERENCES blob (id),
  revision    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  row_sum     INTEGER NOT NULL,
  UNIQUE (project_id, name)
) STRICT;

CREATE INDEX workflow_blob ON workflow (blob_id);

CREATE TABLE workflow_revision (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       BLOB NOT NULL CHECK (length(item) = 16),
  number     INTEGER NOT NULL,
  action     TEXT NOT NULL CHECK (action IN ('create', 'update', 'rename', 'delete', 'restore')),
  restored   INTEGER,                     -- for a restore, the number it came from
  name       TEXT NOT NULL,
  message    TEXT,
  draft      BLOB CHECK (length(draft) = 16),
  model_hash BLOB NOT NULL CHECK (length(model_hash) = 32),
  blob_id    INTEGER NOT NULL REFERENCES blob (id),
  actor      TEXT NOT NULL,
  at         INTEGER NOT NULL,
  row_sum    INTEGER NOT NULL,
  UNIQUE (item, number)
) STRICT;

CREATE INDEX workflow_revision_name ON workflow_revision (project_id, name, id);

CREATE INDEX workflow_revision_blob ON workflow_revision (blob_id);

CREATE TABLE workflow_draft (
  id            INTEGER PRIMARY KEY,
  uuid          BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  project_id    INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected')),
  message       TEXT,
  base_item     BLOB CHECK (length(base_item) = 16),
  base_revision INTEGER,
  base_blob     INTEGER REFERENCES blob (id),
  blob_id       INTEGER NOT NULL REFERENCES blob (id),
  findings      TEXT NOT NULL CHECK (json_valid(findings)),
  plan          TEXT CHECK (json_valid(plan)),
  actor         TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  edited_at     INTEGER,
  decided_by    TEXT,
  decided_at    INTEGER
, note TEXT) STRICT;

CREATE INDEX workflow_draft_project ON workflow_draft (project_id, uuid);

CREATE INDEX workflow_draft_blob ON workflow_draft (blob_id);

CREATE INDEX workflow_draft_base ON workflow_draft (base_blob);

CREATE TABLE workflow_setting (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  kind       TEXT NOT NULL CHECK (kind IN ('policy', 'env')),
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  set_at     INTEGER NOT NULL,
  PRIMARY KEY (project_id, kind, name)
) STRICT;

CREATE TABLE run (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  project_id  INTEGER REFERENCES project (id) ON DELETE CASCADE, -- NULL for a command that was run without a project
  kind        TEXT NOT NULL CHECK (kind IN ('command', 'workflow')),
  name        TEXT NOT NULL,
  blob_id     INTEGER NOT NULL REFERENCES blob (id),
  plan_hash   TEXT NOT NULL,
  inputs      TEXT NOT NULL CHECK (json_valid(inputs)),
  state       TEXT NOT NULL CHECK (state IN ('pending', 'running', 'waiting', 'paused', 'cancel_requested', 'interrupted',
                                             'uncertain', 'succeeded', 'failed', 'canceled')),
  wanted      TEXT CHECK (wanted IN ('pause', 'cancel')),
  asker       TEXT NOT NULL,
  actor       TEXT NOT NULL,                 -- as the trail names it
  reason      TEXT,
  output_blob INTEGER REFERENCES blob (id),
  created_at  INTEGER NOT NULL,
  ended_at    INTEGER
) STRICT;

CREATE INDEX run_project ON run (project_id, uuid);

CREATE INDEX run_blob ON run (blob_id);

CREATE INDEX run_output ON run (output_blob);

CREATE TABLE run_step (
  run_id      INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  name        TEXT NOT NULL,
  command     TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('pending', 'running', 'waiting', 'succeeded', 'failed', 'skipped', 'uncertain',
                                             'canceled')),
  rounds      INTEGER NOT NULL,
  deadline_at INTEGER,
  next_at     INTEGER,
  reason      TEXT,
  blob_id     INTEGER REFERENCES blob (id),
  secrets     TEXT CHECK (json_valid(secrets)),
  started_at  INTEGER,
  ended_at    INTEGER,
  PRIMARY KEY (run_id, seq)
) STRICT;

CREATE INDEX run_step_blob ON run_step (blob_id);

CREATE TABLE run_attempt (
  run_id     INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  round      INTEGER NOT NULL,
  key        TEXT,                           -- the idempotency key that was sent along
  actor      TEXT NOT NULL,
  command    TEXT NOT NULL,
  method     TEXT,
  host       TEXT,
  path       TEXT,                           -- with its placeholders
  arguments  TEXT NOT NULL CHECK (json_valid(arguments)),
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  outcome    TEXT,
  status     INTEGER,
  bytes      INTEGER,
  sha256     BLOB CHECK (length(sha256) = 32),
  excerpt    TEXT,
  reason     TEXT,
  PRIMARY KEY (run_id, seq, number),
  FOREIGN KEY (run_id, seq) REFERENCES run_step (run_id, seq) ON DELETE CASCADE
) STRICT;

CREATE TABLE plugin (
  server_id  INTEGER PRIMARY KEY REFERENCES mcp_server (id) ON DELETE CASCADE,
  trusted    INTEGER NOT NULL CHECK (trusted IN (0, 1)), -- whether its word counts for what its tools do
  private    INTEGER NOT NULL CHECK (private IN (0, 1)), -- whether addresses that are not public are asked
  timeout_ms INTEGER NOT NULL,
  idle_ms    INTEGER NOT NULL,
  providers  TEXT NOT NULL CHECK (json_valid(providers)),
  era        TEXT CHECK (era IN ('handshake', 'discover')),
  failures   TEXT NOT NULL CHECK (json_valid(failures)),
  reason     TEXT,
  changes    INTEGER NOT NULL,
  added_at   INTEGER NOT NULL,
  listed_at  INTEGER
) STRICT;

CREATE TABLE plugin_tool (
  server_id INTEGER NOT NULL REFERENCES plugin (server_id) ON DELETE CASCADE,
  name      TEXT NOT NULL,
  listed    TEXT CHECK (json_valid(listed)),
  accepted  TEXT CHECK (json_valid(accepted)),
  PRIMARY KEY (server_id, name)
) STRICT;

CREATE TABLE workflow_fixture (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       BLOB NOT NULL CHECK (length(item) = 16),
  name       TEXT NOT NULL,
  content    TEXT NOT NULL CHECK (json_valid(content)),
  set_at     INTEGER NOT NULL,
  PRIMARY KEY (project_id, item, name)
) STRICT;

CREATE TABLE workflow_exposed (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       BLOB NOT NULL CHECK (length(item) = 16),
  model_hash BLOB NOT NULL CHECK (length(model_hash) = 32),
  effect     TEXT NOT NULL CHECK (effect IN ('read', 'write', 'destroy')),
  open_world INTEGER NOT NULL CHECK (open_world IN (0, 1)),
  exposed_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, item)
) STRICT;

CREATE TABLE workflow_template (
  project_id  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  title       TEXT,
  description TEXT,
  blob_id     INTEGER NOT NULL REFERENCES blob (id),
  set_at      INTEGER NOT NULL,
  PRIMARY KEY (project_id, name)
) STRICT;

CREATE INDEX workflow_template_blob ON workflow_template (blob_id);

CREATE INDEX link_blob ON link (blob_id);

CREATE TABLE access_rule (
  id         INTEGER PRIMARY KEY,
  claim      TEXT NOT NULL,
  reach      TEXT NOT NULL,
  read_only  INTEGER NOT NULL CHECK (read_only IN (0, 1)),
  publish    TEXT CHECK (publish IS NULL OR json_valid(publish)),
  attest     INTEGER NOT NULL CHECK (attest IN (0, 1)),
  execute    INTEGER NOT NULL CHECK (execute IN (0, 1)),
  created_at INTEGER NOT NULL,
  removed_at INTEGER,
  UNIQUE (claim, reach)
) STRICT;

INSERT INTO setting (key, value) VALUES ('generation', lower(hex(randomblob(16))));

INSERT INTO refinery_schema_history (version, name, applied_on, checksum) VALUES
  (1, 'content', '1970-01-01T00:00:00Z', '15986290593429925780'),
  (2, 'deploy', '1970-01-01T00:00:00Z', '4924071051296506581'),
  (3, 'access', '1970-01-01T00:00:00Z', '2043156337681489986'),
  (4, 'checksums', '1970-01-01T00:00:00Z', '9037719135552986979'),
  (5, 'dialect', '1970-01-01T00:00:00Z', '4988158009745054816'),
  (6, 'consent_and_checksums', '1970-01-01T00:00:00Z', '13661078518451200199'),
  (7, 'tasks', '1970-01-01T00:00:00Z', '15766144818281928587'),
  (8, 'applies', '1970-01-01T00:00:00Z', '12377416362610605668'),
  (9, 'sources_sync_servers', '1970-01-01T00:00:00Z', '11017375034117449857'),
  (10, 'tools', '1970-01-01T00:00:00Z', '8511830167823589140'),
  (11, 'tool_keys_builds_aliases', '1970-01-01T00:00:00Z', '6957039750997351582'),
  (12, 'workspace', '1970-01-01T00:00:00Z', '12371389007322979632'),
  (13, 'catalogs', '1970-01-01T00:00:00Z', '13631712899370900696'),
  (14, 'workflows', '1970-01-01T00:00:00Z', '12910152958088615330'),
  (15, 'runs', '1970-01-01T00:00:00Z', '5745682160715873086'),
  (16, 'plugins', '1970-01-01T00:00:00Z', '7736047396897974831'),
  (17, 'phase_two', '1970-01-01T00:00:00Z', '3403178789636071187'),
  (18, 'spaceless', '1970-01-01T00:00:00Z', '9810688307897050198'),
  (19, 'forms', '1970-01-01T00:00:00Z', '18357538553764001793'),
  (20, 'undo', '1970-01-01T00:00:00Z', '8869107855909563556'),
  (21, 'notes', '1970-01-01T00:00:00Z', '13099380780606615843'),
  (22, 'sources', '1970-01-01T00:00:00Z', '6334356925954714236'),
  (23, 'rules', '1970-01-01T00:00:00Z', '12252533535291266354');

PRAGMA user_version = 23;
