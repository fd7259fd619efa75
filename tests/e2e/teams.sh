#!/usr/bin/env bash
# Tests how a team signs in and works: a third-party authorization server, a PostgreSQL primary with a standby, three servers
# behind a proxy, and ten clients. A person loses a group, servers are upgraded, a backup is restored, and a server, the primary
# and the issuer fail. Each step prints its commands. At the end comes a table of the results.
# MCPKG_BIN is the program to test. With MCPKG_OLD_BIN, the servers start with this older program. Needs PostgreSQL 15 or later,
# Caddy and jq (Debian: postgresql, caddy, jq).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
for program in initdb pg_ctl pg_basebackup psql; do
    [ -x "$programs/$program" ] || skip "PostgreSQL 15 or later is not installed (Debian: postgresql)"
done
E2E_CADDY=$(command -v caddy) || skip "Caddy is not installed (Debian: caddy)"
for program in jq curl script taskset; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
need_node
npm_packages sign-in oidc-provider@9.13.3 mcp-remote@0.15.1
need_python mcp==2.3.0
need_mcpkg
export E2E_CADDY E2E_MODULES="$outside/sign-in/node_modules" E2E_REMOTE="$outside/sign-in/node_modules/mcp-remote/dist/proxy.js"

# found PATTERN FOLDER PACKAGE...: prints the file of a program, or `skipped: why`. It runs in a shell of its own, since `skip`
# ends it.
found() (
    pattern=$1
    shift
    npm_packages "$@"
    file=$(find "$outside/$1/node_modules" -type f -path "$pattern" | sort | tail -n 1)
    [ -n "$file" ] || skip "$2 has no program for this machine"
    echo "$file"
)

# agent NAME: the program of an agent, which agents.txt names.
agent() {
    local folder package file
    read -r folder package file < <(sed -n "s/^$1 //p" tests/e2e/agents.txt)
    found "$file" "$folder" "$package"
}

E2E_INSPECTOR=$(found '*/@modelcontextprotocol/inspector/clients/launcher/build/index.js' clients \
    @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/client@2.4.0 \
    @modelcontextprotocol/sdk@1.32.2 sdk-1.23@npm:@modelcontextprotocol/sdk@1.23.0)
E2E_CLAUDE=$(agent claude) E2E_CODEX=$(agent codex) E2E_OPENCODE=$(agent opencode)
E2E_COPILOT=$(agent copilot) E2E_GEMINI=$(agent gemini)
export E2E_INSPECTOR E2E_CLAUDE E2E_CODEX E2E_OPENCODE E2E_COPILOT E2E_GEMINI

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" tests/e2e/teams.py "$mcpkg" "$scratch" "$programs"
