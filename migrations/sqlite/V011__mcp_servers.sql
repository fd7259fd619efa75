-- MCP servers that a project gives to agents, and files that are kept for one agent alone (docs/adr/0020-servers-and-hooks.md).

-- command, cwd and url are a text, args a list of texts, env and headers lists of a name and a text. A text is a JSON array
-- of parts: a string as it stands, {"env": NAME, "default": TEXT}, {"input": ID} or {"file": PATH}. What env and headers
-- hold stands elsewhere, and its place here: a row holds no secret. inputs are VS Code's, by which its user is asked; extra
-- are the keys that the agent alone knows from whose file it came, in their order. path is that file and entry the name in
-- it, NULL where that is the server's name. A server that is not enabled is neither deployed nor run.
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

-- A hook, permissions, an ignore file, the manifest of a plugin, settings, or the file of MCP servers with references in
-- the place of its values: kept to the byte for the agent that reads it, and never for another.
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

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 11;
