// An authorization server that signs everybody in without asking: `sign_in_issuer.mjs PORT`. Who it is, is the name that the
// client registered under. ada is in the group platform, and bob in support.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.E2E_MODULES}/`);
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const groups = { ada: ["platform"], bob: ["support"] };

const provider = new Provider(issuer, {
    features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
            enabled: true,
            defaultResource: () => undefined,
            useGrantedResource: () => true,
            getResourceServerInfo: (_context, resource) => ({
                audience: resource,
                scope: "openid",
                accessTokenFormat: "jwt",
                accessTokenTTL: 600,
            }),
        },
    },
    scopes: ["openid", "offline_access"],
    clientDefaults: { token_endpoint_auth_method: "none" },
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_context, token) => ({ groups: groups[token.accountId] ?? [], preferred_username: token.accountId }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
});

async function signIn(request, response) {
    const details = await provider.interactionDetails(request, response);
    const { client_id: id, scope, resource } = details.params;
    const client = await provider.Client.find(id);
    const accountId = client.clientName;
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
