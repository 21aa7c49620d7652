// Connects the official MCP clients to a server that wants OAuth, as a person who signs in
// at the authorization server, and prints what came of each step, a line of JSON each.
// SCRIPT holds {era: older or newer, url, login, calls: [{name, arguments}]}. It is read
// from standard input in the folder whose node_modules holds the clients.
const { era, url, login, calls } = JSON.parse(process.env.SCRIPT);
const modern = era === 'newer';
const back = 'http://127.0.0.1:9/callback';
const print = (v) => process.stdout.write(`${JSON.stringify(v)}\n`);
console.log = console.debug = console.error; // the clients write there
let registered, tokens, verifier, wanted;
// The older client refreshes its token in place of asking for a wider scope, if it can.
const grants = ['authorization_code', ...(modern ? ['refresh_token'] : [])];
const authProvider = {
  redirectUrl: back,
  clientMetadata: { redirect_uris: [back], token_endpoint_auth_method: 'none', grant_types: grants, client_name: 'legwork-test' },
  clientInformation: () => registered,
  saveClientInformation: (v) => { registered = v; },
  tokens: () => tokens,
  saveTokens: (v) => { tokens = v; },
  redirectToAuthorization: (v) => { wanted = v; },
  saveCodeVerifier: (v) => { verifier = v; },
  codeVerifier: () => verifier,
};

// browse is the browser of the person: it follows the redirects to the end.
async function browse(address) {
  address.searchParams.set('login_hint', login);
  const cookies = new Map();
  let at = address;
  while (!at.href.startsWith(back)) {
    const r = await fetch(at, { redirect: 'manual', headers: { Cookie: [...cookies].map(([k, v]) => `${k}=${v}`).join('; ') } });
    for (const c of r.headers.getSetCookie()) {
      const [name, value] = c.split(';')[0].split('=');
      cookies.set(name, value);
    }
    if (!r.headers.get('location')) {
      throw new Error(`${at} answers ${r.status}: ${await r.text()}`);
    }
    at = new URL(r.headers.get('location'), at);
  }
  return at.searchParams;
}

const { Client, StreamableHTTPClientTransport } = modern
  ? await import('@modelcontextprotocol/client')
  : { ...(await import('@modelcontextprotocol/sdk/client/index.js')), ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')) };
// The clients register for the scopes of the first sign-in alone, and a strict server then
// refuses wider ones.
const fetchForAll = (address, init) => {
  if (!String(address).endsWith('/reg')) {
    return fetch(address, init);
  }
  const { scope, ...rest } = JSON.parse(init.body);
  return fetch(address, { ...init, body: JSON.stringify(rest) });
};
let client, transport;
const connect = async () => {
  client = new Client({ name: 'legwork-test', version: '1' }, modern ? { versionNegotiation: { mode: 'auto' } } : {});
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider, fetch: fetchForAll });
  await client.connect(transport);
};

// signedIn does something, and once more after a sign-in if it wants one.
async function signedIn(step, act) {
  wanted = undefined;
  try {
    print({ step, ...(await act()) });
    return;
  } catch (e) {
    if (!wanted) {
      print({ step, thrown: String(e.message) });
      return;
    }
  }
  const scope = wanted.searchParams.get('scope');
  const resource = wanted.searchParams.get('resource');
  const params = await browse(wanted);
  if (params.get('error')) {
    print({ step, scope, refused: params.get('error') });
    return;
  }
  await (modern ? transport.finishAuth(params) : transport.finishAuth(params.get('code')));
  if (step === 'connect') {
    await client.close();
  }
  try {
    print({ step, scope, resource, ...(await act()) });
  } catch (e) {
    print({ step, scope, resource, thrown: String(e.message) });
  }
}

await signedIn('connect', async () => { await connect(); return {}; });
await signedIn('list', async () => ({ tools: (await client.listTools()).tools.map((t) => t.name) }));
for (const call of calls) {
  await signedIn(call.name, () => (modern ? client.callTool(call) : client.callTool(call, undefined)));
}
await client.close();
