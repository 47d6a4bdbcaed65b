import assert from "node:assert/strict";
import { test } from "node:test";
import { type FailureKind, environmentFailure, installFailure, pythonFailure } from "../../src/server/setupFailure";

const PIP_SAYS: readonly (readonly [output: string, kind: FailureKind])[] = [
  [
    "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError(" +
      "\"HTTPSConnection(host='pypi.example', port=443): Failed to establish a new connection: [Errno 101] Network is unreachable\")'",
    "no-network",
  ],
  [
    "... after connection broken by 'ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed'))'",
    "no-network",
  ],
  [
    "... NameResolutionError: Failed to resolve 'pypi.example' ([Errno -3] Temporary failure in name resolution)",
    "no-network",
  ],
  [
    "... SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate'))",
    "no-network",
  ],
  [
    "ERROR: Could not find a version that satisfies the requirement jsonschema<5,>=4.21 (from pai-lsp) (from versions: none)\n" +
      "ERROR: No matching distribution found for jsonschema<5,>=4.21\n",
    "no-network",
  ],
  ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n", "other"],
];

for (const [output, kind] of PIP_SAYS) {
  test(`pip's ${JSON.stringify(output.slice(0, 60))} means ${kind}`, () =>
    assert.equal(installFailure(output).kind, kind));
}

test("what pip complains of is in the message, without its own 'ERROR'", () => {
  const failure = installFailure("Collecting\nERROR: No space left on device\nnotice: a new pip\n");
  assert.equal(failure.message, "pip could not install the server: No space left on device");
});

test("a Python without ensurepip: the message names the package that is missing", () => {
  const debian =
    "The virtual environment was not created successfully because ensurepip is not available. " +
    "On Debian/Ubuntu systems, you need to install the python3-venv package";
  assert.equal(environmentFailure("/usr/bin/python3", debian).kind, "no-venv");
  assert.equal(environmentFailure("/usr/bin/python3", "Error: [Errno 13] Permission denied").kind, "other");
});

test("a missing Python and one that is too old have different messages", () => {
  assert.equal(pythonFailure([]).kind, "no-python");
  const old = pythonFailure([{ path: "/usr/bin/python3", version: "3.8.10" }]);
  assert.equal(old.kind, "old-python");
  assert.match(old.message, /'\/usr\/bin\/python3' is 3\.8\.10/);
});
