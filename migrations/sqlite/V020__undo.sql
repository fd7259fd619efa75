-- What an undo needs of an event: session is the connection of a client, or the shell command, that it came from. changes is a JSON
-- array of [kind, item, state before, state after]; a state is a word or a revision's number, and empty if the item did not exist.
ALTER TABLE event ADD COLUMN session TEXT;
ALTER TABLE event ADD COLUMN changes TEXT;

PRAGMA user_version = 20;
