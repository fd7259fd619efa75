#!/usr/bin/env bash
# The story of moving in: `mcpkg up` in a folder that has files for several agents, what the agents themselves see of it, an
# edit, a hook and a hidden text that `--yes` leaves out, a plugin that agents install, the way back, and a repository of 158
# subagents. Each step shows its command and what it printed. It stops at the first check that fails. `tests/e2e/movein.sh`;
# without Node or an agent, the rest runs, and the first lines say what was skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

for program in git script python3; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
need_mcpkg

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
export E2E_BINARY="$mcpkg" E2E_SCRATCH="$scratch" E2E_TRANSPORT=movein E2E_RECORD="$scratch/record"

without=$(need_node)
agents=()
if [ -z "$without" ]; then
    need_node
    while read -r name folder package file; do
        # OpenCode reads AGENTS.md alone; what that costs Cursor is in docs/how-to/deploy.md.
        if [ "$name" = opencode ]; then continue; fi
        why=$(npm_packages "$folder" "$package")
        program=$(find "$outside/$folder/node_modules" -type f -path "$file" 2>/dev/null | head -n 1)
        if [ -n "$program" ]; then agents+=("$name=$program"); else without+="${why:-skipped: $package has no program for this machine}"$'\n'; fi
    done < <(grep -v '^#' tests/e2e/agents.txt)
    start_server "$scratch/model.log" node tests/e2e/stub_model.mjs "$E2E_RECORD"
    export E2E_MODEL="$address"
fi

mkdir "$scratch/story"
if [ -n "$without" ]; then echo "$without"; fi
python3 tests/e2e/movein.py "$mcpkg" "$scratch/story" ${agents[@]+"${agents[@]}"}
