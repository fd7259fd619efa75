"""The story of a new user with three repositories, in the layouts that people publish: `sources.py MCPKG FOLDER [AGENT=PROGRAM]...`."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from story import FOLDER, Home, check, end, show

AGENTS = dict(word.split("=", 1) for word in sys.argv[3:])
HERE = Path(__file__).parent


def skill(name, text):
    return f"---\nname: {name}\ndescription: {text}\n---\n# {name}\n\nFirst step.\n\nSecond step.\n\nThird step.\n"


REPOSITORIES = {
    # A folder for each skill, with scripts beside it.
    "skills": {
        "LICENSE": "MIT\n",
        "README.md": "Skills.\n",
        "skills/tidy/SKILL.md": skill("tidy", "MARK-SKILL tidies a folder"),
        "skills/forms/SKILL.md": skill("forms", "Fills in forms"),
        "skills/forms/scripts/fill.py": "#!/usr/bin/env python3\nprint('filled')\n",
        "skills/forms/reference.md": "What a form has.\n",
        "template/SKILL.md": skill("template", "Shows how a skill is written"),
    },
    # A folder for each plugin, with its subagents, commands and skills.
    "plugins": {
        ".claude-plugin/marketplace.json": '{"name": "kit", "owner": {"name": "Kit"}, "plugins": []}\n',
        "plugins/review/.claude-plugin/plugin.json": '{"name": "review", "version": "1.0.0"}\n',
        "plugins/review/agents/checker.md": "---\nname: checker\ndescription: MARK-AGENT checks a change\ntools: Read, Grep\n---\nYou check.\n",
        "plugins/review/agents/judge.md": "---\nname: judge\ndescription: Judges a change\n---\nYou judge.\n",
        "plugins/review/commands/explain.md": "---\ndescription: Explains\n---\nExplain $ARGUMENTS with MARK-COMMAND\n",
        "plugins/review/skills/audit/SKILL.md": skill("audit", "Audits a change"),
        "plugins/release/commands/release-notes.md": "Write the notes of $1.\n",
        "plugins/release/commands/cut.md": "Cut the release $ARGUMENTS.\n",
    },
    # Rules of several agents, scoped and not.
    "rules": {
        # For those who work on the repository, so it is not added.
        "AGENTS.md": "Run the tests before you commit.\n",
        ".cursor/rules/always.mdc": "---\ndescription: Always\nalwaysApply: true\n---\nMARK-ALWAYS is loaded always.\n",
        ".cursor/rules/python.mdc": "---\ndescription: Python\nglobs: src/**/*.py\nalwaysApply: false\n---\nMARK-SCOPED is for Python.\n",
        ".github/instructions/docs.instructions.md": '---\napplyTo: "docs/**"\n---\nMARK-DOCS is for documents.\n',
        ".github/prompts/summary.prompt.md": "---\ndescription: Sums up\n---\nSum up what changed.\n",
    },
}

# What of a kind there is, as find tells.
FOUND = {
    "skill": "-name SKILL.md",
    "subagent": "-path '*/agents/*.md'",
    "prompt": "'(' -path '*/commands/*.md' -o -name '*.prompt.md' ')'",
    "instructions": "'(' -name '*.mdc' -o -name '*.instructions.md' ')'",
}


def publish(home, name, files, what):
    """Writes files to a repository, commits and pushes them."""
    tree = home.path / "upstream" / name
    for path, text in files.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if text.startswith("#!"):
            file.chmod(0o755)
    home.run(f"git -C upstream/{name} add -A && git -C upstream/{name} commit -qm '{what}' && git -C upstream/{name} push -q origin main", quiet=True)


def upstream(home):
    """Makes the three repositories, each with a bare one that others fetch from."""
    for name, files in REPOSITORIES.items():
        home.run(f"git init -q --bare -b main served/{name}.git && git init -q -b main upstream/{name} && git -C upstream/{name} remote add origin $PWD/served/{name}.git", quiet=True)
        publish(home, name, files, "first")


def number(home, line):
    return int(home.run(f"{line} | wc -l", quiet=True).strip())


def files_of(folder):
    """The path, mode and SHA-256 of each file below a folder, but git's own."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".git" not in path.relative_to(folder).parts:
            found[str(path.relative_to(folder))] = (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
    return found


def ask(agent, folder, text, *marks):
    """Asks an agent what it sees; returns how often each mark stands in what it sent to its model."""
    words = ["node", str(HERE / "ask.mjs"), agent, str(folder), text, *marks]
    ran = subprocess.run(words, env=os.environ | {"E2E_AGENT": AGENTS[agent]}, capture_output=True, text=True)
    print(f"{agent}$ {text}", flush=True)
    show(ran.stdout + ran.stderr)
    return json.loads(ran.stdout) if ran.returncode == 0 else {}


def proposals_of(home):
    return home.json("mcpkg evolve list")["data"]["proposals"]


maker, ann, bob = Home("maker"), Home("ann"), Home("bob")
for home in (maker, ann, bob):
    home.run(f"git config --global user.name {home.name} && git config --global user.email {home.name}@example.com && git config --global init.defaultBranch main", quiet=True)
upstream(maker)
url = {name: f"file://{maker.path}/served/{name}.git" for name in REPOSITORIES}

print("\n# What comes in")
ann.run("mcpkg project create kit")
for name in REPOSITORIES:
    said = json.loads(ann.run(f"mcpkg source add {url[name]} --yes --json", quiet=True))
    counts = said["counts"]
    print(f"    {({kind: count for kind, count in counts.items() if count})}")
    for kind, pattern in FOUND.items():
        there = number(maker, f"find upstream/{name} -type f -not -path '*/.git/*' {pattern}")
        check(f"{name}: {there} of {kind}, as find says", counts[kind] == there, counts)
    files = number(maker, f"find upstream/{name} -type f -not -path '*/.git/*'")
    told = said["files"]
    check(f"{name}: each of {files} files is accounted for", told["total"] == files == told["imported"] + told["same"] + told["left_out"], told)
ann.run("mcpkg source list")

print("\n# What a plan costs each agent, at 80 columns")
code = ann.path / "code"
(code / "src").mkdir(parents=True)
(code / "docs").mkdir()
(code / "src" / "a.py").write_text("x = 1\n")
(code / "README.md").write_text("Code.\n")
ann.run("git init -q code && git -C code add -A && git -C code commit -qm first", quiet=True)
ann.folder = code
pristine = files_of(code)
ann.run("mcpkg target disable cursor vscode && mcpkg target enable copilot gemini opencode")
plan = ann.person("stty rows 30 cols 80; mcpkg --no-pager plan")
lines = [line.rstrip("\r") for line in plan.splitlines()]
rows = [line for line in lines if line.startswith(("op ", "create "))]
check(f"each of {len(rows)} lines of the table fits the terminal", len(rows) > 20 and all(len(row) <= 80 for row in rows), rows)
budget = plan[plan.find("Loaded in each session") :]
for agent in ("Claude Code", "Codex", "Copilot CLI", "Gemini CLI", "OpenCode"):
    check(f"the plan says how much {agent} loads always", re.search(agent.replace(" ", r"\s+") + r"\s+(\d+\s+->\s+)?\d+\s+bytes", budget), plan)
check("nothing was written by a plan", files_of(code) == pristine)

print("\n# Deployed, and asked of the agents themselves")
ann.run("mcpkg deploy --apply --yes")
state = ann.run("mcpkg status")
check("what was deployed is as it was written", "Nothing drifted" in state, state)
# Agents write files of their own where they are started.
asked = ann.path / "asked"
MARKS = ("MARK-ALWAYS", "MARK-SCOPED", "MARK-DOCS", "MARK-SKILL", "MARK-AGENT")
shutil.copytree(code, asked, symlinks=True)
for agent in AGENTS:
    seen = ask(agent, asked, "Hello", *MARKS)
    check(f"{agent} has the instructions once", seen.get("MARK-ALWAYS") == 1, seen)
    check(f"{agent} has no rule that is for other files", seen.get("MARK-SCOPED") == 0 and seen.get("MARK-DOCS") == 0, seen)
    check(f"{agent} is offered the skill", seen.get("MARK-SKILL", 0) >= 1, seen)
    if agent in ("claude", "copilot", "opencode"):
        check(f"{agent} is offered the subagent", seen.get("MARK-AGENT", 0) >= 1, seen)

print("\n# A change upstream and an edit of one's own")
ann.run("mcpkg resource show skill://tidy/SKILL.md >tidy.md && sed -i 's/Third step./Third step, as Ann does it./' tidy.md && mcpkg skill update tidy @tidy.md && rm tidy.md")
changed = REPOSITORIES["skills"]["skills/tidy/SKILL.md"].replace("First step.", "First step, done better.")
publish(maker, "skills", {"skills/tidy/SKILL.md": changed, "skills/new/SKILL.md": skill("new", "Is new")}, "second")
ann.run("mcpkg source outdated --check", status=3)
ann.run("mcpkg source update")
merged = ann.run("mcpkg resource show skill://tidy/SKILL.md", quiet=True)
check("both sides of a change are there", "done better" in merged and "as Ann does it" in merged, merged)
check("what is new upstream came too", "Is new" in ann.run("mcpkg resource show skill://new/SKILL.md", quiet=True))
publish(maker, "skills", {"skills/tidy/SKILL.md": changed.replace("Third step.", "Third step, as upstream does it.")}, "third")
ann.run("mcpkg source update")
proposals = proposals_of(ann)
check("what both sides changed is one proposal, and nothing is lost", len(proposals) == 1, proposals)
kept = ann.run("mcpkg resource show skill://tidy/SKILL.md", quiet=True)
check("the project stays as Ann left it until she decides", "as Ann does it" in kept and "as upstream" not in kept, kept)
ann.run(f"mcpkg evolve show {proposals[0]['id']}")
ann.run(f"mcpkg evolve accept {proposals[0]['id']}")
check("accepted, it is the upstream version", "as upstream does it" in ann.run("mcpkg resource show skill://tidy/SKILL.md", quiet=True))
ann.run("mcpkg deploy --apply --yes")
if "claude" in AGENTS:
    shutil.copytree(code, asked, symlinks=True, dirs_exist_ok=True)
    called = ask("claude", asked, "/tidy", "done better", "as upstream does it")
    check("claude calls the skill as it is now", called.get("done better", 0) >= 1 and called.get("as upstream does it", 0) >= 1, called)

print("\n# Locked, and installed in a fresh home")
ann.run(f"mcpkg source lock --locked-file {FOLDER}/mcpkg.lock")
bob.run("mcpkg project create kit")
bob.run(f"mcpkg source install --locked {FOLDER}/mcpkg.lock --yes")


def digests(home):
    return {source["name"]: (source["commit"], source["digest"], source["items"]) for source in home.json("mcpkg source list")["sources"]}


check("the same commits, the same bytes, as many items", digests(ann) == digests(bob), (digests(ann), digests(bob)))

print("\n# A folder that two homes share by git")
ann.folder = ann.path
ann.run(f"git init -q --bare {FOLDER}/team.git && git clone -q {FOLDER}/team.git team", quiet=True)
ann.run("mcpkg sync team")
ann.run("git -C team add -A && git -C team commit -qm kit && git -C team push -q origin HEAD:main")
bob.run(f"git clone -q -b main {FOLDER}/team.git team")
bob.run("mcpkg sync team")
bob.run("mcpkg sync --check")
bob.run("mcpkg prompt create standup 'What did you do?'")
ann.run("mcpkg prompt create retro 'What went well?'")
for home in (bob, ann):
    home.run("mcpkg sync")
    home.run(f"git -C team add -A && git -C team commit -qm {home.name} && git -C team pull -q --rebase origin main && mcpkg sync && git -C team push -q origin HEAD:main")
bob.run("git -C team pull -q --rebase origin main && mcpkg sync")
for home in (ann, bob):
    names = {prompt["name"] for prompt in home.json("mcpkg prompt list")["prompts"]}
    check(f"{home.name} has what both wrote", {"standup", "retro"} <= names, names)
check("both folders are the same, to the byte", files_of(ann.path / "team") == files_of(bob.path / "team"))
bob.run("mcpkg prompt delete standup --yes && mcpkg sync", status=1)
[asked_of_bob] = proposals_of(bob)
bob.run(f"mcpkg evolve accept {asked_of_bob['id']} && mcpkg sync && git -C team add -A && git -C team commit -qm 'no standup' && git -C team push -q origin HEAD:main")
ann.run("git -C team pull -q --rebase origin main && mcpkg sync", status=1)
waiting = proposals_of(ann)
check("what Bob deleted is a proposal to Ann, who has it still", len(waiting) == 1 and "What did you do?" in ann.run("mcpkg prompt show standup", quiet=True), waiting)

print("\n# Back to how it was")
ann.folder = code
ann.run("mcpkg rollback --to pristine --yes")
check("the folder is as it was before mcpkg came, to the byte", files_of(code) == pristine, sorted(set(files_of(code)) ^ set(pristine)))
end()
