/** Detects documents that may be OpenPAI's, or MPIJobs, without parsing YAML. */

/** The language that files named `*.pai.yaml` have. */
export const JOB_LANGUAGE = "openpai-job";

/** The name of the file in which a project configures the server. */
export const CONFIGURATION_FILE = ".pai-lsp.yaml";

/** A key that the root of a job has, in protocol version 1 or 2. Deeper in a file it belongs to something else. */
const ROOT_KEY = /^["']?(?:protocolVersion|taskRoles)["']?[ \t]*:/m;

/** The same in YAML that is written as JSON. */
const JSON_KEY = /^\s*\{[^]*["'](?:protocolVersion|taskRoles)["']\s*:/;

/** The plugins of definitions in a marketplace. */
const PLUGIN = /\bcom\.microsoft\.pai\.runtimeplugin\b/;

/**
 * Whether a document may be a job or a definition, so that the server has to be started and menus show the commands
 * about jobs. `text` returns the beginning of the document, which contains the keys of a job.
 *
 * This only avoids work in folders with other YAML; the server decides what a document is.
 */
export function mayBeJob(language: string, text: () => string): boolean {
  if (language !== "yaml") {
    return language === JOB_LANGUAGE;
  }
  const beginning = text();
  return ROOT_KEY.test(beginning) || PLUGIN.test(beginning) || JSON_KEY.test(beginning);
}

/** Whether a document is a job by the keys at its root, but plain YAML by its language. */
export function isJobInYaml(language: string, text: () => string): boolean {
  return language === "yaml" && [ROOT_KEY, JSON_KEY].some((key) => key.test(text()));
}

/** The patterns for `files.associations` that give a file the job language, by its path in the workspace folder. */
export function associations(path: string | undefined): { readonly label: string; readonly pattern: string }[] {
  const parts = path?.split("/") ?? [];
  const name = parts.at(-1);
  if (name === undefined) {
    return [];
  }
  const [folder, ending] = [parts.slice(0, -1).join("/"), /\.[^.]+$/.exec(name)?.[0] ?? ""];
  return [
    { label: `Always for '${name}'`, pattern: `**/${parts.join("/")}` },
    // The root of a project has other YAML files, and a pattern for it would be one for all folders.
    ...(folder === ""
      ? []
      : [{ label: `Always for All ${ending} Files in '${folder}'`, pattern: `**/${folder}/*${ending}` }]),
  ];
}

/** The kind of an MPIJob manifest, at the root of one of the documents of a file. */
const MPIJOB = /^kind:[ \t]*["']?MPIJob\b/im;

/** Whether a document may hold an MPIJob of Kubernetes; it stays plain YAML, also for other extensions. */
export function mayBeMpiJob(language: string, text: () => string): boolean {
  return language === "yaml" && MPIJOB.test(text());
}

/** Whether a document is the configuration of the server. */
export function isConfiguration(fileName: string): boolean {
  return fileName.split(/[\\/]/).at(-1) === CONFIGURATION_FILE;
}
