#!/usr/bin/env bash
# Installs packages as a user does, with the network cut, and uses what they install.
#   run.sh [--dist DIR | --binary PROGRAM] [deb] [rpm] [npm] [wheel] [image]
# --dist tests the packages of a release. Otherwise packages are made of PROGRAM, target/debug/mcpkg by default.
# What the machine lacks is reported as "skipped: why".
set -euo pipefail
cd "$(dirname "$0")/../.."
dist='' binary=target/debug/mcpkg kinds=()
while [ $# -gt 0 ]; do
    case $1 in
    --dist) dist=$(realpath "$2") && shift ;;
    --binary) binary=$2 && shift ;;
    *) kinds+=("$1") ;;
    esac
    shift
done
[ ${#kinds[@]} -gt 0 ] || kinds=(deb rpm npm wheel image)

python3 -c 'import tomllib' 2>/dev/null || { echo 'skipped: packages: there is no Python 3.11' && exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'package|size|installed with|seconds|and first|on' >"$scratch/table"

because() {
    echo "$*" >"$scratch/reason"
    return 1
}
has() {
    command -v "$1" >/dev/null || because "there is no $1"
}
may_unshare() {
    unshare --mount --net --pid --fork true 2>/dev/null || because 'only root may make namespaces here'
}

# Runs a command without a network.
alone() {
    unshare --net bash -c 'ip link set lo up 2>/dev/null; exec "$@"' alone "$@"
}

# Runs a command with a folder as the root of files, without a network, and with nothing of this environment.
within() {
    local root=$1
    shift
    unshare --mount --net --pid --fork bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"
        exec chroot "$0" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$root" "$@"
}

# Unpacks the clean root, which is made at first.
clean_root() {
    local kept=target/outside/clean-root.tar
    packaging/test/clean_root.sh "$kept" >"$scratch/reason" || return 1
    rm -rf "$scratch/root"
    mkdir "$scratch/root"
    tar -xf "$kept" -C "$scratch/root"
}

# Makes the packages of a kind, unless there are those of a release.
packages() {
    [ -z "$dist" ] || return 0
    [ -x "$scratch/mcpkg" ] || strip -o "$scratch/mcpkg" "$binary"
    [ -d "$scratch/assets" ] || packaging/assets.sh "$scratch/mcpkg" "$scratch/assets"
    python3 "packaging/$1.py" --binary "$scratch/mcpkg" --assets "$scratch/assets" --out "$scratch/dist" --fast >/dev/null
    [ "$1" != npm ] || python3 packaging/npm.py wrapper "$scratch/dist" >/dev/null
}
package() {
    find "${dist:-$scratch/dist}" -name "$1" | sort | head -1
}

begin() { started=$(date +%s%N); }
seconds() { awk -v from="$started" -v to="${1:-$(date +%s%N)}" 'BEGIN { printf "%.1f", (to - from) / 1e9 }'; }
# row PACKAGE HOW SECONDS-TO-INSTALL ON: the table's next row; the first use has just ended.
row() {
    local size=$(stat --format %s "$1")
    echo "$(basename "$1")|$((size / 1000000)).$((size / 100000 % 10)) MB|$2|$3|$(seconds)|$4" >>"$scratch/table"
}

test_deb() {
    has dpkg-deb && may_unshare && clean_root || return 3
    packages deb
    local file=$(package '*_amd64.deb') installed
    cp "$file" "$scratch/root/mcpkg.deb"
    begin
    within "$scratch/root" dpkg --install mcpkg.deb >/dev/null 2>&1
    installed=$(seconds)
    within "$scratch/root" mcpkg demo >/dev/null
    row "$file" 'dpkg -i' "$installed" 'a bare Debian 12'
    uses_what_the_system_got
    [ -f "$scratch/root/usr/lib/systemd/system/mcpkg.service" ] || { echo 'there is no unit'; return 1; }
    [ -z "$(find "$scratch/root/etc/systemd" -name 'mcpkg*' 2>/dev/null)" ] || { echo 'the unit is enabled'; return 1; }
    within "$scratch/root" dpkg --remove mcpkg >/dev/null
    [ -z "$(find "$scratch/root/usr" -name '*mcpkg*')" ] || { echo 'files are left behind'; return 1; }
}

test_rpm() {
    has rpmbuild && may_unshare && clean_root || return 3
    packages rpm
    local file=$(package '*.x86_64.rpm') installed
    begin
    # Debian's rpm warns of itself on every install.
    rpm --root "$scratch/root" --ignorearch --nodeps --install "$file" 2>/dev/null
    installed=$(seconds)
    within "$scratch/root" mcpkg demo >/dev/null
    row "$file" 'rpm -i --root' "$installed" 'a bare Debian 12'
    uses_what_the_system_got
}

# The man pages, and the completion of a name from the database, as bash loads it.
uses_what_the_system_got() {
    within "$scratch/root" sh -c 'man --pager=cat mcpkg && man --pager=cat mcpkg-prompt-create' | grep -q 'mcpkg prompt create'
    within "$scratch/root" bash -c '
        set -e
        mcpkg init -q >/dev/null
        mcpkg -q project create shop >/dev/null
        mcpkg prompt create greeting Hello -q >/dev/null
        set +e
        . /usr/share/bash-completion/bash_completion
        _completion_loader mcpkg
        COMP_WORDS=(mcpkg prompt show gree) COMP_CWORD=3 COMP_LINE="mcpkg prompt show gree" COMP_POINT=22
        _mcpkg mcpkg gree show
        echo "${COMPREPLY[*]}"' | grep -x 'greeting *' >/dev/null
}

test_npm() {
    has node && has npm && may_unshare || return 3
    packages npm
    local file=$(package 'mcpkg-cli-linux-x64-*.tgz') installed
    begin
    alone env HOME="$scratch/npm-home" PACKAGES="$(dirname "$file")" bash -ec '
        python3 packaging/test/npm_registry.py "$PACKAGES" >"$0/port" &
        trap "kill $!" EXIT
        for _ in $(seq 100); do [ -s "$0/port" ] && break || sleep 0.1; done
        export npm_config_registry=http://127.0.0.1:$(cat "$0/port") npm_config_update_notifier=false
        npm install --global --silent --prefix "$0/npm" mcpkg-cli
        date +%s%N >"$0/installed"
        "$0/npm/bin/mcpkg" demo >/dev/null
        mkdir "$0/fresh" && cd "$0/fresh"
        npx --yes --silent mcpkg-cli version | grep -q "^mcpkg "
        # What is left of a client that went away: nothing.
        echo "{}" | "$0/npm/bin/mcpkg" serve >/dev/null' "$scratch"
    installed=$(seconds "$(cat "$scratch/installed")")
    row "$file" 'npm install -g mcpkg-cli' "$installed" "Node $(node --version)"
}

test_wheel() {
    has python3 && may_unshare || return 3
    packages wheel
    local file=$(package '*x86_64.whl') installed
    python3 -m venv "$scratch/venv" 2>/dev/null || because 'python3 has no venv' || return 3
    begin
    alone "$scratch/venv/bin/pip" install --quiet --no-index --find-links "$(dirname "$file")" --disable-pip-version-check mcpkg-cli
    installed=$(seconds)
    HOME=$scratch/wheel-home alone "$scratch/venv/bin/mcpkg" demo >/dev/null
    row "$file" 'pip install mcpkg-cli' "$installed" "$(python3 --version)"
    "$scratch/venv/bin/pip" uninstall --quiet --yes mcpkg-cli
    [ ! -e "$scratch/venv/bin/mcpkg" ]
}

test_image() {
    has curl && may_unshare || return 3
    packages image
    local file=$(package '*-image-amd64.tar') installed
    begin
    mkdir "$scratch/image"
    python3 packaging/test/unpack_image.py "$file" "$scratch/image" >"$scratch/run"
    installed=$(seconds)
    unshare --mount --net --pid --fork --kill-child bash packaging/test/image.sh "$scratch/image" "$scratch/run" || return 1
    row "$file" 'unpacked' "$installed" 'its own root, as user 65532'
}

passed=0 failed=0 skipped=0
for kind in "${kinds[@]}"; do
    # Not in a condition, which would go on after a command that fails.
    set +e
    (set -e && "test_$kind")
    result=$?
    set -e
    case $result in
    0) passed=$((passed + 1)) ;;
    3) skipped=$((skipped + 1)) && echo "skipped: package $kind: $(cat "$scratch/reason")" ;;
    *) failed=$((failed + 1)) && echo "failed: package $kind" ;;
    esac
done
awk -F'|' '{ printf "%-40s %9s  %-26s %8s %9s  %s\n", $1, $2, $3, $4, $5, $6 }' "$scratch/table"
echo "packages: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
