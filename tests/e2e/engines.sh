#!/usr/bin/env bash
# The story of a team that outgrows its file: a PostgreSQL primary with a synchronous standby, three servers on it and clients
# that go round; a server and the primary are killed under load, a file moves in and out again, a trail is followed, and what
# all that costs. Each step shows its command and what it printed; a line for each check. `tests/e2e/engines.sh [--seconds N]`;
# N is how long the load lasts, 24 by default. Needs PostgreSQL 15 or later (Debian: postgresql).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
for program in initdb pg_ctl pg_basebackup psql; do
    [ -x "$programs/$program" ] || skip "PostgreSQL 15 or later is not installed (Debian: postgresql)"
done
need_python mcp==2.3.0
need_mcpkg

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" tests/e2e/engines.py "$mcpkg" "$scratch" "$programs" "$@"

# Those who hold locks lose their connections: each case twenty times.
MCPKG_TEST_LOST_LOCKS=20 cargo test --quiet --test main engines::lost_locks
