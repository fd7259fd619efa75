-- The search index has runs of letters of scripts that are written without spaces (Chinese, Japanese, Korean, Thai and their like) as
-- pairs of letters. The tables are as they were: what holds such letters is indexed anew by the program, before this.
PRAGMA user_version = 18;
