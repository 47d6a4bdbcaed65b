/** Why the extension could not create its own environment, with the next step for the user. */

export type FailureKind = "no-python" | "old-python" | "no-venv" | "no-network" | "not-allowed" | "stopped" | "other";

/** An environment could not be created; the message is for the user. */
export class SetupFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** What pip prints if it reaches nothing: messages of urllib3, OpenSSL and its own. */
const UNREACHABLE = [
  /NewConnectionError|ConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError/,
  /Failed to establish a new connection|Connection (?:refused|reset|timed out)|Network is unreachable/i,
  /Temporary failure in name resolution|Name or service not known|getaddrinfo failed|nodename nor servname/i,
  /CERTIFICATE_VERIFY_FAILED|SSLError/,
  // What the server needs is on every package index: if no version of it is found, the index was not read.
  /\(from versions: none\)/,
];

/** What failed when pip installed the server; `output` is all that it printed. */
export function installFailure(output: string): SetupFailure {
  if (UNREACHABLE.some((sign) => sign.test(output))) {
    return new SetupFailure(
      "no-network",
      "the packages that the server needs could not be downloaded: the package index cannot be reached. " +
        "Check the network and the proxy settings of pip, or set 'openpai.server.command' to the path of an installed 'pai-lsp'.",
    );
  }
  return new SetupFailure("other", `pip could not install the server: ${lastComplaint(output)}`);
}

/** What failed when `python -m venv` ran. */
export function environmentFailure(python: string, output: string): SetupFailure {
  if (/ensurepip|No module named '?venv|python3[\d.]*-venv/.test(output)) {
    return new SetupFailure(
      "no-venv",
      `the Python '${python}' cannot create environments. On Debian and Ubuntu, install the package 'python3-venv'.`,
    );
  }
  return new SetupFailure("other", `'${python} -m venv' failed: ${lastComplaint(output)}`);
}

/** No Python that was looked at is new enough; `seen` are those that are too old, with their versions. */
export function pythonFailure(seen: readonly { readonly path: string; readonly version: string }[]): SetupFailure {
  const [old] = seen;
  if (old === undefined) {
    return new SetupFailure(
      "no-python",
      "the server needs Python 3.10 or later, and no Python was found. Install Python, or set 'openpai.server.python' to its path.",
    );
  }
  return new SetupFailure(
    "old-python",
    `the server needs Python 3.10 or later; '${old.path}' is ${old.version}. ` +
      "Install a newer one, or set 'openpai.server.python' to its path.",
  );
}

function lastComplaint(output: string): string {
  const lines = output
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const found = lines.findLast((one) => /^error/i.test(one)) ?? lines.at(-1) ?? "no output";
  const line = found.replace(/^error:? */i, "");
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
