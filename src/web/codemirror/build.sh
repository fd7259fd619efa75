#!/usr/bin/env bash
# Builds codemirror.js and codemirror.txt, the notices of what is in it, from the packages of package-lock.json.
#   build.sh FOLDER    needs Node and npm; writes both files and their sums into FOLDER
# To update: change the versions in package.json, run `npm install --package-lock-only --ignore-scripts`, then
# `./build.sh .`, and commit all of it.
set -euo pipefail
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp entry.js package.json package-lock.json "$work"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=60000 >&2
npx --no-install esbuild entry.js --bundle --minify --format=iife --global-name=codemirror --target=es2022 \
    --charset=utf8 --legal-comments=none --log-level=warning --metafile=inputs.json --outfile="$out/codemirror.js" \
    --banner:js='/* CodeMirror 6 and the packages that it needs, under the MIT licence. Notices: codemirror.txt */'
node - >"$out/codemirror.txt" <<'JS'
const fs = require("node:fs");
const inputs = Object.keys(JSON.parse(fs.readFileSync("inputs.json", "utf8")).inputs);
const folders = new Set(inputs.map((path) => path.match(/^node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]).filter(Boolean));
const texts = new Map();
for (const folder of [...folders].sort()) {
  const { name, version, license } = JSON.parse(fs.readFileSync(`${folder}/package.json`, "utf8"));
  console.log(`${name} ${version}: ${license}`);
  const file = fs.readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  const text = fs.readFileSync(`${folder}/${file}`, "utf8").trim();
  texts.set(text, [...(texts.get(text) ?? []), name]);
}
for (const [text, names] of texts) console.log(`\n${"=".repeat(100)}\nOf ${names.join(", ")}\n\n${text}`);
JS
cd "$out"
sha256sum codemirror.js codemirror.txt >codemirror.sha256
