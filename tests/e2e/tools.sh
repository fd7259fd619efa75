#!/usr/bin/env bash
# The story of tools, from an author's folder to an agent's call, with the network cut: `tests/e2e/tools.sh`. Each step shows
# its command and what it printed; a line for each check. Needs bubblewrap, ssh-keygen and script(1), and a namespace of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

for program in bwrap ssh-keygen script unshare ip; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
need_python mcp==2.3.0
need_mcpkg

cut=(unshare --net)
if [ "$(id -u)" != 0 ]; then cut=(unshare --map-root-user --net); fi
"${cut[@]}" true 2>/dev/null || skip "the network cannot be cut here"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2016 # the inner shell reads these
"${cut[@]}" sh -c 'ip link set lo up; exec "$@"' sh "$python" tests/e2e/tools.py "$mcpkg" "$scratch"
