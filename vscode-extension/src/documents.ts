/** Which documents are ours, as far as that can be told without reading YAML. */

/** The language that files named `*.pai.yaml` have. */
export const JOB_LANGUAGE = "openpai-job";

/** The name of the file in which a project configures the server. */
export const CONFIGURATION_FILE = ".pai-lsp.yaml";

/** The keys that only OpenPAI's jobs and definitions begin a line with. */
const SIGNS = /^[ \t-]*["']?(?:protocolVersion|taskRoles|prerequisites|callbacks)["']?[ \t]*:/m;

/**
 * Whether a document may be OpenPAI's, so that it is worth to start the server and to ask it. `text` gives the beginning
 * of the document, where a job's own keys stand.
 *
 * This only keeps the server away from folders of other YAML; what a document is, the server says.
 */
export function mayBeOurs(language: string, fileName: string, text: () => string): boolean {
  if (language === JOB_LANGUAGE) {
    return true;
  }
  const name = fileName.split(/[\\/]/).at(-1);
  return name === CONFIGURATION_FILE || (language === "yaml" && SIGNS.test(text()));
}
