#!/usr/bin/env bash
# Real clients sign in to the real binary with a real authorization server: oidc-provider. A line for each check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

need_node
npm_packages sign-in oidc-provider@9.13.3 mcp-remote@0.15.1
need_python mcp==2.3.0
need_mcpkg

scratch=$(mktemp -d)
issuer=
finish() {
    stop_server || true
    if [ -n "$issuer" ]; then kill "$issuer" 2>/dev/null || true; fi
    rm -rf "$scratch"
}
trap finish EXIT
export HOME="$scratch" XDG_DATA_HOME="$scratch" E2E_MODULES="$outside/sign-in/node_modules"
database="$scratch/e2e.db"
failed=0

shell() { "$mcpkg" --db "$database" --quiet "$@"; }

# same WHAT FOUND WANTED
same() {
    if [ "$2" = "$3" ]; then
        echo "ok $1"
    else
        echo "FAILED $1: found $2, wanted $3"
        failed=1
    fi
}

# free_port: prints a port that nothing listens on.
free_port() { "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

shell project create shop >/dev/null
shell prompt create greet Hello >/dev/null
shell access rule add --claim groups=platform >/dev/null
shell access rule add --claim groups=support --project shop --read-only >/dev/null

port=$(free_port)
node tests/e2e/sign_in_issuer.mjs "$port" >"$scratch/issuer.log" 2>&1 &
issuer=$!
for _ in $(seq 1 100); do
    grep -q ready "$scratch/issuer.log" && break
    sleep 0.1
done
start_server "$scratch/server.log" "$mcpkg" --db "$database" serve --http --port 0 --oauth-issuer "http://127.0.0.1:$port"

sign_in() { "$python" tests/e2e/sign_in.py "$address$1" "$2" 2>"$scratch/stderr" || tail -n 1 "$scratch/stderr"; }

same "Python: ada reads and writes" "$(sign_in /mcp ada)" '{"prompts": ["greet"], "writes": true, "wrote": true}'
same "Python: bob only reads" "$(sign_in /projects/shop/mcp bob)" \
    '{"prompts": ["by-ada", "greet"], "writes": false, "wrote": null}'
case $(sign_in /mcp eve) in
*prompts*) echo "FAILED Python: eve, who is in no group, has access"; failed=1 ;;
*) echo "ok Python: eve, who is in no group, has no access" ;;
esac
same "the trail names ada" "$(shell events --json | grep -o '"person:[^"]*"' | head -n 1)" '"person:ada:mcp"'

# mcp-remote prints a URL for the browser: here, curl follows its redirects.
: >"$scratch/remote.log"
browse() {
    local url=
    for _ in $(seq 1 100); do
        url=$(grep -m 1 -o '^http://[^ ]*/auth?[^ ]*' "$scratch/remote.log" || true)
        if [ -n "$url" ]; then break; fi
        sleep 0.1
    done
    sleep 2
    curl -sL -c "$scratch/jar" -b "$scratch/jar" "$url" >/dev/null
}
browse &
{
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"remote","version":"1"}}}'
    sleep 12
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":2,"method":"prompts/list"}'
    sleep 3
} | timeout 30 node "$E2E_MODULES/mcp-remote/dist/proxy.js" "$address/mcp" "$(free_port)" \
    --static-oauth-client-metadata '{"client_name":"ada"}' >"$scratch/remote.out" 2>"$scratch/remote.log" || true
same "mcp-remote: ada lists prompts" "$(grep -c '"name":"greet"' "$scratch/remote.out" || true)" 1

# A person signs in to the console: curl is the browser, and keeps its cookies.
stop_server || true
console=$(free_port)
registered=$(curl -s "http://127.0.0.1:$port/reg" -H 'Content-Type: application/json' --data \
    "{\"client_name\":\"ada\",\"redirect_uris\":[\"http://localhost:$console/login/issuer\"],\"token_endpoint_auth_method\":\"none\"}")
client=$(echo "$registered" | sed -n 's/.*"client_id":"\([^"]*\)".*/\1/p')
shell access rule add --claim sub=ada >/dev/null
start_server "$scratch/console.log" "$mcpkg" --db "$database" serve --http --port "$console" --console \
    --oauth-issuer "http://127.0.0.1:$port" --oauth-client "$client"
browser() { curl -s -b "$scratch/cookies" -c "$scratch/cookies" "$@"; }
sleep 1
to=$(browser -D - -o "$scratch/begun" -H 'Sec-Fetch-Site: same-origin' --data 'issuer=yes&to=/feed' "http://localhost:$console/login" |
    sed -n 's/^refresh: 0; url=\([^[:cntrl:]]*\).*/\1/p')
browser -L "$to" >"$scratch/signed-in"
same "console: the issuer signs ada in" "$(grep -c 'You are signed in as <strong>person:ada</strong>' "$scratch/signed-in" || true)" 1
same "console: ada reads the feed" "$(browser "http://localhost:$console/feed" | grep -c 'person:ada' || true)" 1
same "the trail names ada in the console" "$(shell events --json | grep -c '"console:person:ada"' || true)" 1
shell access rule remove --claim sub=ada --yes >/dev/null
same "console: without a rule, ada is signed out" \
    "$(browser -o /dev/null -w '%{http_code}' "http://localhost:$console/feed")" 403
stop_server || true
start_server "$scratch/server.log" "$mcpkg" --db "$database" serve --http --port 0 --oauth-issuer "http://127.0.0.1:$port"

# The group is withdrawn: the next request is refused. The issuer goes: who has a token goes on.
shell access rule remove --claim groups=support --project shop --yes >/dev/null
case $(sign_in /projects/shop/mcp bob) in
*prompts*) echo "FAILED a rule that was removed still counts"; failed=1 ;;
*) echo "ok a rule that was removed counts no more" ;;
esac
kill "$issuer" && wait "$issuer" 2>/dev/null || true
issuer=
case $(shell doctor 2>&1 || true) in
*"nobody can sign in"*) echo "ok doctor says that the issuer is down" ;;
*) echo "FAILED doctor does not say that the issuer is down"; failed=1 ;;
esac
exit "$failed"
