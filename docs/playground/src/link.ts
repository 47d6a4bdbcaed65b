/** Links to the page that have a job in their fragment, which browsers do not send to any server. */

import type { Platform } from "./answers";

export interface Shared {
  text: string;
  platform: Platform;
}

/** The fragment of a link, with its `#`: the text compressed, in base64 for URLs. */
export async function fragment({ text, platform }: Shared): Promise<string> {
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  const job = btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `#platform=${platform}&job=${job}`;
}

/**
 * What a fragment shares; undefined when it is not a link to a job.
 *
 * @throws Error when the link is cut off or damaged.
 */
export async function shared(hash: string): Promise<Shared | undefined> {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const job = fields.get("job");
  if (job === null) {
    return undefined;
  }
  const letters = atob(job.replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const text = await through(packed, new DecompressionStream("deflate-raw"));
  return {
    text: new TextDecoder("utf-8", { fatal: true }).decode(text),
    platform: fields.get("platform") === "ltp" ? "ltp" : "openpai",
  };
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream) {
  const packed = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(packed).arrayBuffer());
}
