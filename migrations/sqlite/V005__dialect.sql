-- Whose placeholders a rendered prompt has: those of the agent it was imported from, else Jinja's.
ALTER TABLE prompt ADD COLUMN dialect TEXT CHECK (dialect IN ('claude', 'opencode'));

-- row_sum is over it too; that of a row which was damaged before stays wrong.
UPDATE prompt SET row_sum = checksum(listed_sum, uuid, template, (SELECT sha256 FROM blob WHERE id = blob_id),
                                     front_matter, file, revision, created_at, updated_at, dialect)
 WHERE row_sum = checksum(listed_sum, uuid, template, (SELECT sha256 FROM blob WHERE id = blob_id),
                          front_matter, file, revision, created_at, updated_at);

-- The name of the skill that a prompt stands for (src/store/skills.rs), by which whoever asks for a skill finds it.
-- skill_name() is a function of mcpkg, registered on the connection that migrates.
ALTER TABLE prompt ADD COLUMN skill TEXT NOT NULL DEFAULT '';
UPDATE prompt SET skill = skill_name(name);
CREATE INDEX prompt_skill ON prompt (project_id, skill, name);

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 5;
