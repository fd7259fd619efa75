-- Replaced by the migration that comes before V021.
PRAGMA user_version = 20;
