// Copies the screenshots that README, walkthrough and documentation show: node updatePictures.mjs FROM TO
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const [from, to] = process.argv.slice(2);

/** Texts that show pictures. */
const pages = ["README.md", "vscode-extension/README.md", "vscode-extension/package.json"].concat(
  fs
    .readdirSync(path.join(PROJECT, "docs"), { recursive: true })
    .filter((name) => name.endsWith(".md"))
    .map((name) => path.join("docs", name)),
);
const shown = new Set(
  pages.flatMap((page) => {
    const text = fs.readFileSync(path.join(PROJECT, page), "utf8");
    return [...text.matchAll(/(?:images\/vscode|media\/pictures)\/([\w-]+?)(?:-dark)?\.png/g)].flatMap(([, name]) => [
      `${name}.png`,
      `${name}-dark.png`,
    ]);
  }),
);

fs.mkdirSync(to, { recursive: true });
for (const name of fs.readdirSync(to)) {
  if (!shown.has(name)) {
    fs.rmSync(path.join(to, name));
  }
}
for (const name of [...shown].sort()) {
  fs.copyFileSync(path.join(from, name), path.join(to, name));
}
console.log(`${shown.size} pictures in ${to}`);
