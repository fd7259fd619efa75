-- A source may have a marketplace, which lists plugins. The column holds the names it listed when the source was last read, as JSON;
-- NULL: it has none, or was last read before. What a source takes is in its choice ("takes"); without it, all files.
ALTER TABLE source ADD COLUMN plugins TEXT CHECK (plugins IS NULL OR plugins::json IS NOT NULL);
