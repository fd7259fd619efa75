#!/usr/bin/env bash
# What Claude Code and OpenCode themselves make of commands, offline, with a stub model: `tests/e2e/agents.sh
# [claude|opencode]...`, both by default. A line for each check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

need_node
need_mcpkg

# agent PACKAGE VERSION FILE: sets `agent` to the program of a package that has one for each system.
agent() {
    npm_packages "$1" "$2"
    agent=$(find "$outside/$1/node_modules" -type f -path "$3" -perm -u+x | head -n 1)
    [ -n "$agent" ] || skip "$2 has no program for this machine"
}

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
export E2E_BINARY="$mcpkg" E2E_SCRATCH="$scratch" E2E_TRANSPORT=commands E2E_RECORD="$scratch/record"
results="$scratch/results"
: >"$results"

start_server "$scratch/model.log" node tests/e2e/stub_model.mjs "$E2E_RECORD"
export E2E_MODEL="$address"

[ $# -gt 0 ] || set -- claude opencode
for name in "$@"; do
    case $name in
    claude) agent claude-code @anthropic-ai/claude-code@2.1.330 '*/claude-code-*/claude' ;;
    opencode) agent opencode opencode-ai@1.18.33 '*/opencode-*/bin/opencode' ;;
    *)
        echo "there is no agent $name"
        exit 2
        ;;
    esac
    E2E_AGENT="$agent" node tests/e2e/agents.mjs "$name" | tee -a "$results"
done

passed=$(grep -c '^ok ' "$results" || true)
failed=$(grep -c '^FAILED ' "$results" || true)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
