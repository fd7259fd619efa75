-- The checksum by which a read tells whether content is what was stored: XXH3 of all its bytes, which costs a tenth of their
-- SHA-256. The SHA-256 stays what content is found by. Content without a checksum is verified by its SHA-256; mcpkg fills in
-- what is there already once the schema is up to date (src/store/blobs.rs).
ALTER TABLE blob ADD COLUMN checksum INTEGER;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 6;
