#!/usr/bin/env bash
# The story of workflows, from an API's document to a run that was killed and ended, by agents (the Python client in both
# eras) and by a person at a terminal of 80 columns: `tests/e2e/workflow.sh`. Each step shows its command and what it printed;
# a line for each check. What the person sees is compared with tests/e2e/workflow.txt, line for line: UPDATE_STORY=1 writes it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

need_python mcp==2.3.0
need_mcpkg

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" tests/e2e/workflow.py "$mcpkg" "$scratch"
