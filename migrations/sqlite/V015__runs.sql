-- Contract 004: runs of commands and of workflows, their steps, and each attempt at a step, which is here before its request
-- leaves. No secret stands in any of the rows.

-- A run. blob_id is what was planned, as JSON; a resume compares it with what a plan would be now. inputs has secrets as
-- references. state is as its holder left it: one that goes on without a holder was interrupted. wanted is what somebody asked
-- of it meanwhile. output_blob is its final output.
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

-- A step of a run, in the order in which they run. rounds is how often its command was tried by repeat; until deadline_at it is
-- tried again, at next_at the next time. blob_id is its output; secrets are the JSON pointers of what was left out of it.
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

-- An attempt at a step: what was sent where, with its arguments redacted, and what came of it. ended_at is NULL while it is
-- under way, and where its process was killed: what became of it is not known then. outcome is ok or the code of the failure.
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

-- Whether a key's clients may run commands, where a person consents.
ALTER TABLE access_key ADD COLUMN execute INTEGER NOT NULL DEFAULT 0 CHECK (execute IN (0, 1));

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 15;
