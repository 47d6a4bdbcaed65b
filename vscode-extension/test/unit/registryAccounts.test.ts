import assert from "node:assert/strict";
import { test } from "node:test";
import type { SecretStorage } from "vscode";
import { accountFor, keepAccount, registryName } from "../../src/registryAccounts";

test("registries are named as the server names them", () => {
  assert.equal(registryName(" https://Registry.example.com/v2/ "), "registry.example.com");
  assert.equal(registryName("registry.example.com:5000"), "registry.example.com:5000");
  assert.equal(registryName("docker.io"), "index.docker.io");
  assert.equal(registryName("https://index.docker.io/v1/"), "index.docker.io");
  assert.equal(registryName("team/image"), undefined);
  assert.equal(registryName("ann@registry.example.com"), undefined);
  assert.equal(registryName(""), undefined);
});

test("an account is given for its own registry only, until it is removed", async () => {
  const kept = new Map<string, string>();
  const secrets = {
    get: (key: string) => Promise.resolve(kept.get(key)),
    store: (key: string, value: string) => Promise.resolve(void kept.set(key, value)),
    delete: (key: string) => Promise.resolve(void kept.delete(key)),
  } as unknown as SecretStorage;
  const account = { name: "ann", password: "glue" };
  await keepAccount(secrets, "r.example.com", account);
  assert.deepEqual(await accountFor(secrets, { registry: "r.example.com" }), account);
  assert.equal(await accountFor(secrets, { registry: "other.example.com" }), null);
  assert.equal(await accountFor(secrets, {}), null);
  await keepAccount(secrets, "r.example.com", { name: "", password: "" });
  assert.equal(await accountFor(secrets, { registry: "r.example.com" }), null);
});
