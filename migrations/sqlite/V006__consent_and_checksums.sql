-- What waits for a yes: plans that their caller confirms with a token, and requests that a person consents to.
-- Confirm tokens that were given before are dropped: they live for ten minutes.
DROP TABLE confirm_token;

-- needs is token where the caller itself confirms, person where nobody but a person can. asker is whose it is: user, or
-- key:<name of the access key>. sha256 is of the token; the token itself is not here. plan_hash is the SHA-256 of what
-- was shown, effects a JSON array of lines that say what it does. A row never acts by itself: approved counts only where
-- this user's records outside of the database say the same (src/approved.rs).
CREATE TABLE consent (
  id          INTEGER PRIMARY KEY,
  uuid        BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  needs       TEXT NOT NULL CHECK (needs IN ('token', 'person')),
  sha256      BLOB UNIQUE CHECK (length(sha256) = 32),
  operation   TEXT NOT NULL,
  asker       TEXT NOT NULL,
  caller      TEXT NOT NULL,                 -- as the trail names it
  project     TEXT NOT NULL,                 -- its name when it was asked; empty where none applied
  inputs      TEXT NOT NULL CHECK (json_valid(inputs)),
  plan_hash   TEXT NOT NULL,
  summary     TEXT NOT NULL,
  effects     TEXT NOT NULL CHECK (json_valid(effects)),
  state       TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'consumed')),
  asked_at    INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  decided_at  INTEGER,
  consumed_at INTEGER,
  CHECK ((needs = 'token') = (sha256 IS NOT NULL)),
  CHECK (needs = 'person' OR state IN ('pending', 'consumed'))
) STRICT;

CREATE INDEX consent_asker ON consent (asker, needs, id);
CREATE INDEX consent_expires ON consent (expires_at);

-- Whether answers of a key's clients to an elicitation count as the user's consent.
ALTER TABLE access_key ADD COLUMN consent INTEGER NOT NULL DEFAULT 0 CHECK (consent IN (0, 1));

-- The checksum by which a read tells whether content is what was stored: XXH3 of all its bytes, which costs a tenth of their
-- SHA-256. The SHA-256 stays what content is found by. Content without a checksum is verified by its SHA-256; mcpkg fills in
-- what is there already once the schema is up to date (src/store/blobs.rs).
ALTER TABLE blob ADD COLUMN checksum INTEGER;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 6;
