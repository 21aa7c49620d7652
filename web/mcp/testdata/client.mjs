// Runs steps with the official MCP clients and prints what each gave, a line of
// JSON each. SCRIPT holds {era: older, auto or a revision, url, token, steps}; it is
// read from standard input in the folder whose node_modules holds the clients.
const { era, url, token, steps } = JSON.parse(process.env.SCRIPT);
const options = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const info = { name: 'legwork-test', version: '1' };
let client, call;
if (era === 'older') {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  client = new Client(info);
  const transport = new StreamableHTTPClientTransport(new URL(url), options);
  await client.connect(transport);
  client.getNegotiatedProtocolVersion ??= () => transport.protocolVersion;
  call = (params, o) => client.callTool(params, undefined, o);
} else {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  client = new Client(info, { versionNegotiation: { mode: era === 'auto' ? 'auto' : { pin: era } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), options));
  call = (params, o) => client.callTool(params, o);
}
const print = (v) => console.log(JSON.stringify(v));
print({ server: client.getServerVersion(), version: client.getNegotiatedProtocolVersion(), instructions: client.getInstructions() });
let last = {};
for (const step of steps) {
  if (step.list) {
    print(await client.listTools());
    continue;
  }
  const args = Object.fromEntries(Object.entries(step.arguments ?? {}).map(([k, v]) => [k, v === '$id' ? last.id : v]));
  const progress = [];
  try {
    const result = await call({ name: step.call, arguments: args }, step.progress ? { onprogress: (p) => progress.push(p), timeout: 30000 } : { timeout: 30000 });
    last = result.structuredContent?.id ? result.structuredContent : last;
    print({ ...result, progress });
  } catch (e) {
    print({ thrown: String(e.message), code: e.code });
  }
}
await client.close();
