#!/usr/bin/env bash
# The story of a new user with three repositories: what comes in, what a plan costs each agent, what the agents see of it, an
# upstream change and an edit of one's own, a lock, a folder that two homes share, and the way back. Each step shows its command
# and what it printed; a line for each check. `tests/e2e/sources.sh`; agents that npm cannot install are named at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

for program in git script python3; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
need_mcpkg

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
export E2E_BINARY="$mcpkg" E2E_SCRATCH="$scratch" E2E_TRANSPORT=sources E2E_RECORD="$scratch/record"

# Without Node, or without one of them, the rest is shown, and what was not is said at the end.
without=$(need_node)
agents=()
if [ -z "$without" ]; then
    need_node
    while read -r name folder package file; do
        why=$(npm_packages "$folder" "$package")
        program=$(find "$outside/$folder/node_modules" -type f -path "$file" 2>/dev/null | head -n 1)
        if [ -n "$program" ]; then agents+=("$name=$program"); else without+="${why:-skipped: $package has no program for this machine}"$'\n'; fi
    done < <(grep -v '^#' tests/e2e/agents.txt)
    start_server "$scratch/model.log" node tests/e2e/stub_model.mjs "$E2E_RECORD"
    export E2E_MODEL="$address"
fi

mkdir "$scratch/story"
python3 tests/e2e/sources.py "$mcpkg" "$scratch/story" ${agents[@]+"${agents[@]}"}
if [ -n "$without" ]; then echo "$without"; fi
