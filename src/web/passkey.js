// Asks an authenticator for a passkey, or for its answer to a challenge, before a form is sent that needs it.
"use strict";
{
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
  const encoded = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const userVerification = "required";
  const timeout = 120000;
  const es256 = "mcpkg accepts only passkeys with ES256. Use another device or security key.";

  async function made(challenge, { name, user }) {
    const { response } = await navigator.credentials.create({
      publicKey: {
        challenge,
        timeout,
        rp: { name: "mcpkg" },
        user: { id: bytes(user), name, displayName: name },
        pubKeyCredParams: [{ type: "public-key", alg: -7 }],
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification },
        attestation: "none",
      },
    });
    return { client: response.clientDataJSON, data: response.getAuthenticatorData() };
  }

  async function answered(challenge, { credential }) {
    const allowCredentials = credential ? [{ type: "public-key", id: bytes(credential) }] : [];
    const { rawId, response } = await navigator.credentials.get({
      publicKey: { challenge, timeout, allowCredentials, userVerification },
    });
    const { clientDataJSON: client, authenticatorData: data, signature } = response;
    return { credential: rawId, client, data, signature };
  }

  function why(error) {
    if (!navigator.credentials) return "This browser cannot use passkeys at this address. They need HTTPS or localhost.";
    if (error.name === "NotSupportedError") return `This device cannot make a passkey that mcpkg accepts. ${es256}`;
    if (error.name === "NotAllowedError") return "The passkey was not used. Nothing was changed. Try again.";
    return `The passkey cannot be used: ${error.message}`;
  }

  const sent = new WeakSet();
  document.addEventListener("submit", async (event) => {
    const [form, button] = [event.target, event.submitter];
    const asked = form.querySelector("[data-challenge]");
    // Answering no needs no passkey.
    if (!asked || !button || button.formNoValidate || sent.delete(form)) return;
    event.preventDefault();
    asked.textContent = "";
    // The answer counts only for this form's ticket, so the form must not change meanwhile.
    form.dataset.asking = "";
    try {
      const challenge = bytes(asked.dataset.challenge);
      const parts = await ("name" in asked.dataset ? made : answered)(challenge, asked.dataset);
      for (const [name, part] of Object.entries(parts)) form.elements[name].value = encoded(part);
      sent.add(form);
      form.requestSubmit(button);
    } catch (error) {
      delete form.dataset.asking;
      asked.textContent = why(error);
    }
  });
}
