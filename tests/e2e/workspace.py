"""The story of workspaces: `workspace.py MCPKG FOLDER [--port N] [--inspector FILE] [--no-kills]`, started by workspace.sh.

Steps 1 to 4 and 6 are done twice: in the shell, and by an agent that writes lines to a server over stdio.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys

from story import check, end
from workspace_agent import Agent
from workspace_clients import NO_ENGINE, RELU, all_tools, told
from workspace_shop import REPOS, Shop

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--port", type=int, default=0)
OPTIONS.add_argument("--inspector")
OPTIONS.add_argument("--no-kills", action="store_true")
OPTIONS = OPTIONS.parse_args(sys.argv[3:])

STATUS_OF_GIT = -32002


def heading(text):
    print(f"\n# {text}", flush=True)


# In the shell.


def begin(ada):
    heading("1. Three repositories become a workspace")
    repos = " ".join(f"--repo ../origin/{repo}.git" for repo in REPOS)
    ada.run(f"mcpkg workspace init shop {repos} --dry-run")
    check("a dry run makes nothing", not list(ada.root.iterdir()))
    ada.run(f"mcpkg workspace init shop {repos}")
    ada.settle()
    ada.run("mcpkg workspace status")
    rows = ada.json("mcpkg workspace status")["repos"]
    check("three clean clones", [(row["name"], row["clean"]) for row in rows] == [(repo, True) for repo in REPOS], rows)
    check("each has develop", all("refs/heads/develop" in ada.tips(repo) for repo in REPOS))


def change(ada):
    heading("2. One change over three repositories: worktrees, a spec, a build")
    ada.run("mcpkg flow feature start login --worktree")
    ada.run("mcpkg worktree list")
    for repo in REPOS:
        place = ada.run(f"mcpkg worktree cd login {repo}").strip()
        check(f"{repo} has a worktree on the branch", place.endswith(f".worktrees/login/{repo}"), place)
        ada.commit(ada.root / ".worktrees/login" / repo, "login.txt", f"{repo}\n", "feat: log in")
    check("the checkouts stay", all(ada.git("branch --show-current", ada.root / repo) == "main" for repo in REPOS))
    ada.run("mcpkg spec new login")
    ada.refused("a scaffold is not valid", "mcpkg spec validate login", "E_SPEC_INVALID", status=5)
    ada.fill("login")
    ada.run("mcpkg spec validate login")
    ada.run("mcpkg spec status login")
    said = ada.run("mcpkg build --test --parallel", status=6)
    check("a failed build names the step and its last lines", "web: test failed" in said and "wanted 2 lines, found 3" in said, said)
    error = json.loads(ada.run("mcpkg build --test --parallel --json", status=6, quiet=True))["error"]
    found = error["code"], error["details"]["repo"], error["details"]["step"]
    check("and so do its data", found == ("E_BUILD_FAILED", "web", "test"), error)
    ada.run("mcpkg builds list")
    ada.commit(ada.root / ".worktrees/login/web", "code.txt", "one\ntwo\n", "fix: two lines")


def conflict(ada):
    heading("3. A conflict in api alone; resolved, finished, taken back, finished again")
    ada.commit(ada.root / ".worktrees/login/api", "README.md", "# api, with a login\n")
    ada.run("git -C api switch -q develop")
    ada.commit(ada.root / "api", "README.md", "# api, the second\n")
    before = ada.state()
    said = ada.run("mcpkg flow feature finish login", status=1)
    check("the conflict is shown, with where and how", "api (into develop): README.md" in said and "git merge develop" in said, said)
    check("every ref, index and file of all three is as before", ada.state() == before)
    resolve(ada)
    before = ada.state()
    ada.run("mcpkg flow feature finish login --dry-run")
    check("a dry run moves nothing", ada.state() == before)
    ada.run("mcpkg flow feature finish login")
    merged(ada)
    ada.run("mcpkg flow undo")
    check("taken back: every ref, index, file and worktree is as before", ada.state() == before)
    ada.run("mcpkg flow feature finish login")
    merged(ada)
    ada.run("mcpkg flow log")
    for repo in REPOS:
        ada.run(f"git -C {repo} switch -q develop", quiet=True)
    ada.run("mcpkg build --test --parallel")
    ada.run("mcpkg spec archive login")


def resolve(ada):
    """Resolves the conflict in api's worktree, as anybody would."""
    ada.run("cd .worktrees/login/api && git merge develop", status=1)
    ada.run("cd .worktrees/login/api && echo '# api, the second, with a login' >README.md && git commit -qam 'Merge develop'")


