/** The user's accounts at image registries, in VS Code's secret storage; the server asks for one when it needs it. */

import type { SecretStorage } from "vscode";

export interface RegistryAccount {
  readonly name: string;
  readonly password: string;
}

/** The server's own request, with a `RegistryQuestion`; the answer is a `RegistryAccount`, or null without one. */
export const REGISTRY_ACCOUNT = "pai-lsp/registryAccount";

const DOCKER_HUB = "index.docker.io";

/** The host and port that the server names a registry by; undefined if the text is not a registry. */
export function registryName(text: string): string | undefined {
  const host = text
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/\/(v[12]\/?)?$/, "");
  if (host === "docker.io" || host === "hub.docker.com" || host === "registry-1.docker.io") {
    return DOCKER_HUB;
  }
  return /^[a-z0-9.-]+(:[0-9]+)?$/.test(host) ? host : undefined;
}

/** Keep the account at a registry; without a password, remove it. */
export async function keepAccount(secrets: SecretStorage, registry: string, account: RegistryAccount): Promise<void> {
  if (account.password === "") {
    await secrets.delete(key(registry));
  } else {
    await secrets.store(key(registry), JSON.stringify({ name: account.name, password: account.password }));
  }
}

/** The answer to the server's request. */
export async function accountFor(secrets: SecretStorage, question: unknown): Promise<RegistryAccount | null> {
  const registry = (question as { readonly registry?: unknown } | null)?.registry;
  const kept = typeof registry === "string" ? await secrets.get(key(registry)) : undefined;
  return kept === undefined ? null : (JSON.parse(kept) as RegistryAccount);
}

function key(registry: string): string {
  return `registry:${registry}`;
}
