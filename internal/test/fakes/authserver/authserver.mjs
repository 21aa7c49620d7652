// Runs oidc-provider as a strict authorization server on loopback. It is read from
// standard input in the folder whose node_modules holds the package, writes its address
// in the first line of standard error, and ends when it is killed. CONFIG holds
// {people, clients, scopes, resources, accessSeconds, refreshSeconds, noRegistration}.
import { createServer } from 'node:http';

console.info = console.warn = () => {}; // the package warns of http
const { default: Provider, errors } = await import('oidc-provider');

const { people = {}, clients = [], scopes = [], resources = [], accessSeconds, refreshSeconds, noRegistration } = JSON.parse(process.env.CONFIG);
let faults = {}; // {fault: down, html, huge, error, deny; slowMilliseconds}
let requests = []; // {path, form} in their order, without secrets

const server = createServer();
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const claims = (login) => ({ sub: login, preferred_username: login, ...people[login] });
const provider = new Provider(issuer, {
  clients: clients.map((c) => ({ redirect_uris: [], response_types: [], grant_types: ['client_credentials'], ...c })),
  scopes: ['openid', 'offline_access', 'profile', 'email', ...scopes],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'groups'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false, // ID tokens hold the claims of their scopes
  pkce: { required: () => true },
  clientDefaults: { grant_types: ['authorization_code', 'refresh_token'] },
  rotateRefreshToken: true,
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  expiresWithSession: () => false,
  ttl: { AccessToken: accessSeconds, ClientCredentials: accessSeconds, RefreshToken: refreshSeconds, Grant: 1209600, Interaction: 3600, Session: 1209600, IdToken: 3600 },
  findAccount: (_, id) => (people[id] ? { accountId: id, claims: () => claims(id) } : undefined),
  extraTokenClaims: (_, token) => (token.accountId ? claims(token.accountId) : undefined),
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: !noRegistration },
    revocation: { enabled: true },
    introspection: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_, __, oneOf) => oneOf ?? resources[0],
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => {
        if (resources.length && !resources.includes(resource)) {
          throw new errors.InvalidTarget();
        }
        return { scope: scopes.join(' '), audience: resource, accessTokenTTL: accessSeconds, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
});

// consent signs a person in and grants all that was asked for.
async function consent(req, res, login) {
  const { params } = await provider.interactionDetails(req, res);
  if (faults.fault === 'deny' || !people[login]) {
    return provider.interactionFinished(req, res, { error: 'access_denied', error_description: 'the person refused' });
  }
  const grant = new provider.Grant({ accountId: login, clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? '');
  for (const resource of [params.resource ?? []].flat()) {
    grant.addResourceScope(resource, params.scope ?? '');
  }
  return provider.interactionFinished(req, res, { login: { accountId: login }, consent: { grantId: await grant.save() } });
}

// interaction answers by itself for the login_hint of a request, and shows a form
// without one. A login that nobody has, or none, is a person who refuses.
async function interaction(req, res, form) {
  const { params } = await provider.interactionDetails(req, res);
  const login = form?.get('login') ?? params.login_hint;
  if (login !== undefined) {
    return consent(req, res, login);
  }
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  return res.end('<!doctype html><title>Sign in</title><form method="post"><label>Login <input name="login"></label><button>Allow</button></form>');
}

const read = async (req) => {
  let body = '';
  for await (const part of req) {
    body += part;
  }
  return body;
};

const callback = provider.callback();
server.on('request', async (req, res) => {
  try {
    const { pathname, searchParams } = new URL(req.url, issuer);
    if (pathname === '/control') {
      if (req.method === 'POST') {
        faults = JSON.parse(await read(req));
      }
      return res.end(JSON.stringify(requests));
    }
    await new Promise((over) => setTimeout(over, faults.slowMilliseconds ?? 0));
    const note = (form) => {
      const shown = ['grant_type', 'scope', 'resource', 'client_id', 'response_type'];
      requests.push({ path: pathname, form: Object.fromEntries([...form].filter(([name]) => shown.includes(name))) });
    };
    switch (faults.fault) {
      case 'down':
        note(searchParams);
        return req.socket.destroy();
      case 'html':
        note(searchParams);
        res.setHeader('Content-Type', 'text/html');
        return res.end('<!doctype html><title>Welcome</title><p>This is not what you look for.</p>');
      case 'error':
        note(searchParams);
        res.statusCode = 503;
        return res.end('try again later');
      case 'huge': { // until the client has enough
        note(searchParams);
        res.setHeader('Content-Type', 'application/json');
        res.write('{"issuer":"');
        const part = 'x'.repeat(1 << 16);
        const more = () => {
          while (res.writable && res.write(part));
        };
        res.on('drain', more);
        return more();
      }
    }
    if (req.method === 'POST' && pathname.startsWith('/interaction/')) {
      return await interaction(req, res, new URLSearchParams(await read(req)));
    }
    if (pathname.startsWith('/interaction/')) {
      return await interaction(req, res);
    }
    if (req.method === 'POST') { // the package takes a body that was read before
      req.body = await read(req);
      note(req.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ? new URLSearchParams(req.body) : searchParams);
    } else {
      note(searchParams);
    }
    return callback(req, res);
  } catch (err) {
    res.statusCode = 400;
    return res.end(String(err.message));
  }
});
console.error(issuer);
