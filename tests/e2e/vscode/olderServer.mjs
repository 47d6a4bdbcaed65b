// A server that speaks LSP but knows no commands, as one of before the extension would: its only finding is that it is old.
if (process.argv.includes("--version")) {
  console.log("pai-lsp 0.1.0");
  process.exit(0);
}

const answers = {
  initialize: () => ({
    capabilities: { textDocumentSync: 1 },
    serverInfo: { name: "pai-lsp", version: "0.1.0" },
  }),
  shutdown: () => null,
};

let read = Buffer.alloc(0);
process.stdin.on("data", (data) => {
  read = Buffer.concat([read, data]);
  for (;;) {
    const header = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/.exec(read.toString("latin1"));
    const end = header ? header[0].length + Number(header[1]) : Infinity;
    if (read.length < end) {
      return;
    }
    take(JSON.parse(read.subarray(header[0].length, end).toString("utf8")));
    read = read.subarray(end);
  }
});

function take({ id, method, params }) {
  if (method === "exit") {
    process.exit(0);
  }
  if (method === "textDocument/didOpen") {
    const range = {
      start: { line: 0, character: 0 },
      end: { line: 0, character: 15 },
    };
    const diagnostics = [{ range, source: "pai-lsp", code: "old", message: "this server is old" }];
    send({
      method: "textDocument/publishDiagnostics",
      params: { uri: params.textDocument.uri, diagnostics },
    });
  }
  if (id !== undefined && method in answers) {
    send({ id, result: answers[method]() });
  }
}

function send(message) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
