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

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 9;
