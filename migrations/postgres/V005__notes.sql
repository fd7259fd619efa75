-- What a person says to the agent with a decision, and what a request does: reads, writes or destroys (NULL: asked before V005).
ALTER TABLE consent ADD COLUMN note TEXT;
ALTER TABLE consent ADD COLUMN effect TEXT CHECK (effect IN ('reads', 'writes', 'destroys'));
ALTER TABLE workflow_draft ADD COLUMN note TEXT;
ALTER TABLE proposal ADD COLUMN note TEXT;
