-- A file of an imported tree that says in other bytes what the file at `target` says, such as the form of another agent: blob_id is
-- what stood there. Of links and of copies it is NULL (docs/adr/0043-links-and-copies.md).
ALTER TABLE link ADD COLUMN blob_id BIGINT REFERENCES blob (id) DEFERRABLE;
ALTER TABLE link ADD COLUMN executable BIGINT NOT NULL DEFAULT 0 CHECK (executable IN (0, 1));

CREATE INDEX link_blob ON link (blob_id);
