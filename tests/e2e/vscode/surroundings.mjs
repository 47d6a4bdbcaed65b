// What lies around an editor: the folder that is opened, and the programs on PATH.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./codeServer.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));

/** A copy of the folder `workspace`, with further files by their names. */
export function workspace(files = {}) {
  const folder = path.join(temporaryFolder("workspace"), "jobs");
  fs.cpSync(path.join(HERE, "workspace"), folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/**
 * A PATH with a `pai-lsp` on it that notes the identifiers of the servers that it starts. With `late`, its answers come
 * that many seconds late, as over a slow network.
 */
export function foundServer({ late = 0 } = {}) {
  const folder = temporaryFolder("path");
  const notes = path.join(folder, "started");
  writeProgram(
    path.join(folder, "pai-lsp"),
    late > 0
      ? `'${process.env.E2E_PAI_LSP}' "$@" | '${process.env.E2E_PYTHON_ENVIRONMENT}' -c '${DELAY}' ${late}`
      : `[ "$1" = server ] && echo $$ >>'${notes}'\nexec '${process.env.E2E_PAI_LSP}' "$@"`,
  );
  return {
    searchPath: [folder, "/usr/bin", "/bin"].join(path.delimiter),
    started: () => (fs.existsSync(notes) ? fs.readFileSync(notes, "utf8").trim().split("\n").map(Number) : []),
  };
}

const DELAY = `
import os, sys, time
while part := os.read(0, 1 << 20):
    time.sleep(float(sys.argv[1]))
    os.write(1, part)
`;

/** Write a shell script that can be run. */
export function writeProgram(place, lines) {
  fs.writeFileSync(place, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
}
