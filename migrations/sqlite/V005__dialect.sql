-- Whose placeholders a rendered prompt has: those of the agent it was imported from, else Jinja's.
ALTER TABLE prompt ADD COLUMN dialect TEXT CHECK (dialect IN ('claude', 'opencode'));

-- row_sum is over it too; that of a row which was damaged before stays wrong.
UPDATE prompt SET row_sum = checksum(listed_sum, uuid, template, (SELECT sha256 FROM blob WHERE id = blob_id),
                                     front_matter, file, revision, created_at, updated_at, dialect)
 WHERE row_sum = checksum(listed_sum, uuid, template, (SELECT sha256 FROM blob WHERE id = blob_id),
                          front_matter, file, revision, created_at, updated_at);

-- The name of the skill that a prompt stands for: lower case, single hyphens between, 64 characters at most. Whoever asks
-- for a skill finds its prompt by this index; the query writes the expression in the same words.
CREATE INDEX prompt_skill ON prompt (project_id, coalesce(nullif(rtrim(substr(ltrim(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(lower(name),'.','-'),'_','-'),'--','-'),'--','-'),'--','-'),'--','-'),'--','-'),'--','-'),'--','-'),'--','-'),'-'),1,64),'-'),''),'command'));

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 5;
