-- Checksums of what reads serve, so that a damaged row is reported; and no triggers: a file that holds one is not ours.

-- Rows that are deleted are taken out of the index by the statements that delete them.
DROP TRIGGER prompt_unindexed;
DROP TRIGGER resource_unindexed;

-- listed_sum is over what lists show; row_sum over listed_sum, the other columns, and the SHA-256 of the content.
-- checksum() is a function of mcpkg (src/store/sums.rs), registered on the connection that migrates.
ALTER TABLE prompt ADD COLUMN listed_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prompt ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resource ADD COLUMN listed_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resource ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revision ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0;

UPDATE prompt SET listed_sum = checksum(project_id, name, description, arguments);
UPDATE prompt SET row_sum = checksum(listed_sum, uuid, template, (SELECT sha256 FROM blob WHERE id = blob_id),
                                     front_matter, file, revision, created_at, updated_at);

UPDATE resource SET listed_sum = checksum(project_id, name, uri, description, mime_type);
UPDATE resource SET row_sum = checksum(listed_sum, uuid, text, (SELECT sha256 FROM blob WHERE id = blob_id),
                                       executable, revision, created_at, updated_at);

UPDATE revision SET row_sum = checksum(project_id, kind, item, number, action, restored, name, attributes,
                                       (SELECT sha256 FROM blob WHERE id = blob_id), actor, at);

-- What a file on disk was besides its bytes and its mode, as JSON (src/disk/attributes.rs), so that a rollback brings it
-- back: of the file that stood there before the change, and of the one that stood there before mcpkg came.
ALTER TABLE snapshot_file ADD COLUMN before_attributes TEXT;
ALTER TABLE deployed ADD COLUMN pristine_attributes TEXT;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 4;
