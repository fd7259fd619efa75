"""Attacks on sign-in, against running servers of the story of teams. The page "Attacks on sign-in" of the docs lists all of them,
each with its test."""

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections import Counter
from pathlib import Path

from teams_people import Person, ask, claims, encode, fetch, stranger

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/sign-in-attacks.md"


def signed(header, content, secret=None):
    """Returns a token, signed with a secret if there is one."""
    text = f"{encode(header)}.{encode(content)}"
    made = hmac.new(secret, text.encode(), hashlib.sha256).digest() if secret else b""
    return f"{text}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def header(token):
    part = token.split(".")[0]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def attacks(person, issuer, expired):
    """Returns for each attack a token, and what the server has to say."""
    token, content = person.token, claims(person.token)
    first, _, last = token.split(".")
    published = fetch(f"{issuer.url}/jwks")["keys"]
    key = next(key for key in published if key["kid"] == header(token)["kid"])
    known = {"alg": "HS256", "typ": "at+jwt", "kid": key["kid"]}
    shop = Person(person.name, person.url.replace("/mcp", "/projects/shop/mcp")).sign_in()
    return {
        "alg: none": (signed({"alg": "none", "typ": "at+jwt"}, content), "algorithm"),
        "HS256 with the public key": (signed(known, content, json.dumps(key).encode()), "algorithm"),
        "HS256 with its modulus": (signed(known, content, key["n"].encode()), "algorithm"),
        "changed claims": (f"{first}.{encode(content | {'groups': ['admin']})}.{last}", "signature"),
        "another issuer": (f"{first}.{encode(content | {'iss': 'https://evil.example'})}.{last}", "another issuer"),
        "another audience": (f"{first}.{encode(content | {'aud': 'https://other.example/mcp'})}.{last}", "signature"),
        "the token of another endpoint": (shop.token, "another server or endpoint"),
        "an unknown key": (stranger(token), "key that the issuer does not publish"),
        "a key of its own in the header": (signed({**header(token), "kid": "own", "jwk": key}, content), "key that the issuer does not publish"),
        "not yet valid": (f"{first}.{encode(content | {'nbf': time.time() + 999})}.{last}", "not valid"),
        "no expiry": (f"{first}.{encode({name: value for name, value in content.items() if name != 'exp'})}.{last}", "not a valid token"),
        "expired": (expired, "expired"),
        "too long": (f"{first}.{encode(content | {'more': 'x' * 20_000})}.{last}", "too long"),
    }


def crowded(team):
    """Strangers send tokens that are refused, through the proxy, while a person works."""
    team.heading("6. Strangers send tokens that nobody accepts, through the proxy")
    over, statuses = threading.Event(), []

    def stranger(number):
        sent = 0
        while not over.is_set():
            sent += 1
            ask(team.url, "prompts/list", {}, signed({"alg": "none"}, {"sub": f"{number}-{sent}"}))
            time.sleep(0.02)

    threads = [threading.Thread(target=stranger, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 8
    while time.monotonic() < until:
        statuses.append(ask(team.url, "prompts/get", {"name": "by-ada"}, team.tokens[len(statuses) % len(team.tokens)])[0])
        time.sleep(0.02)
    over.set()
    for thread in threads:
        thread.join()
    failed = Counter(status for status in statuses if status != 200)
    team.row("attacks", "people's requests succeed while four strangers send bad tokens", f"{failed.total()} of {len(statuses)} failed",
             not failed, f"{dict(failed)}: does a server close a connection without saying so?")
    # By then, the proxy considers every server healthy again.
    time.sleep(4)


def attacked(team, expired):
    team.heading("5. Attacks on sign-in")
    dora, server, wrong = team.people["dora"], team.servers[0], []
    tried = attacks(dora, team.issuer, expired)
    dora = dora.at(server.port)
    for attack, (token, why) in tried.items():
        status, answer = dora.ask("prompts/list", {}, token)
        said = answer.get("error", {}).get("message", "")
        print(f"    {attack}: {status} {said}", flush=True)
        if status != 401 or why not in said:
            wrong.append((attack, status, said))
    status, _ = Person("dora", dora.url.replace("/mcp", "/projects/shop/mcp")).ask("prompts/list", {}, dora.token)
    print(f"    the token of /mcp at a project's endpoint: {status}", flush=True)
    if status != 401:
        wrong.append(("the token of /mcp at a project's endpoint", status, ""))
    team.row("attacks", "each is refused with 401 and its reason", f"{len(tried) + 1 - len(wrong)} of {len(tried) + 1}", not wrong, wrong)
    status, _ = dora.ask("prompts/list", {})
    team.row("attacks", "a valid token of the same address still works", f"{status}", status == 200)
    page = PAGE.read_text()
    files = re.findall(r"`([\w/]+\.rs)`", page)
    tests = "".join((ROOT / file).read_text() for file in files)
    named = [re.findall(r"`(\w+)`", line.split("|")[-2]) for line in page.splitlines() if line.startswith("| ") and " | tests |" not in line and "---" not in line]
    missing = [name for names in named for name in names if f"fn {name}()" not in tests]
    team.row("attacks", "each one that the docs list names a test that is there", f"{len(named)} attacks, {len({name for names in named for name in names})} tests",
             len(named) > 20 and all(named) and not missing, missing)
