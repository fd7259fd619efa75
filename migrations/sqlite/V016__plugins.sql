PRAGMA user_version = 16;
