#!/usr/bin/env bash
# Runs the tests of the store, the shell, the console, the faces, tools, workspaces, workflows and the stories, or those whose names hold one of the words given, with a
# database on a PostgreSQL of its own instead of each file. Says "skipped: why" where there is none.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
if [ -z "$programs" ] || [ ! -x "$programs/initdb" ]; then
    echo 'skipped: the tests on PostgreSQL, since it is not installed (Debian: postgresql)'
    exit 0
fi
if [ "$(id -u)" = 0 ]; then as=(runuser -u postgres --); else as=(); fi
folder=$(mktemp -d)
[ "$(id -u)" != 0 ] || chown postgres "$folder"
stop() {
    "${as[@]}" "$programs/pg_ctl" -m immediate -w -D "$folder/data" stop >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap stop EXIT
# A port that is free now.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
(
    cd /
    "${as[@]}" "$programs/initdb" -A trust -U mcpkg -E UTF8 --locale=C --no-sync -D "$folder/data" >/dev/null
    "${as[@]}" "$programs/pg_ctl" -w -l "$folder/log" -D "$folder/data" \
        -o "-p $port -k $folder -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=500" start >/dev/null
)
words=("$@")
if [ "${#words[@]}" = 0 ]; then
    words=(http:: journeys:: mcp:: store:: cli:: console:: properties:: sync:: deploy:: tools:: workspace:: workflow:: f23)
    # These are about sandboxes, git and other hosts, or kill a command again and again: the same whatever the database is. They pass
    # with their words.
    for same in faults::tools tools::{escapes,hostile_registry,limits,lively,runners} workspace::{building,differential,faults,histories,killed}; do
        words+=(--skip "$same")
    done
fi
# Half of the time a test waits for the server, so that twice as many run as usual, within its connections.
threads=$((2 * $(nproc)))
if [ "$threads" -gt 16 ]; then threads=16; fi
# What is about the file alone says so and is skipped.
MCPKG_TEST_POSTGRES="postgres://mcpkg@127.0.0.1:$port" cargo test --locked --test main -- --test-threads "$threads" "${words[@]}"
