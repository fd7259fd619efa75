-- Contract 000: what is deployed where, how to take it back, and the tokens that confirm a plan.

-- The file a prompt was imported from, as far as MCP has no place for it, so that a deploy or an export gives the same
-- bytes back. front_matter is all that stood before the text, the two lines of --- too; NULL where what mcpkg writes by
-- itself says the same. file is the path below the folder of commands, where that is not NAME.md.
ALTER TABLE prompt ADD COLUMN front_matter TEXT;
ALTER TABLE prompt ADD COLUMN file TEXT;

-- What a project says about one of its modules; a module without a row is as its prompt or resources make it.
-- item is prompt:<uuid>, resource:<uuid>, or skill:<name>.
CREATE TABLE module (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       TEXT NOT NULL,
  type       TEXT CHECK (type IN ('instructions', 'skill', 'prompt', 'command')),
  tags       TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  targets    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(targets)),  -- empty: every target
  enabled    INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  PRIMARY KEY (project_id, item)
) STRICT;

-- Where a source is deployed: snapshots, deployed files and tokens hang on it. It outlives a deleted project, so that
-- nothing that was overwritten is lost. source is project:<uuid> or repo:<project identity>; origin is the folder of
-- the config repo, or empty.
CREATE TABLE place (
  id      INTEGER PRIMARY KEY,
  source  TEXT NOT NULL,
  origin  TEXT NOT NULL,
  machine TEXT NOT NULL,
  root    TEXT NOT NULL,
  UNIQUE (source, origin, machine, root)
) STRICT;

-- A stored deploy, rollback or restore. Where finished_at is NULL and no process is at it, whoever comes next finishes it:
-- one that says applying is undone. targets is what it was asked for.
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

-- One file of a snapshot, before and after. An image is a blob with a mode, a link with its text, or nothing.
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
  after_link  TEXT,
  PRIMARY KEY (snapshot_id, seq)
) STRICT;

CREATE INDEX snapshot_file_path ON snapshot_file (place_id, path, snapshot_id);
CREATE INDEX snapshot_file_before ON snapshot_file (before_blob);
CREATE INDEX snapshot_file_after ON snapshot_file (after_blob);

-- The folders that a snapshot made, so that an undo can take them away while they are empty.
CREATE TABLE snapshot_folder (
  snapshot_id INTEGER NOT NULL REFERENCES snapshot (id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  PRIMARY KEY (snapshot_id, path)
) STRICT;

-- What mcpkg keeps on disk now: one owner for each path of a machine. applied_* is what it last left there (no blob
-- and no link: it deleted the file), pristine_* what stood there before it first came. written is 0 while the file only
-- happened to be equal. size, mtime, ctime and inode are of the file when it was applied, where they tell a change.
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
  inode         INTEGER,
  PRIMARY KEY (machine, path)
) STRICT;

CREATE INDEX deployed_place ON deployed (place_id, path);
CREATE INDEX deployed_applied ON deployed (applied_blob);
CREATE INDEX deployed_pristine ON deployed (pristine_blob);

-- Proof that a plan was shown. Only the token's SHA-256 is here; plan_hash is the SHA-256 of what was shown.
CREATE TABLE confirm_token (
  sha256      BLOB PRIMARY KEY CHECK (length(sha256) = 32),
  inputs      TEXT NOT NULL,
  plan_hash   TEXT NOT NULL,
  issued_at   INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  consumed_at INTEGER
) STRICT;

-- A change that a user made to a deployed file, offered to the project it came from. item is prompt:<uuid> or
-- resource:<uuid>; path is the file it was made in.
CREATE TABLE proposal (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       TEXT NOT NULL,
  module_id  TEXT NOT NULL,
  path       TEXT NOT NULL,
  base_blob  INTEGER NOT NULL REFERENCES blob (id),
  blob_id    INTEGER NOT NULL REFERENCES blob (id),
  state      TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'rejected')),
  actor      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER
) STRICT;

CREATE INDEX proposal_open ON proposal (project_id, item) WHERE state = 'open';
