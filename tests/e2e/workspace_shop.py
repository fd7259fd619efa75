"""Three repositories and a workspace of them, as the story of workspaces has them."""

import hashlib
import re
import subprocess

from story import Home

REPOS = ("lib", "api", "web")

# What each repository begins with; web's test fails until somebody mends it.
BUILD = 'test -s code.txt && echo "built $(basename "$PWD")"\n'
TEST = 'wanted=2 found=$(wc -l <code.txt)\ntest "$found" = "$wanted" || { echo "wanted $wanted lines, found $found"; exit 1; }\n'
CODE = {"lib": "one\ntwo\n", "api": "one\ntwo\n", "web": "one\ntwo\nthree\n"}

PROPOSAL = "## Why\n\nUsers have no accounts.\n\n## What Changes\n\n- The API takes a name and a password.\n"
DESIGN = "## Decisions\n\n### Decision 1: Sessions\n\n**Choice:** In memory.\n**Rationale:** There is one server.\n"
TASKS = "## Implementation\n\n- [x] 1.1 Sessions\n- [x] 1.2 The route\n"


class Shop(Home):
    """A person with three bare repositories in `origin/`, and a folder `shop` for a workspace of them."""

    def __init__(self, name, origins="origin"):
        super().__init__(name)
        self.root = self.path / "shop"
        self.root.mkdir()
        self.origins = self.path / origins
        settings = "[user]\n\tname = {0}\n\temail = {0}@example.org\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
        (self.path / ".gitconfig").write_text(settings.format(name))
        for repo in REPOS:
            seed = self.path / "seed" / repo
            seed.mkdir(parents=True)
            for file, text in {"README.md": f"# {repo}\n", "code.txt": CODE[repo], "build.sh": BUILD, "test.sh": TEST}.items():
                (seed / file).write_text(text)
            (seed / ".gitignore").write_text(".env\ntarget/\n")
            self.git("init -q", seed)
            for file in ("README.md", "code.txt", "."):
                self.git(f"add {file}", seed)
                self.git(f"commit -q --allow-empty -m 'first {file}'", seed)
            self.git(f"clone -q --bare . {self.origins / repo}.git", seed)
        self.folder = self.root

    def git(self, line, folder):
        """Runs git without a word about it."""
        ran = subprocess.run(["bash", "-ec", f"git {line}"], cwd=folder, env=self.env, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"git {line} in {folder}: {ran.stderr}")
        return ran.stdout.strip()

    def settle(self):
        """Writes into the manifest what a person would: commands, and what depends on what."""
        manifest = self.root / ".smctl/workspace.toml"
        text = manifest.read_text()
        for repo in REPOS:
            more = f'name = "{repo}"\nbuild_cmd = "sh build.sh"\ntest_cmd = "sh test.sh"\n'
            more += "" if repo == "lib" else 'depends_on = ["lib"]\n'
            text = text.replace(f'name = "{repo}"\n', more)
        manifest.write_text(text + '\n[flow]\nchangelog = "CHANGELOG.md"\n')
        print(f"{self.name}# writes build_cmd, test_cmd, depends_on and flow.changelog into .smctl/workspace.toml", flush=True)

    def fill(self, spec):
        """Fills the documents of a spec in, as an editor would."""
        folder = self.root / "openspec/changes" / spec
        for file, text in {"proposal.md": PROPOSAL, "design.md": DESIGN, "tasks.md": TASKS}.items():
            (folder / file).write_text(text)
        print(f"{self.name}# fills in openspec/changes/{spec}/proposal.md, design.md and tasks.md", flush=True)

    def commit(self, folder, file, text, message=None):
        """Writes a file and commits it."""
        (folder / file).write_text(text)
        self.run(f"cd {folder.relative_to(self.root)} && git add {file} && git commit -qm '{message or file}'", quiet=True)

    def state(self):
        """How the workspace is: refs but those that keep old commits, HEADs, indexes, files, and the work trees that git knows."""
        found = {}
        for repo in REPOS:
            folder = self.root / repo
            refs = self.git("for-each-ref --format='%(refname) %(objectname)'", folder).splitlines()
            found[repo] = [line for line in refs if not line.startswith("refs/mcpkg/")]
            asked = ("rev-parse --symbolic-full-name HEAD", "ls-files -s", "status --porcelain --ignored", "worktree list")
            found[repo] += [self.git(line, folder) for line in asked]
        for path in sorted(self.root.rglob("*")):
            within = path.relative_to(self.root).parts
            if path.is_file() and ".git" not in within and within[0] != ".smctl":
                found["/".join(within)] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def tips(self, repo, where=None):
        """The branches and tags of a repository, with what they point to."""
        lines = self.git("for-each-ref --format='%(refname) %(objectname)' refs/heads refs/tags", where or self.root / repo)
        return dict(line.split() for line in lines.splitlines())

    def consent(self, said):
        """A person consents to the request that an agent was told of."""
        request = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", said)[0]
        self.run(f"mcpkg consent show {request}")
        self.person(f"mcpkg consent approve {request}")
