-- Contract 003: workspaces of several git repositories, what flows did to them, their builds, and the models of their gates.

-- A workspace as this database knows it: where it lies on which machine. Its manifest, in its folder, says what it holds.
CREATE TABLE workspace (
  id       INTEGER PRIMARY KEY,
  uuid     BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  machine  TEXT NOT NULL,
  root     TEXT NOT NULL,                    -- the folder's real path
  name     TEXT NOT NULL,
  added_at INTEGER NOT NULL,
  UNIQUE (machine, root)
) STRICT;

-- A change over several repositories, all or none. applying: its steps are being done, a crash undoes them; landed: a crash
-- completes them; done; undone: everything is as before; kept: undone, but for what somebody moved meanwhile.
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

-- What a run does, in order. step is the whole of it as JSON: the repository, what it moves, from what to what. tidies: done
-- after the run has landed, forwards only.
CREATE TABLE flow_step (
  run_id INTEGER NOT NULL REFERENCES flow_run (id) ON DELETE CASCADE,
  seq    INTEGER NOT NULL,
  repo   TEXT NOT NULL,
  tidies INTEGER NOT NULL CHECK (tidies IN (0, 1)),
  step   TEXT NOT NULL CHECK (json_valid(step)),
  PRIMARY KEY (run_id, seq)
) STRICT;

-- What of a run was pushed, and is never moved back from then on. new_id is NULL where the branch was deleted there.
CREATE TABLE flow_push (
  run_id    INTEGER NOT NULL REFERENCES flow_run (id) ON DELETE CASCADE,
  repo      TEXT NOT NULL,
  ref_name  TEXT NOT NULL,
  new_id    TEXT,
  pushed_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, repo, ref_name)
) STRICT;

-- A build. options is what was asked for, as JSON.
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

-- A command of a build: its outcome, and the first and last of its output. exit_code is NULL where it was skipped or ended by
-- a signal.
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

-- A model that the gate of a workspace holds. header is what its file says of itself, as JSON.
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

-- An endpoint that stands for a model.
CREATE TABLE gate_route (
  workspace_id INTEGER NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  endpoint     TEXT NOT NULL,
  model_id     INTEGER NOT NULL REFERENCES gate_model (id) ON DELETE CASCADE,
  active       INTEGER NOT NULL CHECK (active IN (0, 1)),
  PRIMARY KEY (workspace_id, endpoint)
) STRICT;

CREATE INDEX gate_route_model ON gate_route (model_id);

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 12;
