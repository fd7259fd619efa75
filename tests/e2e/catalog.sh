#!/usr/bin/env bash
# A big document, imported: GitHub's REST API with its 1,223 operations, from npm, pinned. `tests/e2e/catalog.sh`.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/support/outside.sh

command -v python3 >/dev/null || skip "there is no python3"
need_github_api
need_mcpkg

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" MCPKG_DB="$scratch/test.db" XDG_STATE_HOME="$scratch/state"
"$mcpkg" --json catalog import "$document" --prefix github >"$scratch/import.json"
"$mcpkg" --json catalog show github >"$scratch/show.json"
"$mcpkg" catalog refresh github --check >"$scratch/refresh.txt"
cat "$scratch/refresh.txt"
python3 - "$scratch/import.json" "$scratch/show.json" <<'PYTHON'
import json, sys

imported, shown = (json.load(open(path)) for path in sys.argv[1:])
commands = shown["commands"]
ids = {command["id"] for command in commands}
failed = []


def check(what, good):
    print("ok " if good else "FAILED ", what, sep="")
    if not good:
        failed.append(what)


check(f"{len(commands)} commands of 1,223 operations", len(commands) == 1223)
check(f"{len(ids)} ids, each once", len(ids) == len(commands))
check(f"nothing is left out: {imported['left_out'][:3]}", not imported["left_out"])
idle = [command for command in commands if not command["runnable"]]
print(f"   {len(idle)} cannot be run: {[(one['id'], one['why_not']) for one in idle[:5]]}")
repos = "github:repos:"
wanted = {
    "create issue": repos + "issues:create",
    "list pull requests": repos + "pulls:list",
    "merge pull request": repos + "pulls:merge:update",
    "delete branch protection": repos + "branches:protection:delete",
    "add collaborator to a repo": repos + "collaborators:update",
    "list members of an org": "github:orgs:members:list",
    "star a repository": "github:user:starred:update",
    "create release": repos + "releases:create",
    "list workflow runs": repos + "actions:runs:list",
    "cancel a workflow run": repos + "actions:runs:cancel:create",
    "get commit": repos + "commits:info",
    "search code": "github:search:code:list",
    "list issues for repo": repos + "issues:list",
    "remove label from issue": repos + "issues:labels:delete",
    "rerun failed jobs": repos + "actions:runs:rerun-failed-jobs:create",
    "create webhook": repos + "hooks:create",
    "list secrets of environment": repos + "environments:secrets:list",
    "create a gist": "github:gists:create",
    "approve pull request review": repos + "pulls:reviews:create",
    "delete a file": repos + "contents:delete",
}
for question, id in wanted.items():
    check(f"{question}: {id}", id in ids)
sys.exit(1 if failed else 0)
PYTHON
