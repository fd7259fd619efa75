default:
    @just --list

# What CI runs
check:
    bash .ci/run

# The tests alone
test:
    cargo test

# Write docs/reference anew
docs:
    UPDATE_DOCS=1 cargo test docs

# The measured paths, as ratios
bench:
    cargo bench
