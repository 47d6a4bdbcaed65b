// Assembles exactly the files of the .vsix: node stage.mjs FOLDER WHEEL RULES REQUIREMENTS [WHEELHOUSE]
//
// REQUIREMENTS has the versions and hashes of the packages that the server needs.
// RULES is what `pai-lsp rules --format json` prints: the settings offer the codes of the rules with their summaries.
// The folder is emptied first: it contains only what is named here.
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { sourceAddress } from "./sourceAddress.mjs";

const HOME = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PROJECT = path.dirname(HOME);
const PICTURES = "docs/images/vscode";
/** The keys that an installed extension does not need. */
const KEYS_LEFT_OUT = ["scripts", "dependencies", "devDependencies", "private"];

const [stage, wheel, rules, requirements, wheelhouse] = process.argv.slice(2);
if (!stage || !wheel || !rules || !requirements) {
  console.error("usage: stage.mjs FOLDER WHEEL RULES REQUIREMENTS [WHEELHOUSE]");
  process.exit(2);
}

fs.rmSync(stage, { recursive: true, force: true });
fs.mkdirSync(path.join(stage, "server"), { recursive: true });

const manifest = JSON.parse(fs.readFileSync(path.join(HOME, "package.json"), "utf8"));
refuseOtherVersion(manifest.version);
nameSource(manifest);
offerRules(manifest, JSON.parse(fs.readFileSync(rules, "utf8")));
for (const key of KEYS_LEFT_OUT) {
  delete manifest[key];
}
fs.writeFileSync(path.join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);

const texts = fs.readdirSync(HOME).filter((name) => /^package\.nls\..*json$/.test(name));
for (const name of ["language-configuration.json", "syntaxes", "media", ...texts]) {
  copy(path.join(HOME, name), name);
}
fs.rmSync(path.join(stage, "media/icon.svg"));
for (const name of new Set(JSON.stringify(manifest).match(/(?<=media\/pictures\/)[\w-]+\.png/g))) {
  copy(path.join(PROJECT, PICTURES, name), `media/pictures/${name}`);
}
for (const name of ["CHANGELOG.md", "THIRD-PARTY-NOTICES.md"]) {
  copy(path.join(HOME, name), name);
}
copy(path.join(PROJECT, "LICENSE"), "LICENSE");
const readme = fs.readFileSync(path.join(HOME, "README.md"), "utf8");
fs.writeFileSync(path.join(stage, "README.md"), withoutPictures(readme));

copy(wheel, path.join("server", path.basename(wheel)));
copy(requirements, "server/requirements.txt");
if (wheelhouse) {
  copy(wheelhouse, "server/wheelhouse");
}
const bundle = [path.join(HOME, "scripts/bundle.mjs"), "extension", path.resolve(stage, "dist")];
execFileSync(process.execPath, bundle, { stdio: "inherit" });

/** The page of an extension links to its source and its issues: to those of the repository that this clone is of. */
function nameSource(manifest) {
  const words = ["-C", PROJECT, "remote", "get-url", "origin"];
  const address = sourceAddress(spawnSync("git", words, { encoding: "utf8" }).stdout ?? "");
  if (address) {
    manifest.repository = { type: "git", url: `${address}.git` };
    manifest.bugs = { url: `${address}/issues` };
  }
}

/** The setting `openpai.rules` has a property for every rule. */
function offerRules({ contributes }, known) {
  const setting = contributes.configuration.flatMap(({ properties }) => properties["openpai.rules"] ?? [])[0];
  const { enum: severities } = setting.additionalProperties;
  setting.properties = Object.fromEntries(
    known.map(({ code, severity, summary, url }) => [
      code,
      {
        type: "string",
        enum: severities,
        markdownDescription: `${summary} Usually: ${severity}.${url ? ` [More](${url})` : ""}`,
      },
    ]),
  );
}

/**
 * The page of an extension shows pictures of web servers, and those that are in its text, which would be most of the
 * package; never other files. The walkthrough has pictures.
 */
function withoutPictures(readme) {
  return readme.replaceAll(/^!\[[^\]]*\]\([^)]*\)\n\n/gm, "");
}

function copy(from, to) {
  fs.cpSync(from, path.join(stage, to), { recursive: true });
}

/** The extension contains the server of its own version. */
function refuseOtherVersion(version) {
  const carried = path.basename(wheel).split("-")[1];
  if (carried !== version) {
    console.error(`the extension is ${version}, and the wheel of the server is ${carried}`);
    process.exit(1);
  }
}
