-- Contract 004: plugins, which are MCP servers of projects that mcpkg runs itself. Their tools are commands.

-- What running a server needs. providers are tools that a person said are lists, as JSON; era is how the server was greeted the
-- last time. failures are the times of those of the last hour, as JSON, and reason says what the last one was. changes counts
-- what the index of commands has to hear of.
CREATE TABLE plugin (
  server_id  INTEGER PRIMARY KEY REFERENCES mcp_server (id) ON DELETE CASCADE,
  trusted    INTEGER NOT NULL CHECK (trusted IN (0, 1)), -- whether its word counts for what its tools do
  private    INTEGER NOT NULL CHECK (private IN (0, 1)), -- whether addresses that are not public are asked
  timeout_ms INTEGER NOT NULL,
  idle_ms    INTEGER NOT NULL,
  providers  TEXT NOT NULL CHECK (json_valid(providers)),
  era        TEXT CHECK (era IN ('handshake', 'discover')),
  failures   TEXT NOT NULL CHECK (json_valid(failures)),
  reason     TEXT,
  changes    INTEGER NOT NULL,
  added_at   INTEGER NOT NULL,
  listed_at  INTEGER
) STRICT;

-- A tool of a plugin: as the server listed it last (NULL where it no longer does), and as a person looked at it last (NULL where
-- nobody did). Where the two differ the tool has changed.
CREATE TABLE plugin_tool (
  server_id INTEGER NOT NULL REFERENCES plugin (server_id) ON DELETE CASCADE,
  name      TEXT NOT NULL,
  listed    TEXT CHECK (json_valid(listed)),
  accepted  TEXT CHECK (json_valid(accepted)),
  PRIMARY KEY (server_id, name)
) STRICT;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 16;
