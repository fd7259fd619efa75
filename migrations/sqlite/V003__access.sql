-- Access keys: what a client of an HTTP server shows. Only the SHA-256 of a key's secret is here.
-- project_uuid is the project that the key is for, or NULL for all of them; a project's id and no reference to its row,
-- so that a project that was deleted neither widens its keys nor takes them away. Revoked keys stay: once there was a
-- key, a server goes on asking for one.
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
) STRICT;
