import type { WebhookMessage } from "./generated.js";

/** A message that does not come from the service, or is older than five minutes. */
export class InvalidSignatureError extends Error {
  override readonly name = "InvalidSignatureError";
}

/**
 * Checks the signature of a message with the secret of the webhook, and decodes it. The body must be exactly as it was
 * received.
 */
export async function verifyWebhook(
  secret: string, headers: Headers | Record<string, string | string[] | undefined>, body: string | Uint8Array,
): Promise<WebhookMessage> {
  const header = (name: string) => (headers instanceof Headers ? headers.get(name) : headers[name])?.toString() ?? "";
  const [id, timestamp] = [header("webhook-id"), header("webhook-timestamp")];
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1_000 - Number(timestamp)) > 300) {
    throw new InvalidSignatureError(`The webhook-timestamp is ${JSON.stringify(timestamp)}.`);
  }
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", decode(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  for (const signature of header("webhook-signature").split(" ")) {
    // The comparison takes the same time wherever the signatures differ.
    if (signature.startsWith("v1,") && (await crypto.subtle.verify("HMAC", key, decode(signature.slice(3)), signed))) {
      return JSON.parse(text) as WebhookMessage;
    }
  }
  throw new InvalidSignatureError("The webhook has no valid signature.");
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
