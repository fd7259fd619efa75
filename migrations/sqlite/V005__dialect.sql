-- Whose placeholders a rendered prompt has: those of the agent it was imported from, else Jinja's.
ALTER TABLE prompt ADD COLUMN dialect TEXT CHECK (dialect IN ('claude', 'opencode'));