def merged(ada):
    for repo in REPOS:
        parents = ada.git("rev-list --parents -n 1 develop", ada.root / repo).split()
        check(f"{repo}: develop is a merge, and the branch is gone", len(parents) == 3 and "refs/heads/feature/login" not in ada.tips(repo))
    check("the worktrees are gone", not (ada.root / ".worktrees/login").exists())


def released(ada, version):
    for repo in REPOS:
        folder, tag = ada.root / repo, f"v{version}"
        check(f"{repo}: {tag} is annotated, on main", ada.git(f"cat-file -t {tag}", folder) == "tag"
              and ada.git(f"rev-parse {tag}^{{}} main", folder).split()[0] == ada.git("rev-parse main", folder))
        check(f"{repo}: develop has it", ada.git("describe develop", folder).startswith(tag))
        check(f"{repo}: its changelog says so", f"## {version} - " in ada.git("show main:CHANGELOG.md", folder))


def release(ada):
    heading("4. A release, a hotfix after it, and a push")
    ada.run("mcpkg flow release start 1.0.0")
    ada.run("mcpkg flow release finish 1.0.0")
    released(ada, "1.0.0")
    ada.run("git -C lib tag -n20 v1.0.0")
    ada.run("mcpkg flow hotfix start 1.0.1")
    for repo in REPOS:
        ada.commit(ada.root / repo, "fix.txt", f"{repo}\n", "fix: a leak")
    ada.run("mcpkg flow hotfix finish 1.0.1")
    released(ada, "1.0.1")
    push(ada)


def push(ada):
    origin = {repo: ada.tips(repo, ada.origins / f"{repo}.git") for repo in REPOS}
    check("nothing was pushed unasked", all(list(origin[repo]) == ["refs/heads/main"] for repo in REPOS), origin)
    ada.run(f"git clone -q ../origin/web.git ../somebody && cd ../somebody && echo 1 >theirs.txt && git add . && git commit -qm theirs && git push -q")
    theirs = ada.tips("web", ada.origins / "web.git")
    ada.refused("a push that nobody said yes to", "mcpkg flow push 1.0.1", "E_CONFIRM_REQUIRED")
    said = ada.run("mcpkg flow push 1.0.1 --yes", status=7)
    check("refused where origin has moved", "web: " in said and "lib: " not in said and "api: " not in said, said)
    check("there nothing moved", ada.tips("web", ada.origins / "web.git") == theirs)
    for repo in ("lib", "api"):
        check(f"{repo} is pushed", ada.tips(repo, ada.origins / f"{repo}.git")["refs/tags/v1.0.1"] == ada.tips(repo)["refs/tags/v1.0.1"])
    ada.run("mcpkg workspace sync")
    ada.run("cd web && git switch -q main && git merge -q --no-edit origin/main && git switch -q develop")
    ada.person("mcpkg flow push 1.0.1")
    ada.run("mcpkg flow push 1.0.0 --yes")
    for repo in REPOS:
        check(f"{repo}: origin has what is here", ada.tips(repo, ada.origins / f"{repo}.git") == ada.tips(repo))
    ada.refused("what was pushed is not taken back", "mcpkg flow undo", "E_FLOW_PUSHED")


