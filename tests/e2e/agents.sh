#!/usr/bin/env bash
# What agents themselves make of mcpkg, offline, with a stub model: `tests/e2e/agents.sh [claude|codex|copilot|gemini|
# opencode]...`, all by default. Commands of Claude Code and OpenCode are held against what mcpkg renders; of each agent it
# is seen what its model is offered and given of tools, texts and images, and of what a deploy writes for it. A line for each check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

need_node
need_mcpkg

# agent FOLDER PACKAGE@VERSION FILE: sets `agent` to the program of a package that has one for each system.
agent() {
    npm_packages "$1" "$2"
    agent=$(find "$outside/$1/node_modules" -type f -path "$3" | head -n 1)
    [ -n "$agent" ] || skip "$2 has no program for this machine"
}

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
export E2E_BINARY="$mcpkg" E2E_SCRATCH="$scratch" E2E_TRANSPORT=agents E2E_RECORD="$scratch/record"
results="$scratch/results"
: >"$results"

start_server "$scratch/model.log" node tests/e2e/stub_model.mjs "$E2E_RECORD"
export E2E_MODEL="$address"

[ $# -gt 0 ] || set -- claude codex copilot gemini opencode
for name in "$@"; do
    scripts="agents_tools.mjs agents_forms.mjs"
    case $name in
    claude)
        agent claude-code @anthropic-ai/claude-code@2.1.330 '*/claude-code-*/claude'
        scripts="agents.mjs $scripts"
        ;;
    codex) agent codex @openai/codex@0.169.0 '*/codex-*/bin/codex' ;;
    copilot) agent copilot @github/copilot@1.0.102 '*/copilot-*/copilot' ;;
    gemini) agent gemini @google/gemini-cli@0.61.0 '*/gemini-cli/bundle/gemini.js' ;;
    opencode)
        agent opencode opencode-ai@1.18.33 '*/opencode-*/bin/opencode'
        scripts="agents.mjs $scripts"
        ;;
    *)
        echo "there is no agent $name"
        exit 2
        ;;
    esac
    for script in $scripts; do
        E2E_AGENT="$agent" node "tests/e2e/$script" "$name" | tee -a "$results"
    done
done

passed=$(grep -c '^ok ' "$results" || true)
failed=$(grep -c '^FAILED ' "$results" || true)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
