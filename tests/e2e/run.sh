#!/usr/bin/env bash
# What other people's MCP clients make of the real binary: the Inspector, the Python client and both TypeScript clients,
# over each transport. `tests/e2e/run.sh [stdio|http|http-key|sse]...`, all of them by default. A line for each check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

need_node
npm_packages clients @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/client@2.4.0 \
    @modelcontextprotocol/sdk@1.32.2 sdk-1.23@npm:@modelcontextprotocol/sdk@1.23.0
need_python mcp==2.3.0
need_mcpkg

scratch=$(mktemp -d)
trap 'stop_server || true; rm -rf "$scratch"' EXIT
export HOME="$scratch" XDG_DATA_HOME="$scratch"
export E2E_BINARY="$mcpkg" E2E_DATABASE="$scratch/e2e.db" E2E_MODULES="$outside/clients/node_modules"
results="$scratch/results"
: >"$results"

shell() { "$mcpkg" --db "$E2E_DATABASE" --quiet "$@"; }

# What every client finds; what it adds has names of its own.
fill() {
    rm -f "$E2E_DATABASE"*
    shell project create e2e
    shell prompt create greet 'Hello {{ name }}{% if tone %}, {{ tone }}{% endif %}' -d 'Greet someone' \
        --argument 'name=Who is greeted' --argument 'tone?=How'
    shell prompt create plain 'Just this text.' -d 'A prompt without arguments'
    shell resource create notes file:///e2e/notes.md $'# Notes\nTwo lines, and a \xc3\xbc.\n' -d 'Some notes' -m text/markdown
    printf '\x89PNG\x00\xff\xfe' >"$scratch/pixel.png"
    shell resource create pixel file:///e2e/pixel.png "@$scratch/pixel.png" -d 'No real picture' -m image/png
} >/dev/null

report() { tee -a "$results"; }

# A client that ends badly without saying so is a failure too.
check() {
    local name=$1
    shift
    if ! "$@" 2>"$scratch/stderr" | report; then
        echo "FAILED $name: it ended with an error: $(tail -n 3 "$scratch/stderr" | tr '\n' ' ')" | report
    fi
}

clients() {
    export E2E_TRANSPORT=$1
    local eras="legacy modern"
    if [ "$1" = sse ]; then eras=legacy; fi # the transport is older than the modern era
    for era in $eras; do
        check "$1 $era Inspector" node tests/e2e/inspector.mjs "$era"
        check "$1 $era Python" "$python" tests/e2e/client.py "$era"
        check "$1 $era TypeScript-2" node tests/e2e/client.mjs "$era" 2
    done
    check "$1 legacy TypeScript-1" node tests/e2e/client.mjs legacy 1
    check "$1 legacy TypeScript-1.23" node tests/e2e/client.mjs legacy 1.23
}

[ $# -gt 0 ] || set -- stdio http http-key sse
for transport in "$@"; do
    fill
    unset E2E_KEY E2E_URL
    flag=${transport%-key}
    case $transport in
    stdio)
        clients stdio
        continue
        ;;
    http | sse) ;;
    http-key)
        E2E_KEY=$(shell access create e2e)
        export E2E_KEY
        ;;
    *)
        echo "there is no transport $transport"
        exit 2
        ;;
    esac
    if ! "$mcpkg" serve --help | grep -q -e "--$flag "; then
        echo "skipped: this mcpkg does not serve over $flag"
        continue
    fi
    start_server "$scratch/$transport.log" "$mcpkg" --db "$E2E_DATABASE" serve "--$flag" --port 0
    case $flag in http) E2E_URL="$address/mcp" ;; sse) E2E_URL="$address/sse" ;; esac
    export E2E_URL
    clients "$transport"
    stop_server || echo "FAILED $transport: the server did not end when it was told to" | report
done

passed=$(grep -c '^ok ' "$results" || true)
failed=$(grep -c '^FAILED ' "$results" || true)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
