"""Writes a Homebrew formula, a Scoop manifest and a Nix flake for the archives in a folder. None of them is tested.

formulas.py DIR ADDRESS    ADDRESS is where the archives can be downloaded, such as the page of a release
"""

import hashlib
import json
import sys
from pathlib import Path

from pack import COMMAND, DATA, PLATFORMS, VERSION

folder, address = Path(sys.argv[1]), sys.argv[2].rstrip("/")
archives = {}
for target, platform in PLATFORMS.items():
    for file in folder.glob(f"{COMMAND}-{VERSION}-{target}.*"):
        archives[target] = (platform, f"{address}/{file.name}", hashlib.sha256(file.read_bytes()).hexdigest())


def brew():
    """Returns the formula. A block of a system holds one for each processor."""
    blocks = {}
    for platform, url, digest in archives.values():
        if "brew" in platform:
            system, processor = platform["brew"].split("/")
            block = f'    on_{processor} do\n      url "{url}"\n      sha256 "{digest}"\n    end\n'
            blocks.setdefault(system, []).append(block)
    systems = "".join(f"  on_{system} do\n{''.join(of)}  end\n\n" for system, of in sorted(blocks.items()))
    return f'''class Mcpkg < Formula
  desc "{DATA["summary"]}"
  homepage "{address}"
  version "{VERSION}"
  license any_of: {json.dumps(DATA["license"].split(" OR "))}

{systems}  def install
    bin.install "{COMMAND}"
    man1.install Dir["man/*"]
    bash_completion.install "completions/mcpkg.bash" => "mcpkg"
    zsh_completion.install "completions/_mcpkg"
    fish_completion.install "completions/mcpkg.fish"
  end

  test do
    system bin/"{COMMAND}", "demo"
  end
end
'''


def scoop():
    builds = {
        platform["scoop"]: {"url": url, "hash": digest, "extract_dir": f"{COMMAND}-{VERSION}-{target}"}
        for target, (platform, url, digest) in archives.items()
        if "scoop" in platform
    }
    manifest = {"version": VERSION, "description": DATA["summary"], "homepage": address, "license": DATA["license"]}
    return json.dumps({**manifest, "architecture": builds, "bin": f"{COMMAND}.exe"}, indent=4) + "\n"


def nix():
    sources = "".join(
        f'        {platform["nix"]} = {{ url = "{url}"; sha256 = "{digest}"; }};\n'
        for platform, url, digest in archives.values()
        if "nix" in platform
    )
    return f"""{{
  description = "{DATA["summary"]}";
  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";
  outputs = {{ self, nixpkgs }}:
    let
      archives = {{
{sources}      }};
      package = system: nixpkgs.legacyPackages.${{system}}.stdenvNoCC.mkDerivation {{
        pname = "{COMMAND}";
        version = "{VERSION}";
        src = nixpkgs.legacyPackages.${{system}}.fetchurl archives.${{system}};
        nativeBuildInputs = [ nixpkgs.legacyPackages.${{system}}.installShellFiles ];
        installPhase = ''
          install -Dm755 {COMMAND} $out/bin/{COMMAND}
          installManPage man/*
          installShellCompletion --bash --name mcpkg completions/mcpkg.bash
          installShellCompletion completions/_mcpkg completions/mcpkg.fish
        '';
      }};
    in {{
      packages = builtins.mapAttrs (system: _: {{ default = package system; }}) archives;
    }};
}}
"""


written = {"mcpkg.rb": brew(), "flake.nix": nix()}
if any("scoop" in platform for platform, _, _ in archives.values()):
    written["mcpkg.json"] = scoop()
for name, text in written.items():
    (folder / name).write_text(text)
    print(folder / name)
