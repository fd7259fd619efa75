"""People of the story of teams, who sign in with a plain client of this file, and ask and listen with their tokens."""

import base64
import hashlib
import http.client
import json
import re
import secrets
import threading
import time
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from engines_load import message

REDIRECT = "http://127.0.0.1:1/callback"


class Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects: the last one leads to a client that listens nowhere."""

    def redirect_request(self, *_):
        return None


class Browser:
    """Follows redirects with cookies, until one leads to the client."""

    def __init__(self):
        self.opener = urllib.request.build_opener(Stay, urllib.request.HTTPCookieProcessor(CookieJar()))

    def sign_in(self, url):
        """Returns what the client gets in its redirect."""
        while not url.startswith(REDIRECT):
            try:
                with self.opener.open(url, timeout=30) as answer:
                    raise SystemExit(f"{url} does not lead on: {answer.status}")
            except urllib.error.HTTPError as answer:
                if answer.code not in (302, 303):
                    raise SystemExit(f"{url}: {answer.code} {answer.read()[:300]}") from answer
                url = urljoin(url, answer.headers["location"])
        return parse_qs(urlsplit(url).query)


def fetch(url, form=None, document=None):
    """Returns a document of JSON."""
    body, kind = None, {}
    if form is not None:
        body, kind = urlencode(form).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    if document is not None:
        body, kind = json.dumps(document).encode(), {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, kind), timeout=30) as answer:
        return json.load(answer)


def claims(token):
    """Returns the claims of a token, unchecked."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def encode(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class Person:
    """A person with a client, which finds the issuer by what the endpoint says, and registers there under the person's name."""

    def __init__(self, name, url):
        self.name, self.url, self.token, self.client = name, url, None, None

    def sign_in(self):
        """Gets a token, with a code and PKCE; returns the person."""
        status, headers = refusal(self.url)
        found = re.search(r'resource_metadata="([^"]+)"', headers.get("www-authenticate", ""))
        if status != 401 or not found:
            raise SystemExit(f"{self.url} does not say where to sign in: {status} {headers}")
        resource = fetch(found[1])
        if resource["resource"] != self.url:
            raise SystemExit(f"{found[1]} is about {resource['resource']}")
        issuer = fetch(resource["authorization_servers"][0] + "/.well-known/openid-configuration")
        self.client = self.client or fetch(issuer["registration_endpoint"], document={
            "client_name": self.name, "redirect_uris": [REDIRECT], "grant_types": ["authorization_code"],
            "response_types": ["code"], "token_endpoint_auth_method": "none",
        })["client_id"]
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code", "client_id": self.client, "redirect_uri": REDIRECT, "state": secrets.token_urlsafe(),
            "scope": " ".join(resource["scopes_supported"]), "resource": self.url,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }
        given = Browser().sign_in(f"{issuer['authorization_endpoint']}?{urlencode(asked)}")
        if given.get("state") != [asked["state"]] or "code" not in given:
            raise SystemExit(f"the issuer gave no code: {given}")
        self.token = fetch(issuer["token_endpoint"], form={
            "grant_type": "authorization_code", "code": given["code"][0], "redirect_uri": REDIRECT,
            "client_id": self.client, "code_verifier": verifier, "resource": self.url,
        })["access_token"]
        return self

    def at(self, port):
        """Returns the person, who asks a server without the proxy."""
        direct = Person(self.name, f"http://127.0.0.1:{port}/mcp")
        direct.token = self.token
        return direct

    def ask(self, method, params, token=None):
        """Returns the status and the message of an answer."""
        status, _, text = ask(self.url, method, params, token or self.token)
        return status, json.loads(text) if text.startswith("{") else {}

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def tools(self):
        """Returns the names of the tools that are listed."""
        status, answer = self.ask("tools/list", {})
        return {tool["name"] for tool in answer["result"]["tools"]} if status == 200 else set()

    def listen(self):
        return Stream(self)


def refusal(url):
    """Returns the status and the headers that somebody without a token gets."""
    try:
        urllib.request.urlopen(url, timeout=30).close()
        return 200, {}
    except urllib.error.HTTPError as answer:
        return answer.code, {name.lower(): value for name, value in answer.headers.items()}


def ask(url, method, params, token):
    """Sends a request on a connection of its own; returns the status, the headers and the text of the answer."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    try:
        connection.request("POST", where.path, *message(method, params, token))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


class Stream:
    """A stream that listens for changes of prompts, until it ends."""

    def __init__(self, person):
        self.person, self.lines, self.ended_at = person, [], None
        where = urlsplit(person.url)
        self.connection = http.client.HTTPConnection(where.hostname, where.port, timeout=300)
        wanted = {"notifications": {"promptsListChanged": True}}
        self.connection.request("POST", where.path, *message("subscriptions/listen", wanted, person.token))
        self.answer = self.connection.getresponse()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while line := self.answer.readline():
                self.lines.append(line.decode().strip())
        except (OSError, http.client.HTTPException) as error:
            self.lines.append(repr(error))
        self.ended_at = time.time()

    def heard(self, what):
        return any(what in line for line in self.lines)


def stranger(token):
    """Returns a token like this one that names a key that the issuer does not publish."""
    header = {"alg": "RS256", "typ": "at+jwt", "kid": "nobody-knows-it"}
    return f"{encode(header)}.{encode(claims(token))}.c2lnbmVk"
