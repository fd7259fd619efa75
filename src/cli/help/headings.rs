//! Lists the commands under the headings of `mcpkg help`.

/// Each heading with its commands, in display order. A test compares the list with the command line.
pub const HEADINGS: [(&str, &[&str]); 8] = [
    ("Start", &["up", "demo", "console", "init", "help", "version", "completions", "man"]),
    ("Content", &["project", "prompt", "resource", "skill", "mcp", "agent-file", "search", "audit", "finding"]),
    (
        "Agents: deploy, clients",
        &[
            "plan", "diff", "preview", "deploy", "status", "rollback", "explain", "doctor", "module", "target",
            "snapshot", "evolve", "client",
        ],
    ),
    ("Share: import, export, sync, source", &["import", "export", "sync", "source"]),
    ("Tools", &["tool", "registry", "toolset"]),
    ("Workspaces", &["workspace", "worktree", "flow", "spec", "build", "builds", "gate"]),
    (
        "Workflows",
        &["ask", "command", "catalog", "plugin", "workflow", "template", "draft", "consent", "approval", "inbox"],
    ),
    (
        "Server and database",
        &[
            "serve", "access", "passkey", "limit", "backup", "restore", "move", "check", "compact", "events", "undo",
            "prune",
        ],
    ),
];
