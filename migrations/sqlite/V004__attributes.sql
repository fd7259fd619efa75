-- What a file was besides its bytes and its mode, as JSON (src/disk/attributes.rs), so that a rollback brings it back:
-- of the file that stood there before the change, and of the one that stood there before mcpkg came.
ALTER TABLE snapshot_file ADD COLUMN before_attributes TEXT;
ALTER TABLE deployed ADD COLUMN pristine_attributes TEXT;
