-- What access keys may write to the registry that a server offers, what builds of tools left, and short names of tools.

-- The namespaces that a key may publish to, as a JSON list of texts; NULL: none. attest: it may post attestations.
ALTER TABLE access_key ADD COLUMN publish TEXT CHECK (publish IS NULL OR json_valid(publish));
ALTER TABLE access_key ADD COLUMN attest INTEGER NOT NULL DEFAULT 0 CHECK (attest IN (0, 1));

-- What the build of an archive left: an archive again, of which the tree that runs is a checked copy. sha256 is of its bytes;
-- runner says where it was built (bubblewrap, or an image by its id), since another one may leave something else.
CREATE TABLE tool_build (
  package_sha256 BLOB NOT NULL CHECK (length(package_sha256) = 32),
  runner         TEXT NOT NULL,
  sha256         BLOB NOT NULL CHECK (length(sha256) = 32),
  blob_id        INTEGER NOT NULL REFERENCES blob (id),
  built_at       INTEGER NOT NULL,
  PRIMARY KEY (package_sha256, runner)
) STRICT;

CREATE INDEX tool_build_blob ON tool_build (blob_id);

-- Short names that a shell takes in the place of a tool's.
CREATE TABLE tool_alias (
  alias TEXT PRIMARY KEY,
  tool  TEXT NOT NULL
) STRICT;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 11;
