/** Detects documents that may be OpenPAI's, without parsing YAML. */

/** The language that files named `*.pai.yaml` have. */
export const JOB_LANGUAGE = "openpai-job";

/** The name of the file in which a project configures the server. */
export const CONFIGURATION_FILE = ".pai-lsp.yaml";

/** The keys that only OpenPAI's jobs and definitions begin a line with. */
const SIGNS = /^[ \t-]*["']?(?:protocolVersion|taskRoles|prerequisites|callbacks)["']?[ \t]*:/m;

/**
 * Whether a document may be OpenPAI's, so that the server has to be started. `text` returns the beginning of the
 * document, which contains the keys of a job.
 *
 * This only avoids starting the server in folders with other YAML; the server decides what a document is.
 */
export function mayBeOurs(language: string, fileName: string, text: () => string): boolean {
  if (language === JOB_LANGUAGE) {
    return true;
  }
  const name = fileName.split(/[\\/]/).at(-1);
  return name === CONFIGURATION_FILE || (language === "yaml" && SIGNS.test(text()));
}
