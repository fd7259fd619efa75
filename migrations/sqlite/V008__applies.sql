-- Where a project's item came from, and when its instructions apply (contract 000 knows neither; docs/adr/0015-import.md).

-- When an agent loads the instructions by itself: "always", {"globs": [...]}, "described" (where the agent finds the
-- description fitting) or "manual" (where the user names them). NULL: always.
ALTER TABLE module ADD COLUMN applies TEXT CHECK (applies IS NULL OR json_valid(applies));
-- The agent whose form the file had, such as cursor; NULL where no agent's folder held it.
ALTER TABLE module ADD COLUMN agent TEXT;
-- The path that the file had below what was imported, '/' between; NULL for what was not imported.
ALTER TABLE module ADD COLUMN path TEXT;

-- In the transaction that migrates, so that the two never differ.
PRAGMA user_version = 8;
