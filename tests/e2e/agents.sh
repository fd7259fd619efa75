#!/usr/bin/env bash
# What agents themselves make of mcpkg, offline, with a stub model: `tests/e2e/agents.sh [claude|codex|copilot|gemini|
# opencode]...`, all by default. Commands of Claude Code and OpenCode are held against what mcpkg renders; of each agent it
# is seen what its model is offered and given of tools, texts and images, and of what a deploy writes for it; each deploys 39
# files, and the bytes that reach its model are a table. A line for each check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

need_node
need_mcpkg

# agent NAME: sets `agent` to the program of that agent, which agents.txt names.
agent() {
    local folder package file
    read -r folder package file < <(sed -n "s/^$1 //p" tests/e2e/agents.txt) || { echo "there is no agent $1" && exit 2; }
    npm_packages "$folder" "$package"
    agent=$(find "$outside/$folder/node_modules" -type f -path "$file" | head -n 1)
    [ -n "$agent" ] || skip "$package has no program for this machine"
}

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
export E2E_BINARY="$mcpkg" E2E_SCRATCH="$scratch" E2E_TRANSPORT=agents E2E_RECORD="$scratch/record"
results="$scratch/results"
: >"$results"
export E2E_TABLE="$scratch/table"
echo $'AGENT\tTOOLS\tBYTES\tTOOLS IN A WORKSPACE\tBYTES\tDEPLOY\tTOKEN ENDS AT\tAPPLY\tDIFF' >"$E2E_TABLE"

start_server "$scratch/model.log" node tests/e2e/stub_model.mjs "$E2E_RECORD"
export E2E_MODEL="$address"

[ $# -gt 0 ] || set -- claude codex copilot gemini opencode
for name in "$@"; do
    agent "$name"
    scripts="agents_tools.mjs agents_forms.mjs agents_consent.mjs agents_answers.mjs agents_ask.mjs"
    if [ "$name" != opencode ]; then scripts="$scripts agents_plugin.mjs"; fi
    case $name in claude | opencode) scripts="agents.mjs $scripts" ;; esac
    if [ "$name" = claude ]; then scripts="$scripts agents_search.mjs agents_console.mjs"; fi
    for script in $scripts; do
        E2E_AGENT="$agent" node "tests/e2e/$script" "$name" | tee -a "$results"
    done
done

echo 'Bytes that reach the model: the tools in a plain folder and in a repository of a workspace, and the answers about a deploy of 39 files'
column -t -s $'\t' "$E2E_TABLE"
passed=$(grep -c '^ok ' "$results" || true)
failed=$(grep -c '^FAILED ' "$results" || true)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
