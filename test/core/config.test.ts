import { chmodSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseConfig, readConfig } from '../../src/core/config.ts'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { DEFAULT_PII_KINDS } from '../../src/core/finding.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { makeCertificate, rsaKeys } from '../server/certificate.ts'

const clock = { now: () => 0, monotonic: () => 0 }
const CONFIG = fileURLToPath(new URL('../../config/', import.meta.url))
const parse = (text: string, env: Record<string, string> = {}) =>
  parseConfig(text, '/etc/sidegate/sidegate.yaml', env, clock)
const problems = (text: string, env: Record<string, string> = {}) =>
  parse(text, env).problems.map(formatProblem)

t.test('a configuration with only a base URL gets every default', async (t) => {
  const { config } = parse('upstream: { baseUrl: "https://host/v1/" }')
  t.match(config, {
    listen: { gateway: { host: '127.0.0.1', port: 8484 }, ops: { host: '127.0.0.1', port: 9484 } },
    upstreams: [
      {
        declaredAt: ['upstream'],
        name: 'default',
        apis: ['openai', 'anthropic'],
        baseUrl: 'https://host/v1',
        apiKey: null,
        auth: 'bearer',
        models: ['*'],
        fallback: [],
        breaker: null,
        proxy: null,
        timeouts: { connectMs: 5000, headersMs: 600_000, idleMs: 600_000 },
        retries: { attempts: 2 },
        streamUsage: 'auto',
      },
    ],
    rules: { path: '/etc/sidegate/rules', apiWrites: 'overlay' },
    keys: [],
    pii: {
      kinds: DEFAULT_PII_KINDS,
      binaryParts: 'pass',
      placeholders: 'brackets',
      pseudonymKey: null,
      embeddings: 'pseudonym',
    },
    audit: { retainDays: 365, maxBytes: 10 * 1024 ** 3 },
    data: { path: '/etc/data' },
    admin: { token: null, sessionTtlSeconds: 28_800, allowedHosts: [] },
    limits: { bodyBytes: 32 * 1024 ** 2, concurrentRequests: 1024, drainSeconds: 25 },
    log: { level: 'info' },
  })
})

t.test('several upstreams have defaults of their own', async (t) => {
  const { config, problems: found } = parse(
    `upstreams:
  - { name: azure, baseUrl: "https://h/deployments/{model}", auth: { header: api-key }, apiKey: { env: KEY }, fallback: [rest], headers: { x-team: search } }
  - { name: claude, api: anthropic, baseUrl: https://c/v1, breaker: { failures: 2 } }
  - { name: rest, baseUrl: https://r/v1, models: ["*"] }
`,
    { KEY: 'secret' },
  )
  t.same(found, [])
  t.match(config?.upstreams, [
    {
      name: 'azure',
      apis: ['openai'],
      auth: { header: 'api-key' },
      models: ['*'],
      breaker: { failures: 5, openSeconds: 30 },
    },
    { name: 'claude', apis: ['anthropic'], breaker: { failures: 2, openSeconds: 30 } },
    { name: 'rest', breaker: null, retries: { attempts: 2 } },
  ])
  t.equal(config?.upstreams[0]?.headers['x-team']?.current(), 'search')
})

