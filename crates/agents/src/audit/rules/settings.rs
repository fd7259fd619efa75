//! Rules for permissions and hooks.

use super::rule::{
    Pattern,
    Reads::{Prose, Settings},
    Rule,
    Severity::{Critical, Note, Warning},
};

pub static PERMISSIONS_OFF: Rule = Rule {
    id: "permissions-off",
    severity: Critical,
    what: "settings that turn off an agent's questions",
    why: "The agent then runs every command and changes every file without asking.",
    reads: Settings,
    patterns: &[
        Pattern(&["bypasspermissions"], r#""defaultMode"\s*:\s*"bypassPermissions""#),
        Pattern(&["skipdangerous"], r#""skipDangerousModePermissionPrompt"\s*:\s*true"#),
        Pattern(&["chat.tools"], r#""chat\.tools\.(?:global\.)?autoApprove"\s*:\s*true"#),
        Pattern(&["danger-full-access"], r#"\bsandbox_mode\s*=\s*"danger-full-access""#),
        Pattern(&["--dangerously"], r"--dangerously-(?:skip-permissions|bypass-approvals-and-sandbox)\b"),
        Pattern(&["yolo"], r#""(?:yolo|yoloMode)"\s*:\s*true"#),
    ],
    example: (".claude/settings.json", r#"{ "permissions": { "defaultMode": "bypassPermissions" } }"#),
    near: (".claude/settings.json", r#"{ "permissions": { "defaultMode": "acceptEdits" } }"#),
};

pub static PERMISSIONS_WIDE: Rule = Rule {
    id: "wide-permissions",
    severity: Warning,
    what: "settings that let an agent run anything of a kind",
    why: "The agent does not ask before it runs such a command or tool.",
    reads: Settings,
    patterns: &[
        Pattern(
            &["bash", "*"],
            // `Shell` is Cursor's word.
            r#""allow"\s*:\s*\[[^\]]*?("(?:Bash|(?:Bash|Shell)\((?:\*|:\*|\*:\*)\)|\*|mcp__\*)")"#,
        ),
        Pattern(&["autoapprove", "alwaysallow"], r#""(?:autoApprove|alwaysAllow)"\s*:\s*(?:true|\[\s*")"#),
        Pattern(&["enableall"], r#""enableAllProjectMcpServers"\s*:\s*true"#),
        Pattern(&["trust"], r#""trust"\s*:\s*true"#),
        Pattern(&["permission"], r#""permission"\s*:\s*"allow""#),
        Pattern(&["allow"], r#""(?:bash|\*)"\s*:\s*"allow""#),
        Pattern(&["approval_policy"], r#"\bapproval_policy\s*=\s*"never""#),
        Pattern(&["--allow-all"], r"--allow-all(?:-tools|-paths)?\b"),
    ],
    example: (".claude/settings.json", r#"{ "permissions": { "allow": ["Read", "Bash(*)"] } }"#),
    near: (".claude/settings.json", r#"{ "permissions": { "allow": ["Bash(npm test:*)"], "deny": ["Bash"] } }"#),
};

pub static HOOK: Rule = Rule {
    id: "hooks",
    severity: Note,
    what: "programs that an agent starts by itself",
    why: "A hook runs without a question whenever its event occurs.",
    reads: Settings,
    patterns: &[],
    example: (
        "hooks/hooks.json",
        r#"{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] } }"#,
    ),
    near: (".claude/settings.json", r#"{ "hooks": {} }"#),
};

pub static ALLOWED_BASH: Rule = Rule {
    id: "allowed-bash",
    severity: Note,
    what: "commands and skills that may run any shell command",
    why: "Claude Code does not ask before a shell command while such a command or skill is active.",
    reads: Prose,
    patterns: &[],
    example: (".claude/commands/a.md", "---\nallowed-tools: Read, Bash, Edit\n---\nFix it.\n"),
    near: (".claude/commands/a.md", "---\nallowed-tools: Read, Bash(git status:*)\n---\nFix it.\n"),
};
