#!/usr/bin/env bash
# Runs every server scenario that the official suite requires of a revision, for both revisions, against a server of ours:
# `tests/conformance/run.sh SERVER ARGUMENT...`, a command that says "listening on http://HOST:PORT" on standard error.
# Each revision has a server of its own. A scenario that is required and fails is a failure; there is no list of expected
# ones. CONFORMANCE_URL names a server that runs already.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

if [ $# -eq 0 ] && [ -z "${CONFORMANCE_URL:-}" ]; then
    echo "usage: tests/conformance/run.sh SERVER ARGUMENT..." >&2
    exit 2
fi
need_node
npm_packages conformance @modelcontextprotocol/conformance@0.2.0-alpha.12
suite="$outside/conformance/node_modules/@modelcontextprotocol/conformance"

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
status=0
for revision in 2025-11-25 2026-07-28; do
    url=${CONFORMANCE_URL:-}
    if [ -z "$url" ]; then
        start_server "$scratch/server.log" "$@"
        url="$address/mcp"
    fi
    # Its own exit status and its output are not read: the checks of each scenario stand in files.
    node "$suite/dist/index.js" server --url "$url" --requirements "$revision" -o "$scratch/$revision" \
        >"$scratch/$revision.log" 2>&1 || true
    node tests/conformance/sum.mjs "$suite/requirements/$revision.yaml" "$scratch/$revision" || {
        status=1
        if [ ! -d "$scratch/$revision" ]; then tail -n 20 "$scratch/$revision.log"; fi
    }
    stop_server || {
        echo "FAILED $revision: the server did not end when it was told to"
        status=1
    }
done
exit $status