t.test('each mistake in upstreams is reported where it is made', async (t) => {
  const two = (first: string, second: string) =>
    `upstreams:\n  - { name: a, baseUrl: http://a, ${first} }\n  - { name: b, baseUrl: http://b, ${second} }`
  const cases: [string, RegExp][] = [
    ['log: {}', /upstream: is required; declare upstream\.baseUrl, or upstreams/],
    [
      `upstream: { baseUrl: http://h }\n${two('models: [x]', 'models: [y]')}`,
      /1:\d+ upstream: must not be next to upstreams/,
    ],
    [
      two('models: [x], fallback: [c]', ''),
      /2:\d+ upstreams\[0\]\.fallback\[0\]: names no upstream; the names are a, b/,
    ],
    [two('models: [x], fallback: [b]', 'fallback: [a]'), /upstreams\[0\]\.fallback\[0\]: leads back to a/],
    [two('models: [x], fallback: [a]', ''), /upstreams\[0\]\.fallback\[0\]: leads back to a/],
    [two('fallback: [b]', 'api: anthropic'), /upstreams\[0\]\.fallback\[0\]: serves another api than a/],
    [two('', 'models: [gpt-*]'), /3:\d+ upstreams\[1\]\.models\[0\]: never matches, because a comes first/],
    [two('', '').replace('name: b', 'name: a'), /upstreams\[1\]\.name: is also the name of upstreams\[0\]/],
    [two('models: [], api: openai', ''), /upstreams\[0\]\.models: /],
    [two('tls: { key: missing.pem }', 'api: anthropic'), /tls\.key: file missing\.pem cannot be used/],
    [
      two('tls: { ca: missing.pem, certificate: c.pem }', 'api: anthropic'),
      /tls: needs both certificate and key/,
    ],
    [
      two('headers: { x-a: { env: NONE } }', 'api: anthropic'),
      /headers\.x-a: environment variable NONE is not set/,
    ],
  ]
  for (const [text, problem] of cases) t.match(problems(text).join('\n'), problem, text)
})

t.test('paths without a scan go to a known upstream', async (t) => {
  const read = (rules: string, upstreams = 'upstream: { baseUrl: http://h }') =>
    parse(`${upstreams}\npassThrough: [${rules}]`)
  const first = 'upstreams: [{ name: c, baseUrl: http://c, api: anthropic }, { name: o, baseUrl: http://o }]'
  t.same(read('{ path: "/v1/images/*", methods: [POST] }').config?.passThrough, [
    { declaredAt: ['passThrough', 0], path: '/v1/images/*', methods: ['POST'], upstream: 'default' },
  ])
  t.match(read('{ path: /v1/x, methods: [GET] }', first).config?.passThrough, [{ upstream: 'o' }])
  const cases: [string, RegExp][] = [
    [
      '{ path: /v1/x, methods: [GET], upstream: none }',
      /passThrough\[0\]\.upstream: names no upstream; the names are default/,
    ],
    ['{ path: /api/v1/keys, methods: [GET] }', /passThrough\[0\]\.path/],
    ['{ path: /v1/x, methods: [HEAD] }', /passThrough\[0\]\.methods\[0\]/],
    ['{ path: /v1/x, methods: [] }', /passThrough\[0\]\.methods/],
  ]
  for (const [rules, problem] of cases)
    t.match(problems(`upstream: { baseUrl: http://h }\npassThrough: [${rules}]`).join('\n'), problem, rules)
})

t.test('a written value replaces its default', async (t) => {
  const { config } = parse(
    'upstream: { baseUrl: http://h }\nlimits: { drainSeconds: 3 }\nlisten: { gateway: "[::1]:0" }',
  )
  t.match(config, {
    limits: { drainSeconds: 3, bodyBytes: 32 * 1024 ** 2 },
    pii: { binaryParts: 'pass' },
    listen: { gateway: { host: '::1', port: 0 } },
  })
})

t.test('a secret is read by reference and rejected as a value', async (t) => {
  const { config } = parse('upstream: { baseUrl: http://h, apiKey: { env: KEY } }', { KEY: ' value\n' })
  t.equal(config?.upstreams[0]?.apiKey?.current(), 'value')
  const folder = t.testdir({ token: 'a token from a file\n', empty: '\n' })
  const file = parse(`upstream: { baseUrl: http://h }\nadmin: { token: { file: ${folder}/token } }`)
  t.equal(file.config?.admin.tokens[0]?.token?.current(), 'a token from a file')
  t.match(problems(`upstream: { baseUrl: http://h }\nadmin: { token: { file: ${folder}/empty } }`), [
    /2:\d+ admin\.token: .*the file is empty/,
  ])
  const [inline = ''] = problems('upstream: { baseUrl: http://h, apiKey: sk-plain }')
  t.match(inline, /upstream\.apiKey/)
  t.notMatch(inline, /sk-plain/)
})

