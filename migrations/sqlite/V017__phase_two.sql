-- Contract 004, phase II: tests of workflows, workflows that are tools, and templates that workflows are made from.

-- What is known before a run of a workflow, and what its plan has to show then, as JSON. Like its revisions it outlives the
-- workflow: one that is restored has its fixtures again.
CREATE TABLE workflow_fixture (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       BLOB NOT NULL CHECK (length(item) = 16),
  name       TEXT NOT NULL,
  content    TEXT NOT NULL CHECK (json_valid(content)),
  set_at     INTEGER NOT NULL,
  PRIMARY KEY (project_id, item, name)
) STRICT;

-- A workflow that agents have as a tool. effect and open_world are what a person was shown; they are of the text whose
-- model_hash stands here, and hold for no other.
CREATE TABLE workflow_exposed (
  project_id INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  item       BLOB NOT NULL CHECK (length(item) = 16),
  model_hash BLOB NOT NULL CHECK (length(model_hash) = 32),
  effect     TEXT NOT NULL CHECK (effect IN ('read', 'write', 'destroy')),
  open_world INTEGER NOT NULL CHECK (open_world IN (0, 1)),
  exposed_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, item)
) STRICT;

-- A template of a project's own. title and description are the text's own, for lists.
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

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 17;