def kills():
    heading("5. kill -9 before and after each git call")
    command = "env MCPKG_TEST_ALL=1 cargo test --locked --test main workspace::killed -- --nocapture"
    print(f"$ {command}", flush=True)
    ran = subprocess.run(command.split(), capture_output=True, text=True)
    counts = re.findall(r"^(?:test .*\.\.\. )?([\w ]+: (\d+) kills, .*)$", ran.stdout + ran.stderr, re.MULTILINE)
    print("".join(f"    {line}\n" for line, _ in counts), end="", flush=True)
    total = sum(int(number) for _, number in counts)
    panics = re.findall(r"panicked at .*\n.*", ran.stderr)
    check(f"all before or all after, in every repository, at each of {total} kills", ran.returncode == 0 and total > 0, panics or ran.stderr[-500:])


def dirty(ada):
    """Fills a worktree of the set `side` with what could be lost; returns how it is."""
    folder = ada.root / ".worktrees/side/api"
    (folder / "code.txt").write_text("edited\n")
    (folder / "staged.txt").write_text("staged\n")
    ada.run("git -C .worktrees/side/api add staged.txt && echo new >.worktrees/side/api/new.txt && echo SECRET=1 >.worktrees/side/api/.env")
    return folder


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file() and path.name != ".git"}


def remove(ada):
    heading("6. A worktree with edits, an untracked file and an ignored .env: removed with force, and restored")
    ada.run("mcpkg worktree add side")
    folder = dirty(ada)
    before, held = ada.state(), contents(folder)
    said = ada.run("mcpkg worktree remove side", status=1)
    check("without force it says what is in the way", "code.txt" in said and "new.txt" in said, said)
    check("and touches nothing in any of the three", ada.state() == before)
    ada.run("mcpkg worktree remove side --force")
    check("it is gone", not folder.exists())
    ada.run("mcpkg workspace kept")
    ada.run("mcpkg worktree restore side")
    check("all of it is back, .env too", contents(folder) == held, contents(folder))
    ada.run("git -C .worktrees/side/api status --short")


def gate(ada):
    heading("7. A model is registered and tested against its expected output; a gate elsewhere is down")
    ada.run(f"mcpkg gate models add {RELU}/model.onnx --name relu")
    ada.run("mcpkg gate models list")
    line = f"mcpkg gate test relu {RELU}"
    if ada.json("mcpkg gate status")["engine"] is None:
        said = ada.run(line, status=7)
        check("without the engine it says how to get it", NO_ENGINE in said, said)
        print("skipped: no model was run, since this mcpkg was built without gate-onnx", flush=True)
    else:
        check("the output is what is expected", ada.json(line)["expected_match"] is True)
    ada.refused("a gate that is down", "mcpkg gate status --url http://127.0.0.1:1", "E_GATE_UNREACHABLE", 7)


# By an agent.


def agent_story(bob):
    heading("1-4 and 6 again, by an agent: lines over stdio, `serve --mcp --stdio` by the name smctl")
    with Agent(bob) as agent:
        agent_begins(bob, agent)
        agent_changes(bob, agent)
        agent_meets_a_conflict(bob, agent)
        agent_releases(bob, agent)
        agent_removes(bob, agent)


def agent_begins(bob, agent):
    agent.refused("a tool outside of a workspace", "smctl_workspace_status", -32001)
    repos = [{"url": f"../origin/{repo}.git"} for repo in REPOS]
    said = agent.refused("a clone from outside of the folder takes a person", "smctl_workspace_init", -32000, name="shop", repos=repos)
    bob.consent(json.dumps(said))
    agent.call("smctl_workspace_init", name="shop", repos=repos)
    bob.settle()
    rows = agent.call("smctl_workspace_status")["repos"]
    check("agent: three clean clones", [(row["name"], row["clean"]) for row in rows] == [(repo, True) for repo in REPOS], rows)


