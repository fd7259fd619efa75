-- Long tool calls that were answered at once (the tasks extension of MCP): what became of each, for its asker alone.
-- asker is an access key or this user; runner is the server process that works on it, which holds a lock of that name
-- while it lives. outcome is JSON: the result of a task that completed, the error of one that failed.
-- A row goes when its time is over, working rows never before they ended; an asker has so many at most.
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

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 7;