t.test('a key of pseudonyms is long enough, and others cannot read it', async (t) => {
  const folder = t.testdir({
    good: `${'0f'.repeat(16)}\n`,
    short: '0f0f\n',
    open: '0f'.repeat(32),
    group: 'k'.repeat(32),
  })
  chmodSync(join(folder, 'good'), 0o600)
  chmodSync(join(folder, 'short'), 0o600)
  chmodSync(join(folder, 'open'), 0o644)
  chmodSync(join(folder, 'group'), 0o440)
  const text = (key: string) => `upstream: { baseUrl: http://h }\npii:\n  pseudonymKey: ${key}\n`
  const named = (name: string) => text(`{ file: ${folder}/${name} }`)
  t.equal(parse(named('good')).config?.pii.pseudonymKey?.current(), '0f'.repeat(16))
  t.same(problems(named('group')), [])
  const WRONG: [configuration: string, message: RegExp][] = [
    [
      named('short'),
      /3:\d+ pii\.pseudonymKey: has 4 characters; a key has at least 32; .*openssl rand -hex 32/,
    ],
    [named('open'), /3:\d+ pii\.pseudonymKey: can be read by others \(mode 0644\); use chmod 0600/],
    [named('none'), /3:\d+ pii\.pseudonymKey: file .* cannot be used \(.*openssl rand/],
    [text('{ env: KEY }'), /3:\d+ pii\.pseudonymKey/],
    ['upstream: { baseUrl: http://h }\npii: { embeddings: names }', /2:\d+ pii\.embeddings/],
  ]
  for (const [configuration, message] of WRONG) {
    const [first = ''] = problems(configuration)
    t.match(first, message)
    t.notMatch(first, '0f0f')
  }
})

t.test('an admin token of fewer than 16 characters is refused', async (t) => {
  const text = 'upstream: { baseUrl: http://h }\nadmin: { token: { env: TOKEN } }'
  for (const TOKEN of ['a', 'fifteen letters', ' fifteen letters \n']) {
    const [problem = ''] = problems(text, { TOKEN })
    t.match(problem, /2:\d+ admin\.token: is shorter than 16 characters .*openssl rand/)
    t.notMatch(problem, TOKEN.length > 1 ? TOKEN.trim() : / a$/)
  }
  t.same(problems(text, { TOKEN: 'sixteen letters!' }), [])
  const folder = t.testdir({ token: 'short\n' })
  t.match(problems(`upstream: { baseUrl: http://h }\nadmin: { token: { file: ${folder}/token } }`), [
    /admin\.token: is shorter than 16 characters/,
  ])
})

const TOKENS = { A: 'the first token for tests', B: 'the second token for tests' }
/** A configuration with administrators, each on a line of its own from line 3 on. */
const withAdmins = (...administrators: string[]) =>
  `upstream: { baseUrl: http://h }\nadmin:\n  tokens:\n${administrators.map((one) => `    - { ${one} }\n`).join('')}`

t.test('administrators have a name, a token by reference and a role, besides the single token', async (t) => {
  const { config, problems: found } = parse(
    `${withAdmins('name: vera, token: { env: A }, role: viewer')}  token: { env: B }\n`,
    TOKENS,
  )
  t.same(found, [])
  t.strictSame(
    config?.admin.tokens.map(({ name, role, token }) => [name, role, token?.current()]),
    [
      ['admin', 'admin', TOKENS.B],
      ['vera', 'viewer', TOKENS.A],
    ],
  )
  t.strictSame(parse('upstream: { baseUrl: http://h }').config?.admin.tokens, [])
})

t.test('every wrong value of an administrator is an error with its place and the allowed form', async (t) => {
  const vera = 'name: vera, token: { env: A }, role: viewer'
  const cases: [string[], RegExp][] = [
    [
      ['name: vera, token: { env: A }, role: boss'],
      /:4:\d+ admin\.tokens\[0\]\.role: must be one of: viewer, auditor, editor, admin \(not `boss`\)/,
    ],
    [['name: vera, token: { env: A }'], /admin\.tokens\[0\]\.role: is required/],
    [['token: { env: A }, role: viewer'], /admin\.tokens\[0\]\.name: is required/],
    [['name: vera, role: viewer'], /admin\.tokens\[0\]\.token: is required/],
    [['name: "", token: { env: A }, role: viewer'], /admin\.tokens\[0\]\.name: must not be empty/],
    [['name: vera, token: plain-text-token, role: viewer'], /admin\.tokens\[0\]\.token: must be an object/],
    [
      ['name: vera, token: { env: NONE }, role: viewer'],
      /:4:\d+ admin\.tokens\[0\]\.token: environment variable NONE is not set/,
    ],
    [
      ['name: vera, token: { env: SHORT }, role: viewer'],
      /admin\.tokens\[0\]\.token: is shorter than 16 characters/,
    ],
    [
      ['name: vera, token: { env: A }, role: viewer, mail: x'],
      /admin\.tokens\[0\]\.mail: is not a known key/,
    ],
    [
      [vera, 'name: VERA, token: { env: B }, role: admin'],
      /:5:\d+ admin\.tokens\[1\]\.name: is also the name of the administrator at admin\.tokens\[0\]; rename/,
    ],
    [
      [vera, 'name: ed, token: { env: A }, role: admin'],
      /:5:\d+ admin\.tokens\[1\]\.token: is also the token of admin\.tokens\[0\]/,
    ],
    ...['gateway', 'Unknown', 'cli:root', 'CLI:x'].map((name): [string[], RegExp] => [
      [`name: "${name}", token: { env: A }, role: viewer`],
      /admin\.tokens\[0\]\.name: must not be gateway or unknown and must not begin with cli:/,
    ]),
  ]
  for (const [administrators, problem] of cases) {
    const found = problems(withAdmins(...administrators), { ...TOKENS, SHORT: 'short' })
    t.match(found, [problem], administrators.join())
    t.notMatch(found.join(), /plain-text-token|the first token/)
  }
  t.match(
    problems(`${withAdmins('name: Admin, token: { env: A }, role: viewer')}  token: { env: B }\n`, TOKENS),
    [/admin\.tokens\[0\]\.name: is also the name of the administrator at admin\.token; /],
  )
})

t.test(
  'the base path of the console is a plain path, and trusted proxies are addresses or networks',
  async (t) => {
    const text = (section: object) => `upstream: { baseUrl: http://h }\nconsole: ${JSON.stringify(section)}`
    const good = [
      { basePath: '/a/b-c' },
      { basePath: '' },
      { trustedProxies: ['10.0.0.0/8', '::1', 'fd00::/128'] },
    ]
    for (const section of good) t.strictSame(problems(text(section)), [], JSON.stringify(section))
    for (const basePath of ['a', '/a/', '//a', '/../a', '/a?b', '/a b'])
      t.match(problems(text({ basePath })), [/console\.basePath/], basePath)
    for (const proxy of ['10.0.0.0/33', '300.1.1.1', '::1/129', '10.0.0.0/'])
      t.match(problems(text({ trustedProxies: [proxy] })), [/console\.trustedProxies\[0\]/], proxy)
  },
)

t.test('allowed hosts are names and IP addresses, without ports', async (t) => {
  const text = (host: string) => `upstream: { baseUrl: http://h }\nadmin: { allowedHosts: ["${host}"] }`
  for (const host of ['gw.example', 'gw.example.', '10.0.0.7', '2001:db8::7', '[2001:DB8::7]', '::1'])
    t.same(problems(text(host)), [], host)
  for (const host of ['gw.example:8484', 'ad.de:80', '[::1]:80', ':::', '*.example', 'http://gw', ''])
    t.match(problems(text(host)), [/admin\.allowedHosts\[0\]/], host)
})

t.test('an error names its file, line, column and key, and says what to do', async (t) => {
  t.match(problems('upstream: { baseUrl: http://h, apiKey: { env: NONE } }'), [
    /sidegate\.yaml:1:\d+ upstream\.apiKey: environment variable NONE is not set; .*npm run demo/,
  ])
  for (const value of ['two\nlines', 'a b', 'schlüssel']) {
    const [problem = ''] = problems('upstream: { baseUrl: http://h, apiKey: { env: KEY } }', { KEY: value })
    t.match(problem, /upstream\.apiKey: contains a space, a line break/)
    t.notMatch(problem, value)
  }
  const twice = (port: number) =>
    `upstream: { baseUrl: http://h }\nlisten: { gateway: "h:${port}", ops: "h:${port}" }`
  t.match(problems(twice(7000)), [/2:\d+ listen\.ops: must not be the address of listen\.gateway/])
  t.same(problems(twice(0)), [])
  t.match(problems('upstream: { baseUrl: http://h }\nlisten: { gateway: "h:70000" }'), [
    /listen\.gateway: port 70000/,
  ])
  t.match(problems('upstream: { baseUrl: "http://[" }'), [/upstream\.baseUrl: is not a URL/])
  for (const end of ['', '/', '//']) {
    t.match(problems(`upstream: { baseUrl: "http://h/v1/chat/completions${end}" }`), [
      /1:\d+ upstream\.baseUrl: must end before \/chat\/completions/,
    ])
  }
  t.match(problems('{}'), [/upstream/])
  t.match(problems('upstream: ['), [/sidegate\.yaml:\d+/])
  const hash = 'a'.repeat(64)
  const keys = (...names: string[]) =>
    `upstream: { baseUrl: http://h }\nkeys:\n${names.map((name) => `  - { name: ${name}, sha256: ${hash} }\n`).join('')}`
  t.same(problems(keys('one')), [])
  t.match(problems(keys('one', 'two')), [/4:\d+ keys\[1\]\.sha256: is also the hash of keys\[0\]/])
  t.notMatch(problems(keys('one', 'two')).join(), hash)
  t.match(
    problems(`${keys('one', 'two')}bogus: 1`),
    [/bogus/, /keys\[1\]\.sha256: is also the hash/],
    'also with an error elsewhere',
  )
  t.match(
    problems(`${keys('one', 'two')}  - { name: short, sha256: 7 }`),
    [/keys\[2\]\.sha256: must be a string/],
    'but not with an invalid key, whose removal changes the indices',
  )
  t.match(readConfig('/nowhere/sidegate.yaml', {}, clock).problems, [{ message: /ENOENT.*--config/ }])
})

/** The configuration over these lines, with files of certificates beside it. */
const tlsProblems = (folder: string, ...lines: string[]) => {
  const text = ['upstream: { baseUrl: http://h }', ...lines].join('\n')
  const now = { now: () => Date.UTC(2027, 0, 15), monotonic: () => 0 }
  const { config, problems: found } = parseConfig(text, resolve(folder, 'sidegate.yaml'), {}, now)
  return { config, found: found.map(formatProblem).map((one) => one.slice(folder.length + 1)) }
}

t.test('TLS of the listeners: a bad pair is reported at its line, and at a start', async (t) => {
  const [fromMs, untilMs] = [Date.UTC(2027, 0, 1), Date.UTC(2027, 0, 31)]
  const [good, other] = [makeCertificate({ fromMs, untilMs }), makeCertificate({ fromMs, untilMs })]
  const old = makeCertificate({ fromMs, untilMs: Date.UTC(2027, 0, 10) })
  const weak = makeCertificate({ fromMs, untilMs, keys: rsaKeys(1024) })
  const folder = t.testdir({
    ...{ 'tls.crt': good.certificate, 'tls.key': good.key, 'other.key': other.key },
    ...{ 'old.crt': old.certificate, 'old.key': old.key, 'weak.crt': weak.certificate, 'weak.key': weak.key },
    'ca.crt': makeCertificate({ fromMs, untilMs, isAuthority: true }).certificate,
  })
  const pair = (certificate: string, key: string, more = '') =>
    `{ certificate: { file: ${certificate} }, key: { file: ${key} }${more} }`
  const { config, found } = tlsProblems(
    folder,
    'listen:',
    `  tls: ${pair('tls.crt', 'tls.key', ', clientCa: { file: ca.crt }, minVersion: "1.3"')}`,
    `  opsTls: ${pair('tls.crt', 'tls.key')}`,
  )
  t.same(found, [])
  t.match(config?.listen, {
    tls: { declaredAt: ['listen', 'tls'], minVersion: '1.3' },
    opsTls: { declaredAt: ['listen', 'opsTls'], clientCa: null, minVersion: '1.2' },
  })
  t.match(parse('upstream: { baseUrl: http://h }').config?.listen, { tls: null, opsTls: null })
  const cases: [string, RegExp][] = [
    [
      `tls: ${pair('old.crt', 'old.key')}`,
      /^sidegate.yaml:3:\d+ listen\.tls\.certificate: expired at 2027-01/,
    ],
    [
      `opsTls: ${pair('weak.crt', 'weak.key')}`,
      /^\S+:3:\d+ listen\.opsTls\.certificate: has an RSA key of 102/,
    ],
    [
      `tls: ${pair('tls.crt', 'other.key')}`,
      /^\S+:3:\d+ listen\.tls\.key: is not the key of the certificate/,
    ],
    [
      `tls: ${pair('tls.crt', 'none.key')}`,
      /^\S+:3:\d+ listen\.tls\.key: file none\.key cannot be used \(ENOENT/,
    ],
    [
      `tls: ${pair('tls.crt', 'tls.key', ', clientCa: { file: tls.crt }')}`,
      /:3:\d+ listen\.tls\.clientCa: .*not an auth/,
    ],
    [`tls: ${pair('tls.crt', 'tls.key', ', minVersion: "1.1"')}`, /:3:\d+ listen\.tls\.minVersion: /],
    [
      `opsTls: ${pair('tls.crt', 'tls.key', ', clientCa: { file: ca.crt }')}`,
      /:3:\d+ listen\.opsTls\.clientCa: /,
    ],
    ['tls: { key: { file: tls.key } }', /^\S+:3:\d+ listen\.tls\.certificate: is required/],
    ['tls: { certificate: { file: tls.crt } }', /^\S+:3:\d+ listen\.tls\.key: is required/],
  ]
  for (const [line, wanted] of cases)
    t.match(tlsProblems(folder, 'listen:', `  ${line}`).found, [wanted], `${wanted}`)
})

t.test('a client certificate stands for a key, and needs an authority', async (t) => {
  const { certificate, key } = makeCertificate({
    fromMs: 0,
    untilMs: Date.UTC(2027, 5, 1),
    isAuthority: true,
  })
  const folder = t.testdir({ 'tls.crt': certificate, 'tls.key': key })
  const tls = '{ certificate: { file: tls.crt }, key: { file: tls.key }, clientCa: { file: tls.crt } }'
  const san = 'spiffe://cluster.local/ns/shop/sa/web'
  const read = (...keys: string[]) =>
    tlsProblems(folder, `listen: { tls: ${tls} }`, 'keys:', ...keys.map((one) => `  - ${one}`))
  const shop = `{ name: shop, clientCertificate: { san: "${san}" }, models: ["gpt-*"] }`
  const { config, found } = read(shop, '{ name: web, clientCertificate: { san: web.shop } }')
  t.same(found, [])
  t.match(config?.keys, [
    { name: 'shop', clientName: `URI:${san}`, sha256: /^[0-9a-f]{64}$/, terms: { models: ['gpt-*'] } },
    { name: 'web', clientName: 'DNS:web.shop' },
  ])
  const both = `{ name: both, sha256: ${'a'.repeat(64)}, clientCertificate: { san: a } }`
  t.match(read(shop, both).found, [/:5:\d+ keys\[1\]\.clientCertificate: must not be next to sha256/])
  t.match(read(shop, shop).found, [/:5:\d+ keys\[1\]\.clientCertificate\.san: is also the name of keys\[0\]/])
  t.match(read('{ name: none }', '{ name: none }').found, [/:4:\d+ keys\[0\]\.sha256: is req/, /keys\[1\]/])
  t.match(read('{ name: a, clientCertificate: {} }').found, [
    /:4:\d+ keys\[0\]\.clientCertificate\.san: is req/,
  ])
  t.match(read('{ name: a, clientCertificate: { san: "a b" } }').found, [/:4:\d+ .*clientCertificate\.san: /])
  t.match(tlsProblems(folder, `keys: [${shop}]`).found, [
    /:2:\d+ keys\[0\]\.clientCertificate: needs listen\.tls\.clientCa/,
  ])
})

t.test('a proxy URL may contain a password, and errors do not repeat it', async (t) => {
  const read = (url: string) =>
    parse('upstream: { baseUrl: https://h, proxy: { env: PROXY } }', { PROXY: url })
  for (const url of [
    'http://proxy:3128',
    'http://proxy',
    'https://me:p%20w@10.0.0.1:443/',
    'http://[::1]:1',
  ]) {
    t.same(read(url).problems, [], url)
    t.equal(read(url).config?.upstreams[0]?.proxy?.current(), url)
  }
  for (const url of [
    'proxy:3128',
    'socks5://proxy:1080',
    'http://me:p%w@h',
    'http://h/path',
    'http://',
    'h s3cret',
  ]) {
    const [problem = '', ...others] = read(url).problems.map(formatProblem)
    t.match(problem, /1:\d+ upstream\.proxy: is not the URL of an HTTP proxy; set it to a URL like http/, url)
    t.notMatch(problem, /s3cret|p%w/)
    t.same(others, [])
  }
  t.match(problems('upstream: { baseUrl: https://h, proxy: { env: NONE } }'), [
    /NONE is not set; .*remove the proxy/,
  ])
  t.match(problems('upstream: { baseUrl: https://h, proxy: "http://proxy:3128" }'), [
    /upstream\.proxy: must be an object/,
  ])
})

t.test('a schema error hides no other error, and values in it are not checked further', async (t) => {
  const text = `upstream: { baseUrl: 7, apiKey: { env: NONE } }
listen: { gateway: no-port, ops: "127.0.0.1:8484" }
admin: { token: { env: NONE }, sessionTtlSeconds: long }
keys: [{ name: lonely }]
bogus: 1
`
  const { config, partial } = parse(text)
  t.equal(config, null)
  t.match(partial, { listen: { ops: { port: 8484 } }, admin: { sessionTtlSeconds: 28_800 } })
  t.same(
    parse(text).problems.map(({ path }) => path),
    [
      'upstream.baseUrl',
      'listen.gateway',
      'admin.sessionTtlSeconds',
      'bogus',
      'upstream.apiKey',
      'keys[0].sha256',
      'admin.token',
    ],
    'not listen.ops, which only equals the default of listen.gateway',
  )
  for (const nothing of ['', '[]', '7', 'upstream: [']) t.equal(parse(nothing).partial, null, nothing)
})

t.test('the sample configuration is valid, and config/sidegate.schema.json is the schema', async (t) => {
  const env = { OPENROUTER_API_KEY: 'k', SIDEGATE_ADMIN_TOKEN: 'sixteen letters!' }
  const { config, problems: found } = readConfig(resolve(CONFIG, 'sidegate.yaml'), env, clock)
  t.same(found, [])
  t.equal(config?.upstreams[0]?.baseUrl, 'https://openrouter.ai/api/v1')
  t.same(
    JSON.parse(readFileSync(resolve(CONFIG, 'sidegate.schema.json'), 'utf8')),
    JSON.parse(JSON.stringify(CONFIG_SCHEMA)),
  )
})

t.test('every key of the schema has a description', async (t) => {
  const visit = (schema: any, path: string) => {
    for (const [name, child] of Object.entries<any>(schema.properties ?? {})) {
      t.ok(child.description?.length > 10, `${path}${name}`)
      visit(child, `${path}${name}.`)
    }
  }
  visit(CONFIG_SCHEMA, '')
})
