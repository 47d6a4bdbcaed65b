import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { isAtLeast, OLDEST_SERVER } from "../../src/server/version";

interface Manifest {
  readonly version: string;
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly configuration: readonly {
      readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    }[];
    readonly languageModelTools: readonly {
      readonly name: string;
      readonly displayName: string;
      readonly modelDescription: string;
      readonly when: string;
      readonly inputSchema: unknown;
    }[];
    readonly menus: Readonly<Record<string, readonly { readonly command?: string }[]>>;
    readonly walkthroughs: readonly {
      readonly steps: readonly {
        readonly description: string;
        readonly media: { readonly image: Readonly<Record<string, string>> };
      }[];
    }[];
  };
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
}

/** The tests run in the extension's folder. */
const HOME = process.cwd();
const manifest = JSON.parse(fs.readFileSync(path.join(HOME, "package.json"), "utf8")) as Manifest;
const texts = (name: string) => JSON.parse(fs.readFileSync(path.join(HOME, name), "utf8")) as Record<string, string>;
const english = texts("package.nls.json");
const source = fs
  .readdirSync(path.join(HOME, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => fs.readFileSync(path.join(HOME, "src", name), "utf8"))
  .join("\n");
const properties = Object.assign({}, ...manifest.contributes.configuration.map((part) => part.properties)) as Record<
  string,
  Record<string, unknown>
>;
const commands = manifest.contributes.commands.map(({ command }) => command);

test("every command is made by the source, and the other way round", () => {
  const made = [...source.matchAll(/command\("(\w+)"/g)].map(([, name]) => `openpai.${name ?? ""}`);
  assert.deepEqual(made.toSorted(), commands.toSorted());
});

test("menus and the walkthrough name only commands that there are", () => {
  const menus = Object.values(manifest.contributes.menus).flat();
  const steps = manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
  const linked = steps.flatMap((step) =>
    [...(english[step.description.slice(1, -1)] ?? "").matchAll(/command:(openpai\.\w+)/g)].map(([, name]) => name),
  );
  for (const name of [...menus.map(({ command }) => command), ...linked]) {
    assert.ok(name === undefined || commands.includes(name), name);
  }
});

test("every setting is described, and every one but the client's is sent to the server", () => {
  for (const [name, property] of Object.entries(properties)) {
    assert.ok(property.markdownDescription ?? property.description, name);
    const isOwn = name.startsWith("openpai.server.") || ["openpai.trace.server", "openpai.chat"].includes(name);
    assert.equal(source.includes(`["${name.replace("openpai.", "")}", `), !isOwn, name);
  }
});

test("what runs programs or uses the network is restricted in untrusted folders", () => {
  const restricted = manifest.capabilities.untrustedWorkspaces.restrictedConfigurations;
  const risky = Object.keys(properties).filter((name) => /^openpai\.(?:server|marketplace)\./.test(name));
  assert.deepEqual(restricted.toSorted(), risky.toSorted());
});

test("the extension works with the server of its own version", () => {
  assert.ok(isAtLeast(manifest.version, OLDEST_SERVER));
});

test("the walkthrough has four steps, each with pictures of the tests in light and dark", () => {
  const steps = manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
  assert.equal(steps.length, 4);
  for (const { media } of steps) {
    for (const image of Object.values(media.image)) {
      const picture = path.join(HOME, "../docs/images/vscode", path.basename(image));
      assert.ok(fs.existsSync(picture), `${picture} is made by 'scripts/e2e_vscode.sh --update-pictures'`);
    }
  }
});

test("the README names every setting", () => {
  const readme = fs.readFileSync(path.join(HOME, "README.md"), "utf8");
  for (const name of Object.keys(properties)) {
    const [, group, key] = name.split(".");
    assert.ok(
      [name, `.${key ?? ""}`, `openpai.${group ?? ""}.*`].some((form) => readme.includes(`\`${form}\``)),
      name,
    );
  }
});

test("every text of the manifest is there in English and Chinese, with the same code and links", () => {
  const named = [...fs.readFileSync(path.join(HOME, "package.json"), "utf8").matchAll(/"%([\w.-]+)%"/g)].map(
    ([, name]) => name ?? "",
  );
  const chinese = texts("package.nls.zh-cn.json");
  assert.deepEqual([...new Set(named)].toSorted(), Object.keys(english).toSorted());
  assert.deepEqual(Object.keys(chinese), Object.keys(english));
  const fixed = (text = "") => (text.match(/`[^`]*`|\]\([^)]*\)/g) ?? []).toSorted();
  for (const [name, text] of Object.entries(english)) {
    assert.deepEqual(fixed(chinese[name]), fixed(text), name);
  }
});

test("the lock file does not name a package index", () => {
  assert.doesNotMatch(fs.readFileSync(path.join(HOME, "package-lock.json"), "utf8"), /"resolved"/);
});

interface LockedPackage {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

test("the notices name every library in the bundle, with its version", () => {
  const notices = fs.readFileSync(path.join(HOME, "THIRD-PARTY-NOTICES.md"), "utf8");
  const { packages } = JSON.parse(fs.readFileSync(path.join(HOME, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const bundled = new Map<string, string>();
  const collect = (name: string, dependant: string) => {
    const place = [`${dependant}/node_modules/${name}`, `node_modules/${name}`].find((one) => packages[one]);
    const found = packages[place ?? ""];
    if (place !== undefined && found !== undefined && !bundled.has(name)) {
      bundled.set(name, found.version);
      const holder = place.replace(/\/node_modules\/[^/]+$/, "");
      Object.keys(found.dependencies ?? {}).forEach((one) => {
        collect(one, packages[`${place}/node_modules/${one}`] ? place : holder);
      });
    }
  };
  collect("vscode-languageclient", "");
  assert.ok(bundled.size > 5);
  for (const [name, version] of bundled) {
    assert.ok(notices.includes(`**${name}** ${version}`), `${name} ${version}`);
  }
});

interface ToolTable {
  readonly shared: Readonly<Record<string, unknown>>;
  readonly tools: Readonly<
    Record<
      string,
      {
        readonly title: string;
        readonly description: string;
        readonly arguments: Readonly<Record<string, unknown>>;
        readonly required: readonly string[];
      }
    >
  >;
}

test("the language model tools are those of the server, with the same descriptions and arguments", () => {
  const table = JSON.parse(fs.readFileSync(path.join(HOME, "../schemas/assistant_tools.json"), "utf8")) as ToolTable;
  // One condition: VS Code up to 1.100 cannot send one of two parts to its extensions, and then none has any tools.
  // Where the workspace is not trusted, the tools are not registered.
  const when = "config.openpai.chat == 'tools'";
  const expected = Object.entries(table.tools).map(([name, tool]) => {
    const properties = Object.fromEntries(
      Object.entries(tool.arguments).map(([key, value]) => [
        key,
        typeof value === "string" ? table.shared[value] : value,
      ]),
    );
    const inputSchema = { type: "object", properties, required: tool.required, additionalProperties: false };
    return [`openpai_${name}`, tool.title, tool.description, when, inputSchema];
  });
  const found = manifest.contributes.languageModelTools.map((tool) => [
    tool.name,
    english[tool.displayName.slice(1, -1)],
    tool.modelDescription,
    tool.when,
    tool.inputSchema,
  ]);
  assert.deepEqual(found, expected);
});
