default:
    @just --list

# What CI runs
check:
    bash .ci/run

# All that `check` leaves out, for an hour or more: other people's clients, agents, conformance, hostile input, load, the bench
full:
    bash .ci/full

# The tests alone
test:
    cargo test --workspace

# The tests of the store, the shell, the faces, the stories and workflows on PostgreSQL (Debian: postgresql), or those whose names hold one of the words
postgres *WORDS:
    bash tests/engines/postgres.sh {{WORDS}}

# Write what is generated in docs: the reference, the pictures, llms.txt
docs:
    UPDATE_DOCS=1 cargo test docs

# The docs as a site in target/book; `just book serve` shows it on this machine
book COMMAND='build':
    [ -x target/outside/mdbook/bin/mdbook ] || cargo install mdbook --version 0.5.4 --locked --root target/outside/mdbook
    target/outside/mdbook/bin/mdbook {{COMMAND}} docs
    cd docs && find . -name '*.md' -exec cp --parents {} ../target/book/ \;

# Other people's MCP clients against the binary, over each transport or those that are named; and the console in tmux
e2e *TRANSPORTS:
    bash tests/e2e/run.sh {{TRANSPORTS}}
    bash tests/e2e/console_tmux.sh

# The story of tools from an author to an agent's call, with the network cut, each step with what it prints
tools:
    bash tests/e2e/tools.sh

# The story of workspaces from three repositories to a pushed release, in the shell and by agents; `--port N` is of its SSE server
workspace *OPTIONS:
    bash tests/e2e/workspace.sh {{OPTIONS}}

# The story of workflows from an API's document to a run that was killed and ended, by agents and a person at a terminal
workflows:
    bash tests/e2e/workflow.sh

# A big API of somebody else's, imported: GitHub's, from npm
catalog:
    bash tests/e2e/catalog.sh

# Somebody else's MCP server as a plugin: npm's memory server
plugin:
    bash tests/e2e/plugin.sh

# The story of a new user with three repositories, from `source add` to the way back, with what five agents see of it
sources:
    bash tests/e2e/sources.sh

# The story of moving in by one command with five agents, from `mcpkg up` to the way back, and of a repository with 158 subagents
movein:
    bash tests/e2e/movein.sh

# The story of a database on PostgreSQL: three servers, a standby, kills under load, a file that moves there and back; `--seconds N` is of the load
engines *OPTIONS:
    bash tests/e2e/engines.sh {{OPTIONS}}

# People sign in with an authorization server of somebody else's, from the Python client and mcp-remote
sign-in:
    bash tests/e2e/sign_in.sh

# The story of a team that signs in: three servers on PostgreSQL behind a proxy, ten clients, and the loss of each part, as a table
teams:
    bash tests/e2e/teams.sh

# What five agents make of mcpkg, offline, or the one that is named
agents *AGENTS:
    bash tests/e2e/agents.sh {{AGENTS}}

# Check whether mcpkg compiles for Windows, macOS and static Linux, or for the targets that are named
platforms *TARGETS:
    bash packaging/check.sh {{TARGETS}}

# Build mcpkg for other systems, and run it where this machine can: Windows under Wine, ARM under qemu
systems *TARGETS:
    bash packaging/test/systems.sh {{TARGETS}}

# Models that are run, with the engine: its first build takes ten minutes of a processor
gate:
    cargo test --locked -p mcpkg-workspace --features gate-onnx gate
    cargo test --locked --features gate-onnx --test main workspace::gate

# The scenarios that the official suite requires of both revisions, against mcpkg with the suite's fixtures
conformance:
    cargo build --locked --example conformance
    bash tests/conformance/run.sh target/debug/examples/conformance

# Input from strangers from a new seed, each generator for so many seconds, or the tests whose name holds the word
fuzz SECONDS='60' NAME='hostile':
    MCPKG_TEST_SEED="${MCPKG_TEST_SEED:-new}" MCPKG_FUZZ_SECONDS={{SECONDS}} cargo test --workspace {{NAME}} -- --nocapture --test-threads=1

# Write again which functions a release holds side by side, since a server runs them first; needs valgrind
order:
    CARGO_PROFILE_DIST_STRIP=none cargo build --profile dist
    bash link/order.sh

# Make a release into dist/: programs, packages, licences, checksums and notes; a build takes half an hour for each target
release VERSION *OPTIONS:
    bash packaging/release.sh {{VERSION}} {{OPTIONS}}

# Install the packages as a user does, offline: those of a release with `--dist dist`, or ones made of target/debug/mcpkg
packages *OPTIONS:
    bash packaging/test/run.sh {{OPTIONS}}

# Check the dependencies: licences, advisories, duplicates, sources; without a network, advisories are skipped
deny:
    bash packaging/deny.sh

# The measured paths, as ratios
bench:
    cargo bench

# Many streams, many clients, many requests: minutes; fails where a bar is missed
load:
    cargo bench -- --load