def agent_changes(bob, agent):
    started = agent.call("smctl_flow_feature_start", name="login", worktree=True)
    for row in started["repos"]:
        check(f"agent: {row['repo_name']} has a worktree", row["worktree"].endswith(f".worktrees/login/{row['repo_name']}"), row)
        bob.commit(bob.root / ".worktrees/login" / row["repo_name"], "login.txt", "agent\n", "feat: log in")
    agent.call("smctl_spec_new", name="login")
    agent.refused("a scaffold", "smctl_spec_validate", -32003, name="login")
    bob.fill("login")
    agent.call("smctl_spec_validate", name="login")
    agent.call("smctl_spec_status", name="login")
    check("agent: it reads the proposal", "Users have no accounts" in agent.read("smctl://spec/login/proposal"))
    said = agent.refused("a first build takes a person", "smctl_build", -32000, parallel=True, test=True)
    bob.consent(json.dumps(said))
    failed = agent.refused("a build that fails", "smctl_build", -32004, parallel=True, test=True)
    found = failed["data"]["repo"], failed["data"]["step"], "found 3" in failed["message"]
    check("agent: the step and the last lines, in the message too", found == ("web", "test", True), failed)
    bob.commit(bob.root / ".worktrees/login/web", "code.txt", "one\ntwo\n", "fix: two lines")


def agent_meets_a_conflict(bob, agent):
    bob.commit(bob.root / ".worktrees/login/api", "README.md", "# api, with a login\n")
    bob.run("git -C api switch -q develop")
    bob.commit(bob.root / "api", "README.md", "# api, the second\n")
    before = bob.state()
    failed = agent.refused("a conflict", "smctl_flow_feature_finish", STATUS_OF_GIT, name="login")
    check("agent: all conflicts", failed["data"]["conflicts"] == [{"repo": "api", "target": "develop", "paths": ["README.md"]}], failed)
    check("agent: every ref, index and file of all three is as before", bob.state() == before)
    resolve(bob)
    before = bob.state()
    agent.call("smctl_flow_feature_finish", name="login")
    merged(bob)
    bob.run("mcpkg flow undo")
    check("agent: taken back by a person, everything is as before", bob.state() == before)
    agent.call("smctl_flow_feature_finish", name="login")
    merged(bob)
    agent.call("smctl_spec_archive", name="login")


def agent_releases(bob, agent):
    agent.call("smctl_flow_release_start", version="1.0.0")
    agent.refused("a push is not for an agent to ask for in passing", "smctl_flow_release_finish", -32602, version="1.0.0", push=True)
    agent.call("smctl_flow_release_finish", version="1.0.0")
    released(bob, "1.0.0")
    agent.call("smctl_flow_hotfix_start", name="1.0.1")
    for repo in REPOS:
        bob.commit(bob.root / repo, "fix.txt", f"{repo}\n", "fix: a leak")
    agent.call("smctl_flow_hotfix_finish", name="1.0.1")
    released(bob, "1.0.1")
    origin = {repo: list(bob.tips(repo, bob.origins / f"{repo}.git")) for repo in REPOS}
    check("agent: nothing was pushed", all(origin[repo] == ["refs/heads/main"] for repo in REPOS), origin)


def agent_removes(bob, agent):
    agent.call("smctl_worktree_add", name="side")
    agent.call("smctl_worktree_list")
    folder = dirty(bob)
    held = contents(folder)
    agent.refused("a set with changes", "smctl_worktree_remove", STATUS_OF_GIT, name="side")
    check("agent: nothing was touched", contents(folder) == held)
    agent.call("smctl_worktree_remove", name="side", force=True)
    check("agent: it is gone", not folder.exists())
    bob.run("mcpkg worktree restore side")
    check("agent: all of it is back", contents(folder) == held)


def main():
    ada = Shop("ada")
    begin(ada)
    change(ada)
    conflict(ada)
    release(ada)
    if not OPTIONS.no_kills:
        kills()
    remove(ada)
    gate(ada)
    agent_story(Shop("bob"))
    heading("8. Two subscribers of smctl://workspace/status, over stdio and over SSE")
    asyncio.run(told(ada, OPTIONS.port))
    heading("9. Every tool, called once by the Python client and by the MCP Inspector")
    all_tools(OPTIONS.inspector)
    end()


main()
