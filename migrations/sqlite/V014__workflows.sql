-- Contract 004: workflows that a project keeps, what agents propose for them, and what the project allows them.

-- A workflow. Its text stands in blob as it was brought; title and description are the text's own, for lists. model_hash is
-- the SHA-256 of what the text says, whatever its layout and its comments.
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

-- Every state a workflow was in. They outlive the workflow: a deleted one can be restored. By id they are in the order in
-- which they were written, whatever the clock said. draft: the draft that a person approved.
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

-- What somebody proposes for a workflow: a new one where base_item is NULL. The base is what it was made from; its text is
-- kept for as long as the draft is. findings and plan are what was found when it was proposed or last edited, as JSON.
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
) STRICT;

CREATE INDEX workflow_draft_project ON workflow_draft (project_id, uuid);
CREATE INDEX workflow_draft_blob ON workflow_draft (blob_id);
CREATE INDEX workflow_draft_base ON workflow_draft (base_blob);

-- What a project allows its workflows. policy: whether they are run at all; env: the values that they may read.
CREATE TABLE workflow_setting (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  kind       TEXT NOT NULL CHECK (kind IN ('policy', 'env')),
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  set_at     INTEGER NOT NULL,
  PRIMARY KEY (project_id, kind, name)
) STRICT;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 14;
