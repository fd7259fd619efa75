#!/usr/bin/env bash
# The story of workspaces, from three repositories to a pushed release, in the shell and by agents: each step shows its
# command and what it printed; a line for each check. `tests/e2e/workspace.sh [--port N] [--no-kills]`; N is where the server
# over SSE listens, a free port by default. The sweep of kills is that of the tests, and needs cargo.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

for program in git script; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
need_python mcp==2.3.0
need_mcpkg

# The Inspector alone needs Node: without it the rest is shown, and what was not is said at the end.
without=$(need_node && npm_packages inspector @modelcontextprotocol/inspector@2.12.0)
options=()
if [ -z "$without" ]; then
    need_node
    options=(--inspector "$outside/inspector/node_modules/@modelcontextprotocol/inspector")
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" tests/e2e/workspace.py "$mcpkg" "$scratch" "${options[@]}" "$@"
if [ -n "$without" ]; then echo "$without"; fi
