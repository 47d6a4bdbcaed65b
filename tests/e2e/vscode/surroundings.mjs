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

/** Write the settings of a folder; an editor takes them soon. */
export function changeSettings(folder, settings) {
  fs.mkdirSync(path.join(folder, ".vscode"), { recursive: true });
  fs.writeFileSync(path.join(folder, ".vscode/settings.json"), JSON.stringify(settings));
}

/**
 * A PATH with a `pai-lsp` on it that notes the identifiers of the servers that it starts. Those that are started after
 * `answerLate` answer that many seconds late, as over a slow network.
 */
export function foundServer() {
  const folder = temporaryFolder("path");
  const [program, notes] = ["pai-lsp", "started"].map((name) => path.join(folder, name));
  writeProgram(program, `[ "$1" = server ] && echo $$ >>'${notes}'\nexec '${process.env.E2E_PAI_LSP}' "$@"`);
  return {
    searchPath: [folder, "/usr/bin", "/bin"].join(path.delimiter),
    started: () => (fs.existsSync(notes) ? fs.readFileSync(notes, "utf8").trim().split("\n").map(Number) : []),
    answerLate: (seconds) => {
      const { E2E_PAI_LSP: server, E2E_PYTHON_ENVIRONMENT: python } = process.env;
      writeProgram(program, `'${server}' "$@" | '${python}' -c '${DELAY}' ${String(seconds)}`);
    },
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
