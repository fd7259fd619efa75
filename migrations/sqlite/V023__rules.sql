-- Access rules: what people and programs may do who sign in with a token of the server's issuer. claim is NAME=VALUE. reach is `all`,
-- or `project:` and the project's id: no reference to its row, as with keys. publish is a JSON list of namespaces; NULL: none.
-- Removed rules stay, so that a restore does not bring them back.
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

PRAGMA user_version = 23;
