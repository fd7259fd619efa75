#!/usr/bin/env bash
# Starts an unpacked image as a container is started, in namespaces of its own, and asks it over HTTP.
#   image.sh ROOT RUN    RUN is what unpack_image.py printed
set -euo pipefail
root=$1
. "$2"
ip link set lo up
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
# A program that is not static, as in tests of a debug build, borrows this machine's libraries.
for library in $(ldd "$root${entrypoint[0]}" 2>/dev/null | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp "$library" "$root$library"
done
run() {
    exec chroot --userspec="$user" "$root" "${entrypoint[@]}" "$@"
}
cd /
for name in $(compgen -e); do unset "$name"; done
export "${environment[@]}"
export PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin

(run --quiet project create shop) >/dev/null
key=$( (run access create laptop --json) | grep -o '"key": *"[^"]*"' | cut -d'"' -f4)
[ -n "$key" ] || { echo 'no access key'; exit 1; }
(run "${command[@]}") 2>/dev/null &
server=$!
ask() {
    curl --silent --max-time 5 --retry 50 --retry-connrefused --retry-delay 0 --retry-max-time 20 "$@" http://127.0.0.1:3000/mcp \
        --header 'Content-Type: application/json' --header 'Accept: application/json, text/event-stream' --data '{"jsonrpc": "2.0",
        "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}'
}
ask --header "Authorization: Bearer $key" | grep -q '"serverInfo"'
[ "$(ask --output /dev/null --write-out '%{http_code}')" = 401 ]
kill -TERM "$server"
wait "$server"
