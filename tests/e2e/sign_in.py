"""The Python client signs in: `sign_in.py URL NAME`. Prints `ok` or `FAILED` for each check, and what the person sees."""

import asyncio
import json
import sys
import warnings
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

warnings.simplefilter("ignore")

URL, NAME = sys.argv[1:]
REDIRECT = "http://127.0.0.1:1/callback"


class Memory:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    """Follows the redirects until the one that leads to the client."""

    answer = None

    async def open(self, url):
        async with httpx2.AsyncClient() as browser:
            while not url.startswith(REDIRECT):
                response = await browser.get(url)
                if response.status_code not in (302, 303):
                    raise AssertionError(f"{url}: {response.status_code} {response.text[:300]}")
                url = str(response.url.join(response.headers["location"]))
        self.answer = parse_qs(urlparse(url).query)

    async def come_back(self):
        if "code" not in self.answer:
            raise AssertionError(f"no code: {self.answer}")
        issuer = self.answer.get("iss", [None])[0]
        return AuthorizationCodeResult(code=self.answer["code"][0], state=self.answer["state"][0], iss=issuer)


async def main():
    browser = Browser()
    metadata = OAuthClientMetadata(
        client_name=NAME,
        redirect_uris=[REDIRECT],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    auth = OAuthClientProvider(URL, metadata, Memory(), browser.open, browser.come_back)
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
            tools = [tool.name for tool in (await client.list_tools()).tools]
            wrote = None
            if "create_prompt" in tools:
                result = await client.call_tool("create_prompt", {"name": f"by-{NAME}", "content": "x"})
                wrote = not result.is_error
            print(json.dumps({"prompts": prompts, "writes": "create_prompt" in tools, "wrote": wrote}))


asyncio.run(main())
