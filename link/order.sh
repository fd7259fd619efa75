#!/usr/bin/env bash
# Writes link/start.ld: the functions that a server runs from its start to the answers that clients ask for first.
# Needs valgrind, and a build with names: `CARGO_PROFILE_DIST_STRIP=none cargo build --profile dist`.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${CARGO_TARGET_DIR:-target}/dist/mcpkg
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mcpkg() { "$program" --quiet --db "$scratch/order.db" "$@" >"$scratch/answers"; }
ask() { printf '{"jsonrpc":"2.0","id":"%s","method":"%s","params":%s}\n' "$1" "$1" "$2"; }
greeting() {
    ask initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"order","version":"1"}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    ask prompts/list '{}'
}
conversation() {
    greeting
    ask ping '{}'
    ask tools/list '{}'
    ask prompts/get '{"name":"greet"}'
    ask resources/list '{}'
    ask resources/templates/list '{}'
    ask resources/read '{"uri":"file:///note"}'
    ask tools/call '{"name":"get_prompt","arguments":{"name":"greet"}}'
}
# Without what differs from build to build: the hashes of crates, and what the optimiser adds to a name.
general() { sed -E 's/\.llvm\..*/*/; s/Cs[0-9A-Za-z]+_/Cs*_/g' | LC_ALL=C sort; }
# Prints the names of what a server runs that hears a conversation.
run() {
    "$1" >"$scratch/questions"
    valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file="$scratch/calls" \
        "$program" --db "$scratch/order.db" serve <"$scratch/questions" >"$scratch/answers"
    [ "$(grep -c '"result"' "$scratch/answers")" = "$(grep -c '"id"' "$scratch/questions")" ]
    sed -nE "s/^c?fn=\([0-9]+\) //; T; s/'[0-9]+$//; p" "$scratch/calls" | general | uniq
}

export HOME=$scratch
unset "${!XDG_@}" "${!MCPKG_@}"
mcpkg project create order
mcpkg prompt create greet 'Say hello.' --description 'A greeting'
mcpkg resource create note file:///note 'A note.'
run greeting >"$scratch/first"
run conversation >"$scratch/all"

# A name that generic code has in many forms, 64 KiB of them and more, would bring all of them along.
nm -S -t d "$program" | awk 'NF == 4 && $3 ~ /^[tT]$/ { print $2, $4 }' | general |
    awk '{ size[$2] += $1; forms[$2]++ } END { for (name in size) if (size[name] < 65536) print name, (forms[name] > 4) }' \
    >"$scratch/held"
{
    cat <<'END'
/* The functions that a server runs from its start to its first answers, next to each other. Otherwise each of them brings
   functions into memory that are not run then. Written by link/order.sh. Names that no longer exist do no harm, but functions
   with new names lie elsewhere: run it again now and then. */
SECTIONS
{
  .text.start :
  {
END
    # First what every server runs, of which names of a few forms lie closest.
    awk 'FILENAME ~ /held$/ { place[$1] = $2; next }
         FILENAME ~ /all$/ && $1 in place && !($1 in done) { print 2, $1 }
         FILENAME ~ /first$/ && $1 in place { print place[$1], $1; done[$1] }' "$scratch/held" "$scratch/first" "$scratch/all" |
        LC_ALL=C sort -u | sed -E 's/^. (.*)/    *(.text.\1)/'
    printf '  }\n}\nINSERT BEFORE .text;\n'
} >link/start.ld
wc -l link/start.ld
