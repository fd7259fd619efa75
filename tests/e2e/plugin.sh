#!/usr/bin/env bash
# Somebody else's MCP server as a plugin: npm's memory server, pinned; added at a terminal, searched, called and removed.
# `tests/e2e/plugin.sh`.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

command -v script >/dev/null || skip "there is no script of util-linux"
command -v python3 >/dev/null || skip "there is no python3"
need_node
npm_packages memory @modelcontextprotocol/server-memory@2026.8.31
need_mcpkg
server="$outside/memory/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
[ -f "$server" ] || skip "the package has no dist/index.js"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" MCPKG_DB="$scratch/test.db" XDG_STATE_HOME="$scratch/state" SHELL=/bin/sh MCPKG_PAGER=cat

check() {
    local what=$1
    shift
    if "$@"; then echo "ok $what"; else echo "FAILED $what" && exit 1; fi
}

# at_terminal COMMAND...: runs it at a terminal where a person says yes.
at_terminal() {
    (sleep 1 && printf 'y\n' && sleep 3) | script -qec "$*" /dev/null >"$scratch/shown" 2>&1 || { cat "$scratch/shown" && return 1; }
    tr -d '\r' <"$scratch/shown"
}

"$mcpkg" project create p >/dev/null
add="$mcpkg plugin add memory -e MEMORY_FILE_PATH=$scratch/memory.json --keep-env MEMORY_FILE_PATH -- $(command -v node) $server"
check 'it is added at a terminal' at_terminal "$add"
"$mcpkg" plugin list
"$mcpkg" --json command search create entities >"$scratch/found.json"
check 'its tool is found' grep -q '"id": *"memory:create_entities"' "$scratch/found.json"
entity='[{"name":"mcpkg","entityType":"program","observations":["runs plugins"]}]'
check 'it is called' at_terminal "$mcpkg command run memory:create_entities --arg entities='$entity'"
check 'it did its work' grep -q 'runs plugins' "$scratch/memory.json"
check 'another call reads it' at_terminal "$mcpkg --json command run memory:search_nodes --arg query=mcpkg"
check 'it lists what it listed' "$mcpkg" plugin check --check
"$mcpkg" plugin remove memory --yes
nothing_runs() { ! pgrep -f "$server" >/dev/null; }
check 'nothing of it runs' nothing_runs
