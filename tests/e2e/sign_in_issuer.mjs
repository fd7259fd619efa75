// An authorization server that signs everybody in without asking: `sign_in_issuer.mjs PORT [PEOPLE]`. Who signs in follows from
// the name that the client registered under. PEOPLE is a file of JSON, which is read again for each token:
// `{ "CLIENT": { "name": "ada", "groups": ["platform"], "seconds": 600 } }`. Without it, ada is in the group platform, and bob in
// support.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.E2E_MODULES}/`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const file = process.argv[3];

/** Returns what is known of the person who uses the client with this name. */
function person(client) {
    const people = file ? JSON.parse(readFileSync(file, "utf8")) : { ada: { groups: ["platform"] }, bob: { groups: ["support"] } };
    return { name: client, groups: [], seconds: 600, ...people[client] };
}

const provider = new Provider(issuer, {
    features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
            enabled: true,
            defaultResource: () => undefined,
            useGrantedResource: () => true,
            getResourceServerInfo: (_context, resource, client) => ({
                audience: resource,
                scope: "openid",
                accessTokenFormat: "jwt",
                accessTokenTTL: person(client.clientName).seconds,
            }),
        },
    },
    scopes: ["openid", "offline_access"],
    clientDefaults: { token_endpoint_auth_method: "none" },
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_context, token) => ({
        groups: person(token.client.clientName).groups,
        preferred_username: token.accountId,
    }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
});

async function signIn(request, response) {
    const details = await provider.interactionDetails(request, response);
    const { client_id: id, scope, resource } = details.params;
    const client = await provider.Client.find(id);
    const accountId = person(client.clientName).name;
    console.log(`signs in: ${accountId} by ${client.clientName}`);
    const grant = new provider.Grant({ accountId, clientId: id });
    grant.addOIDCScope(scope ?? "openid");
    for (const one of [resource ?? []].flat()) grant.addResourceScope(one, scope ?? "openid");
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

const handle = provider.callback();
createServer((request, response) => {
    if (!request.url.startsWith("/interaction/")) return handle(request, response);
    signIn(request, response).catch((error) => {
        console.error(error);
        response.writeHead(500).end();
    });
}).listen(port, "127.0.0.1", () => console.log("ready"));
