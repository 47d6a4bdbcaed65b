import assert from "node:assert/strict";
import { test } from "node:test";
import { sectionFor } from "../../src/settings";

function configuration(values: Readonly<Record<string, unknown>>) {
  return { get: (key: string) => values[key] };
}

test("settings are sent with the keys of .pai-lsp.yaml", () => {
  const section = sectionFor(
    configuration({
      "openpai.rules": { "moving-image-tag": "off" },
      "openpai.preview": true,
      "openpai.plugins": ["teamwise_storage"],
      "openpai.exclude": ["templates/**"],
      "openpai.marketplace.sources": [{ directory: "market" }],
      "openpai.marketplace.allowedHosts": ["pai.example.com"],
      "openpai.inlayHints.resources": false,
      "openpai.codeLens.preview": false,
      "openpai.server.command": "/not/the/server's/business",
    }),
    "openpai",
  );
  assert.deepEqual(section, {
    rules: { "moving-image-tag": "off" },
    preview: true,
    plugins: ["teamwise_storage"],
    exclude: ["templates/**"],
    marketplace: { sources: [{ directory: "market" }], allowed_hosts: ["pai.example.com"] },
    inlayHints: { resources: false },
    codeLens: { preview: false },
  });
});

test("an empty list is not sent: it would replace the folder that the server finds by itself", () => {
  const values = { "openpai.rules": {}, "openpai.marketplace.sources": [], "openpai.plugins": null };
  assert.deepEqual(sectionFor(configuration(values), "openpai"), {});
});

test("other sections are not sent", () => {
  assert.equal(sectionFor(configuration({ "files.encoding": "utf8" }), "files"), null);
  assert.equal(sectionFor(configuration({}), undefined), null);
});
