// `sidegate check`, `test` and `diff`: exit codes, formats and problems.

import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../process/program.ts'
import { runCli } from '../process/run-command.ts'
import { makeCertificate } from '../server/certificate.ts'

const sidegate = async (args: readonly string[], env: Record<string, string> = {}, cwd = ROOT) => {
  const { code: status, stdout, stderr } = await runCli(args, env, cwd)
  return { status, stdout, stderr }
}

/** Whether XML is well-formed: elements nest, attributes are quoted, ampersands are escaped. */
function isWellFormed(xml: string): boolean {
  const open: string[] = []
  const rest = xml
    .replace(/^<\?xml [^>]*\?>/, '')
    .replace(/<(\/?)(\w+)((?: \w+="[^"<]*")*)(\/?)>/g, (...parts) => {
      const [, close, name, , empty] = parts as string[]
      if (close === '/') return open.pop() === name ? '' : '<'
      if (empty !== '/') open.push(name!)
      return ''
    })
  return open.length === 0 && !rest.includes('<') && !/&(?!(?:amp|lt|gt|quot|#\d+);)/.test(xml)
}

const BROKEN = `rules:
  - { name: one, type: pii, pattern: "emial<&", action: block }
  - { name: two, type: keyword_block, pattern: "(", action: allow }
`
const WARNED = 'rules:\n  - { name: one, type: keyword_block, pattern: e, action: monitor }\n'

t.test('check warns of files in a rules folder that are not read', async (t) => {
  const rules = 'rules: []\n'
  const dir = t.testdir({
    rules: {
      'a.yaml': rules,
      'C.YAML': rules,
      'a_test.yaml': 'tests: []\n',
      '.hidden.yaml': rules,
      'notes.md': '',
      team: { deep: { 'b.yml': rules } },
      candidates: { 'd.yaml': rules },
      tests: { 'd_test.yaml': 'tests: []\n' },
    },
  })
  const { status, stdout } = await sidegate(
    ['check', 'rules', 'rules/candidates', '--fail-on', 'warning'],
    {},
    dir,
  )
  t.equal(status, 1)
  t.match(stdout, 'warning: rules/C.YAML is not read')
  t.match(stdout, 'warning: rules/team is not read, and holds 1 *.yaml file:')
  t.match(stdout, '0 errors, 2 warnings')
})

t.test('check names files relative to the workspace in GitHub annotations', async (t) => {
  const dir = t.testdir({ app: { rules: { 'broken.yaml': BROKEN } } })
  const files = async (workspace: string) => {
    const env = { GITHUB_WORKSPACE: workspace }
    const { stdout } = await sidegate(['check', 'rules', '--format', 'github'], env, join(dir, 'app'))
    return [...new Set(stdout.match(/(?<=file=)[^,]+/g))]
  }
  t.strictSame(await files(dir), ['app/rules/broken.yaml'])
  t.strictSame(await files(''), ['rules/broken.yaml'])
  t.strictSame(await files(join(dir, 'elsewhere')), ['rules/broken.yaml'])
})

t.test('check prints each format and exits with 1 on errors', async (t) => {
  const dir = t.testdir({ 'broken.yaml': BROKEN, 'warned.yaml': WARNED })
  const broken = join(dir, 'broken.yaml')
  const warned = join(dir, 'warned.yaml')
  t.equal((await sidegate(['check', 'config/rules'])).status, 0)
  const pretty = await sidegate(['check', broken])
  t.equal(pretty.status, 1)
  t.match(
    pretty.stdout,
    /broken\.yaml:2:\d+ rules\[0\]\.pattern: .*did you mean|broken\.yaml:2:\d+ rules\[0\]\.pattern/,
  )
  t.match(
    pretty.stdout,
    /broken\.yaml:3:\d+ rules\[1\]\.action: `[a-z]+` is not allowed for keyword_block rules; use `block`, `redact` or `monitor`/,
  )
  t.match(pretty.stdout, '1 file checked: 3 errors, 0 warnings')
  t.equal((await sidegate(['check', warned])).status, 0)
  t.equal((await sidegate(['check', warned, '--fail-on', 'warning'])).status, 1)
  t.match(
    (await sidegate(['check', broken], { GITHUB_ACTIONS: 'true' })).stdout,
    /^::error file=.*broken\.yaml,line=2,col=\d+::/m,
  )
  t.match(JSON.parse((await sidegate(['check', broken, '--format', 'json'])).stdout), {
    errors: 3,
    warnings: 0,
  })
  t.ok(isWellFormed((await sidegate(['check', broken, '--format', 'junit'])).stdout))
})

t.test('check reports errors in test files and a manifest without rules', async (t) => {
  const dir = t.testdir({
    'a_test.yaml': 'tests: [{name: a}]\n',
    'map.yaml': 'kind: ConfigMap\ndata: { readme.txt: hi }\n',
  })
  const tests = await sidegate(['check', join(dir, 'a_test.yaml')])
  t.equal(tests.status, 1)
  t.match(tests.stdout, /a_test\.yaml:1:\d+ tests\[0\]\.expect: is required/)
  t.match((await sidegate(['check', dir])).stdout, /2 errors/)
  t.match((await sidegate(['check', join(dir, 'map.yaml')])).stdout, /map\.yaml data: holds no \*\.yaml key/)
  for (const key of ['upstream: {baseUrl: "https://x.example/v1"}', 'upstreams: []']) {
    writeFileSync(join(dir, 'sidegate.yaml'), `${key}\nrules: {path: rules}\n`)
    const { status, stdout } = await sidegate(['check', join(dir, 'sidegate.yaml')])
    t.equal(status, 1)
    t.match(stdout, /sidegate\.yaml is a configuration and no rule file; run `sidegate check --config`/)
  }
})

t.test('names of declared keys hold no personal data', async (t) => {
  const declared = (...names: string[]) =>
    `keys:\n${names.map((name, index) => `  - { name: '${name}', sha256: '${String(index).repeat(64)}' }\n`).join('')}`
  const common = 'upstream: { baseUrl: http://h }\nrules: { path: rules }\n'
  const dir = t.testdir({
    rules: { 'a.yaml': 'rules: []\n' },
    'good.yaml': common + declared('app', 'team-7'),
    'bad.yaml': common + declared('app', 'alice@example.com'),
  })
  t.equal((await sidegate(['check', '--config', 'good.yaml'], {}, dir)).status, 0)
  const problem =
    /bad\.yaml:5:\d+ keys\[1\]\.name: must hold no personal data and no secret, and holds a value of kind email/
  const checked = await sidegate(['check', '--config', 'bad.yaml'], {}, dir)
  t.equal(checked.status, 1)
  t.match(checked.stdout, problem)
  for (const args of [['serve'], ['keys', 'create', '--name', 'x'], ['keys', 'revoke', 'x']]) {
    const { status, stdout, stderr } = await sidegate([...args, '--config', 'bad.yaml'], {}, dir)
    t.not(status, 0)
    t.match(stdout + stderr, problem, args.join(' '))
    t.notMatch(stdout + stderr, 'alice@')
  }
  const refused = await sidegate(
    ['keys', 'create', '--name', 'alice@example.com', '--config', 'good.yaml'],
    {},
    dir,
  )
  t.equal(refused.status, 2)
  t.match(refused.stderr, '--name must hold no personal data and no secret, and holds a value of kind email')
})

t.test('check exits with 2 when it cannot run', async (t) => {
  for (const args of [
    ['none.yaml'],
    ['--format', 'xml'],
    ['--fail-on', 'never'],
    ['--config', 'none.yaml'],
    ['--config', 'config'],
    ['--what'],
  ]) {
    const { status, stdout, stderr } = await sidegate(['check', ...args])
    t.equal(status, 2, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, 'sidegate check --help')
  }
})

t.test('check exits with 2 when a file cannot be read, and checks the other files', async (t) => {
  const dir = t.testdir({
    rules: { 'a.yaml': BROKEN },
    'sidegate.yaml': 'upstream: { baseUrl: http://h }\nrules: { path: rules }\n',
  })
  symlinkSync('nowhere', join(dir, 'rules', 'b.yaml'))
  for (const args of [[join(dir, 'rules')], ['--config', join(dir, 'sidegate.yaml')]]) {
    const { status, stdout } = await sidegate(['check', ...args])
    t.equal(status, 2, args.join(' '))
    t.match(stdout, /a\.yaml:2:\d+ rules\[0\]\.pattern/)
    t.match(stdout, /b\.yaml cannot be read \(ENOENT\)/)
    t.match(stdout, '4 errors')
  }
})

t.test('check warns of a pass-through path that covers an endpoint that is scanned', async (t) => {
  const dir = t.testdir({
    'sidegate.yaml': `upstream: { baseUrl: http://h/v1 }
rules: { path: r.yaml }
passThrough:
  - { path: /v1/images/*, methods: [POST] }
  - { path: /v1/chat/*, methods: [POST] }
  - { path: /v1/Responses/*, methods: [GET] }
  - { path: /v1/*/*/cancel, methods: [POST] }
  - { path: /v1/responses/compact, methods: [POST] }
`,
    'r.yaml': 'rules: []\n',
  })
  const { status, stdout } = await sidegate(['check', '--config', join(dir, 'sidegate.yaml')])
  t.equal(status, 0)
  t.match(
    stdout,
    /sidegate\.yaml:5:\d+ passThrough\[1\]\.path: covers \/v1\/chat\/completions, which is never forwarded/,
  )
  for (const index of [2, 3, 4])
    t.match(stdout, new RegExp(`passThrough\\[${index}\\]\\.path: covers (\\S+ )*/v1/responses/…, which`))
  t.match(stdout, '0 errors, 4 warnings')
})

t.test('check warns of globs of the configuration that match nothing that is meant', async (t) => {
  const paths = ['/v1/images/../x', '/v1//images', '/v1/%61b', '/v1/a;b', '/v1/images?size=*', '/v1/%c3%a9/*']
  const anyToken =
    '{ name: t, jwt: { issuer: i, jwks: { url: "https://i/jwks" }, audience: a, claims: { sub: "*" } } }'
  const dir = t.testdir({
    'sidegate.yaml': `upstreams: [{ name: a, baseUrl: http://h/v1, models: ["gpt\\u200b*", "^o"] }]
rules: { path: r.yaml }
prices: { path: p.yaml }
keys: [{ name: k, sha256: '${'0'.repeat(64)}', models: [ok, "! b"] }, ${anyToken}]
passThrough:
${['/v1/images/*', '/v1/**', '/v1/fi?es', ...paths].map((path) => `  - { path: "${path}", methods: [GET] }`).join('\n')}
`,
    'r.yaml': 'rules: []\n',
    'p.yaml': 'prices:\n  "*": { input: 1, output: 1 }\n  m: { input: 1, output: 1 }\n',
  })
  const { status, stdout } = await sidegate(['check', '--config', join(dir, 'sidegate.yaml')])
  t.equal(status, 0)
  t.match(stdout, /:1:\d+ upstreams\[0\]\.models\[0\]: has characters that nobody sees, as in `gpt‹200B›\*`/)
  t.match(stdout, /:1:\d+ upstreams\[0\]\.models\[1\]: looks like a regular expression/)
  t.match(stdout, /:4:\d+ keys\[0\]\.models\[1\]: has white space at its ends/)
  t.match(stdout, /:4:\d+ keys\[1\]\.jwt\.claims: takes every token of the issuer with these claims/)
  t.match(stdout, /p\.yaml:3:6 prices\.m: is never used, because `\*` in line 2 comes first/)
  const about = [
    /never matches/,
    /never matches/,
    /`\/v1\/ab`/,
    /never matches/,
    /holds a query/,
    /`\/v1\/%C3%A9\/a`/,
  ]
  for (const [index, message] of about.entries()) {
    const line = stdout.split('\n').find((one) => one.includes(`passThrough[${index + 3}].path: `))
    t.match(line, message, String(paths[index]))
  }
  for (const index of [0, 2]) t.notMatch(stdout, `passThrough[${index}]`)
  t.match((await sidegate(['check', join(dir, 'p.yaml')])).stdout, /p\.yaml:3:6 prices\.m: is never used/)
})

t.test('check knows the kinds of recognisers in the configuration', async (t) => {
  const rules = 'rules:\n  - { name: a, type: pii, pattern: location|person, action: block }\n'
  const config = (recognisers: string) =>
    `upstream: { baseUrl: "https://provider.example/v1" }\nadmin: { token: { env: TOKEN } }\n${recognisers}`
  const recogniser = '  - { name: p, url: "http://127.0.0.1:5002/analyze", kinds: [person, location] }\n'
  const dir = t.testdir({
    'with.yaml': config(`recognisers:\n${recogniser}`),
    'without.yaml': config(''),
    'wrong.yaml': config(`recognisers:\n${recogniser.replace('127.0.0.1', 'names.example')}`),
    rules: { 'a.yaml': rules },
  })
  const check = (name: string) =>
    sidegate(['check', '--config', join(dir, name)], { TOKEN: 'an-admin-token-for-tests' })
  t.match(await check('with.yaml'), { status: 0, stdout: /0 errors, 0 warnings/ })
  const without = await check('without.yaml')
  t.equal(without.status, 1)
  t.match(
    without.stdout,
    /a\.yaml:2:.*`location` is not a kind .*a recogniser of the configuration may define/,
  )
  const wrong = await check('wrong.yaml')
  t.equal(wrong.status, 1)
  t.match(
    wrong.stdout,
    /wrong\.yaml:4:.*recognisers\[0\]\.url: must use https, .* such as http:\/\/127\.0\.0\.1/,
  )
})

t.test('test, diff and evaluate say which recognisers they leave out', async (t) => {
  const dir = t.testdir({
    'sidegate.yaml':
      'upstream: { baseUrl: "https://h/v1" }\nrules: { path: rules }\nrecognisers:\n  - { name: names, url: "http://127.0.0.1:5002/analyze", kinds: [person, location] }\n',
    'none.yaml': 'upstream: { baseUrl: "https://h/v1" }\nrules: { path: rules }\n',
    rules: {
      'a.yaml': 'rules:\n  - { name: a, type: pii, pattern: location, action: redact }\n',
      'a_test.yaml': 'tests:\n  - { name: one, text: hi, expect: { redacted: hi } }\n',
    },
    'r.jsonl': '{"messages":[{"role":"user","content":"hi"}],"model":"m"}\n',
  })
  const commands = [
    ['test', 'rules'],
    ['diff', 'rules', 'rules', '--replay', 'r.jsonl'],
    ['evaluate', 'hi'],
  ]
  for (const command of commands) {
    const json = command[0] === 'evaluate' ? [] : ['--format', 'json']
    const run = (config: string, more: readonly string[] = []) =>
      sidegate([...command, '--config', config, ...more], {}, dir)
    const text = await run('sidegate.yaml')
    t.equal(text.status, 0, text.stderr)
    t.match(text.stderr, /^warning: left out here are the recognisers .*: names; .*: person, location$/m)
    const { recognisersLeftOut, recognisers_left_out = recognisersLeftOut } = JSON.parse(
      (await run('sidegate.yaml', json)).stdout,
    )
    t.same(recognisers_left_out, ['names'])
    const without = await run('none.yaml', json)
    t.notMatch(without.stdout + without.stderr, /recognisers/)
  }
})

t.test('check reports errors of the configuration and of the rules together', async (t) => {
  const dir = t.testdir({
    'sidegate.yaml':
      'upstream: { baseUrl: http://h }\nlimits: { bodyBytes: big }\nrules: { path: broken.yaml }\npassThrough: [{ path: /images, methods: [GET] }, { path: /v1/chat/*, methods: [GET] }]\n',
    'lost.yaml': 'upstream: { baseUrl: http://h }\nrules: { path: nowhere, candidatePath: neither }\n',
    'broken.yaml': BROKEN,
  })
  const { status, stdout } = await sidegate(['check', '--config', join(dir, 'sidegate.yaml')])
  t.equal(status, 1)
  t.match(stdout, /sidegate\.yaml:2:\d+ limits\.bodyBytes: must be an integer/)
  t.match(stdout, /broken\.yaml:2:\d+ rules\[0\]\.pattern/)
  t.match(stdout, /:4:23 passThrough\[0\]\.path: has the wrong format: .* Begins with `\/v1\/`/)
  t.match(stdout, /:4:58 passThrough\[1\]\.path: covers \/v1\/chat\/completions/)
  t.match(stdout, '5 errors, 1 warning')
  const lost = await sidegate(['check', '--config', join(dir, 'lost.yaml')])
  t.equal(lost.status, 1)
  t.match(lost.stdout, /lost\.yaml:2:\d+ rules\.path: .*nowhere cannot be read \(ENOENT\)/)
  t.match(lost.stdout, /lost\.yaml:2:\d+ rules\.candidatePath: .*neither cannot be read/)
  t.match(lost.stdout, '2 errors')
})

t.test('check accepts the shipped configuration without credentials and refuses a wrong one', async (t) => {
  const bare = await sidegate(['check', '--format', 'json'])
  t.equal(bare.status, 0)
  t.match(JSON.parse(bare.stdout), {
    errors: 0,
    warnings: 2,
    problems: [{ path: 'upstream.apiKey' }, { path: 'admin.token' }],
  })
  const all = [
    '{ upstream: { baseUrl: https://h, apiKey: { env: NONE }, proxy: { env: NONE } },',
    'rules: { path: r.yaml },',
  ]
  all.push('audit: { signingKey: { file: none } }, admin: { token: { file: none } } }')
  const dir = t.testdir({ 'sidegate.yaml': all.join('\n'), 'r.yaml': 'rules: []\n' })
  const everywhere = await sidegate(['check', '--config', join(dir, 'sidegate.yaml'), '--format', 'json'])
  t.match(JSON.parse(everywhere.stdout), { errors: 0, warnings: 4 })
  t.equal(everywhere.status, 0)
  const secret = 'two words'
  const wrong = await sidegate(['check'], { OPENROUTER_API_KEY: secret })
  t.equal(wrong.status, 1)
  t.notMatch(wrong.stdout, secret)
})

t.test('check warns of each secret without a value, wherever one may be', async (t) => {
  const dir = t.testdir({
    'sidegate.yaml': `upstreams:
  - name: a
    baseUrl: http://h/v1
    apiKey: { env: A_KEY }
    headers: { x-b: { file: /nowhere/b } }
admin:
  tokens: [{ name: vera, role: admin, token: { env: VERA } }]
  oidc: { issuer: https://h, clientId: c, clientSecret: { env: OIDC }, roles: { a: admin } }
audit: { signingKey: { env: SIGNING } }
rules: { path: r.yaml }
`,
    'r.yaml': 'rules: []\n',
  })
  const { status, stdout } = await sidegate(['check', '--config', join(dir, 'sidegate.yaml')])
  t.match(stdout, '0 errors, 5 warnings')
  t.match(stdout, /warning: .*upstreams\[0\]\.apiKey: environment variable A_KEY is not set/)
  t.equal(status, 0)
})

t.test('a client certificate that is not mounted is a warning, for upstream as for upstreams', async (t) => {
  const terms = 'baseUrl: http://h/v1, tls: { certificate: none.crt, key: none.key }, apiKey: { env: A_KEY }'
  const dir = t.testdir({
    'one.yaml': `upstream: { ${terms} }\nrules: { path: r.yaml }\n`,
    'several.yaml': `upstreams:\n  - { name: a, ${terms} }\nrules: { path: r.yaml }\n`,
    'text.yaml': `upstream: { baseUrl: http://h/v1, tls: { ca: r.yaml } }\nrules: { path: r.yaml }\n`,
    'r.yaml': 'rules: []\n',
  })
  for (const [file, path] of [
    ['one.yaml', 'upstream'],
    ['several.yaml', 'upstreams\\[0\\]'],
  ]) {
    const { status, stdout } = await sidegate(['check', '--config', join(dir, file!)])
    t.match(stdout, '0 errors, 3 warnings')
    t.match(stdout, new RegExp(`warning: .*${path}\\.tls\\.key: file none\\.key cannot be used \\(ENOENT\\)`))
    t.equal(status, 0)
  }
  const wrong = await sidegate(['check', '--config', join(dir, 'text.yaml')])
  t.match(wrong.stdout, /error: .*upstream\.tls\.ca: file r\.yaml is not PEM/)
})

t.test('a client certificate whose key is another one is an error', async (t) => {
  const [one, other] = [makeCertificate({}), makeCertificate({})]
  const tls = 'tls: { certificate: tls.crt, key: tls.key }'
  const dir = t.testdir({
    'sidegate.yaml': `upstream:\n  baseUrl: https://h/v1\n  ${tls}\nrules: { path: r.yaml }\n`,
    'r.yaml': 'rules: []\n',
    'tls.crt': one.certificate,
    'tls.key': other.key,
  })
  const check = () => sidegate(['check', '--config', join(dir, 'sidegate.yaml')])
  const wrong = await check()
  t.match(wrong.stdout, /error: .*sidegate\.yaml:3:\d+ upstream\.tls: is refused by OpenSSL/)
  t.equal(wrong.status, 1)
  writeFileSync(join(dir, 'tls.key'), one.key)
  t.equal((await check()).status, 0)
})

t.test('check needs no certificate of the listener, and refuses one that cannot be served', async (t) => {
  const expired = makeCertificate({ untilMs: Date.now() - 1000 })
  const listen = 'listen: { tls: { certificate: { file: tls.crt }, key: { file: tls.key } } }\n'
  const dir = t.testdir({
    'sidegate.yaml': `upstream: { baseUrl: http://h/v1 }\n${listen}rules: { path: r.yaml }\n`,
    'r.yaml': 'rules: []\n',
  })
  const check = () => sidegate(['check', '--config', join(dir, 'sidegate.yaml')])
  const before = await check()
  t.match(before.stdout, '0 errors, 2 warnings')
  t.match(before.stdout, /warning: .*listen\.tls\.key: file tls\.key cannot be used \(ENOENT\); mount the/)
  t.equal(before.status, 0)
  writeFileSync(join(dir, 'tls.crt'), expired.certificate)
  writeFileSync(join(dir, 'tls.key'), expired.key)
  const after = await check()
  t.match(after.stdout, /error: .*sidegate\.yaml:2:\d+ listen\.tls\.certificate: expired at \S+; renew it/)
  t.equal(after.status, 1)
})

t.test('check reports errors in prices in each format', async (t) => {
  const bad = 'prices:\n  gpt: { input: 1 USD, output: 1, inputs: 2 }\n'
  const config = 'upstream: { baseUrl: http://h }\nrules: { path: r.yaml }\nprices: { path: p.yaml }\n'
  const manifest = `kind: ConfigMap\ndata:\n  prices.yaml: |\n    ${bad.trimEnd().replaceAll('\n', '\n    ')}\n`
  const dir = t.testdir({
    'sidegate.yaml': config,
    'ignoring.yaml': config.replace('path: p.yaml', 'path: good.yaml, unknownPrice: ignore'),
    'lost.yaml': config.replace('p.yaml', 'lost/p.yaml'),
    'r.yaml': 'rules: []\n',
    'p.yaml': bad,
    'good.yaml': 'prices:\n  "*": { input: 1, output: 1 }\n',
    'all.yaml': `---\nkind: ConfigMap\ndata:\n  r.yaml: |\n    rules: []\n---\n${manifest}`,
    rules: { 'prices.yaml': bad },
  })
  const run = (...args: string[]) => sidegate(['check', ...args], {}, dir)
  for (const args of [['--config', 'sidegate.yaml'], ['p.yaml'], ['rules']]) {
    const { status, stdout } = await run(...args)
    t.equal(status, 1, args.join(' '))
    t.match(stdout, /^error: (?:p|rules\/prices)\.yaml:2:17 prices\.gpt\.input: must be a number: USD/m)
    t.match(stdout, /prices\.gpt\.inputs: is not a known key; did you mean `input`\?/)
    t.match(stdout, /\d files? checked: 2 errors, 0 warnings/)
  }
  const inManifest = await run('all.yaml')
  t.match(inManifest.stdout, /all\.yaml:11:21 prices\.gpt\.input: must be a number/)
  t.match(inManifest.stdout, '1 file checked: 2 errors')
  t.match(JSON.parse((await run('--config', 'sidegate.yaml', '--format', 'json')).stdout), {
    files: ['sidegate.yaml', 'p.yaml', 'r.yaml'],
    problems: [{ file: 'p.yaml', line: 2, column: 17, severity: 'error' }, {}],
  })
  t.match(
    (await run('--config', 'sidegate.yaml', '--format', 'github')).stdout,
    /^::error file=.*p\.yaml,line=2,col=17::/m,
  )
  t.ok(isWellFormed((await run('--config', 'sidegate.yaml', '--format', 'junit')).stdout))
  const ignoring = await run('--config', 'ignoring.yaml')
  t.match(
    [ignoring.status, ignoring.stdout],
    [0, /^warning: ignoring\.yaml:3:\d+ prices\.unknownPrice: lets/m],
  )
  t.match(
    (await run('--config', 'lost.yaml')).stdout,
    /lost\.yaml:3:\d+ prices\.path: .*p\.yaml cannot be read \(ENOENT\); name a price file/,
  )
  const none = await run('good.yaml')
  t.match([none.status, none.stdout], [0, '1 file checked: 0 errors, 0 warnings'])
})

t.test('check warns of a base URL of a known provider without its path', async (t) => {
  const dir = t.testdir({
    'sidegate.yaml': 'upstream: { baseUrl: https://api.openai.com }\nrules: { path: r.yaml }\n',
    'r.yaml': 'rules: []\n',
  })
  const warned = await sidegate(['check', '--config', join(dir, 'sidegate.yaml'), '--fail-on', 'warning'])
  t.equal(warned.status, 1)
  t.match(
    warned.stdout,
    /^warning: .*sidegate\.yaml:1:\d+ upstream\.baseUrl: has no path, .*write `https:\/\/api\.openai\.com\/v1`$/m,
  )
})

t.test('test passes, fails after a rule was changed, and exits with 2 without tests', async (t) => {
  t.equal((await sidegate(['test', 'config/rules'])).status, 0)
  t.equal((await sidegate(['test'])).status, 0)
  const dir = t.testdir({
    empty: { 'rules.yaml': 'rules: []\n' },
    wrong: { 'a_test.yaml': 'tests: [{name: a}]\n', 'r.yaml': 'rules: []\n' },
  })
  const rules = join(dir, 'rules')
  cpSync(join(ROOT, 'config/rules'), rules, { recursive: true })
  const keywords = join(rules, '10-keywords.yaml')
  writeFileSync(keywords, readFileSync(keywords, 'utf8').replace('project borealis', 'project zenith'))
  const failed = await sidegate(['test', rules])
  t.equal(failed.status, 1)
  t.match(failed.stdout, /^FAIL .*10-keywords_test\.yaml:\d+ a code name in disguise is refused$/m)
  t.match(failed.stdout, /\d+ passed, 2 failed/)
  t.ok(isWellFormed((await sidegate(['test', rules, '--format', 'junit'])).stdout))
  t.match(JSON.parse((await sidegate(['test', rules, '--format', 'json'])).stdout), { failed: 2 })
  const annotation =
    /^::error file=10-keywords_test\.yaml,line=\d+::a code name in disguise is refused%0A\w+:%0A {2}expected /m
  const github = { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: rules }
  const annotated = await sidegate(['test', rules], github)
  t.equal(annotated.status, 1)
  t.match(annotated.stdout, annotation, 'annotations are the default on GitHub Actions')
  t.match(annotated.stdout, /\n\d+ tests: \d+ passed, 2 failed\n$/)
  t.equal(
    (await sidegate(['test', rules, '--format', 'github'], { GITHUB_WORKSPACE: rules })).stdout,
    annotated.stdout,
  )
  t.match((await sidegate(['test', rules, '--format', 'pretty'], github)).stdout, /^FAIL /m)
  t.match((await sidegate(['test', rules, '--format', 'tap'])).stdout, /^TAP version 14\n1\.\.\d+\nok 1 - /)
  t.equal((await sidegate(['test', join(dir, 'empty')])).status, 2)
  const wrong = await sidegate(['test', join(dir, 'wrong')])
  t.equal(wrong.status, 2)
  t.match(wrong.stderr, /a_test\.yaml:1:\d+ tests\[0\]\.expect: is required/)
  t.match(
    (await sidegate(['test', 'wrong', '--format', 'github'], {}, dir)).stdout,
    /^::error file=wrong\/a_test\.yaml,line=1,col=\d+::tests\[0\]\.expect: is required$/m,
  )
})

t.test('diff reports changed rules and changed results of tests and recorded requests', async (t) => {
  const dir = t.testdir({ tests: {} })
  const next = join(dir, 'next')
  cpSync(join(ROOT, 'config/rules'), next, { recursive: true })
  const keywords = join(next, '10-keywords.yaml')
  writeFileSync(keywords, readFileSync(keywords, 'utf8').replace('project borealis', 'project zenith'))
  const say = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] })
  const replay = join(dir, 'calls.jsonl')
  const lines = [say('nothing'), { request: say('project zenith'), key_name: 'web' }, say('my secret word')]
  writeFileSync(replay, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n`)
  t.equal((await sidegate(['diff', 'config/rules', 'config/rules', '--replay', replay])).status, 0)
  const changed = await sidegate([
    'diff',
    'config/rules',
    next,
    '--tests',
    'config/rules',
    '--replay',
    replay,
    '--format',
    'json',
  ])
  t.equal(changed.status, 1)
  const { rules, exchanges, tried } = JSON.parse(changed.stdout)
  t.match(rules, [{ name: 'unreleased-projects', change: 'changed', fields: [{ field: 'pattern' }] }])
  t.equal(tried, 19)
  t.match(exchanges.at(-1), { where: `${replay}:2`, old: { decision: 'allow' }, new: { decision: 'block' } })
  t.notMatch(changed.stdout, 'my secret word')
  t.match(
    (await sidegate(['diff', 'config/rules', next, '--format', 'markdown'])).stdout,
    /^\| unreleased-projects \| pattern \|/m,
  )
  mkdirSync(join(dir, 'bad'))
  writeFileSync(join(dir, 'bad/calls.jsonl'), '{"request": 1}\n')
  const bad = await sidegate(['diff', 'config/rules', next, '--replay', join(dir, 'bad/calls.jsonl')])
  t.equal(bad.status, 2)
  t.match(bad.stderr, /calls\.jsonl:1:1 is neither/)
  t.equal((await sidegate(['diff', 'config/rules'])).status, 2)
})

t.test('--help of each command lists its options and exit codes', async (t) => {
  for (const name of ['check', 'test', 'diff']) {
    const { status, stdout } = await sidegate([name, '--help'])
    t.equal(status, 0)
    t.match(stdout, new RegExp(`^Usage: sidegate ${name} `))
    t.match(stdout, '--format FORMAT')
    t.match(stdout, /^Exit: 0 /m)
  }
  for (const name of ['serve', 'demo', 'keys', 'audit']) {
    t.match((await sidegate([name, '--help'])).stdout, /^Exit: 0 .* 2 could not /ms, name)
  }
})

t.test(
  'check knows the rule files and prices of a hub, and namespaces at a gateway as its mistake',
  async (t) => {
    const file = 'namespaces: ["shop", "team-*"]\nrules: []\n'
    const cwd = t.testdir({
      'hub.yaml': JSON.stringify({
        database: { url: { env: 'NONE' } },
        audit: { signingKey: { env: 'NONE' } },
        rules: { path: 'rules' },
        prices: { path: 'prices.yaml' },
      }),
      'sidegate.yaml': 'upstream: {baseUrl: "https://a.example/v1"}\nrules: {path: rules}\n',
      'none.yaml': JSON.stringify({
        database: { url: { env: 'NONE' } },
        audit: { signingKey: { env: 'NONE' } },
        rules: { path: 'missing' },
      }),
      'prices.yaml': 'prices: {m: {input: 1}}\n',
      rules: { 'a.yaml': file, 'b.yaml': 'namespaces: [Shop]\nrules: []\n' },
      good: { 'a.yaml': file },
    })
    const hub = await sidegate(['check', '--config', 'hub.yaml'], {}, cwd)
    t.equal(hub.status, 1)
    t.match(hub.stdout, /rules\/b\.yaml:1:14 namespaces\[0\]: /)
    t.match(hub.stdout, /prices\.yaml:1:\d+ prices\.m.*output/)
    t.notMatch(hub.stdout, /a\.yaml:\d/)
    t.match(
      (await sidegate(['check', 'good'], {}, cwd)).status,
      0,
      'without a configuration it may be either',
    )
    const gateway = await sidegate(['check', '--config', 'sidegate.yaml'], {}, cwd)
    t.match(gateway.stdout, /a\.yaml:1:13 namespaces: is for the rule files of a hub; remove it/)
    const missing = await sidegate(['check', '--config', 'none.yaml'], {}, cwd)
    t.match(missing.stdout, /none\.yaml:1:\d+ rules\.path: .*missing cannot be read/)
  },
)

t.test('check says what replicas need for the same pseudonyms', async (t) => {
  const config = (pii: string) =>
    `upstream: { baseUrl: "https://h/v1" }\nrules: { path: rules }\nfleet: { hubs: ["https://hub:8494"], token: { file: k }, maxStaleSeconds: 60 }\npii: ${pii}\n`
  const dir = t.testdir({
    rules: { 'a.yaml': 'rules:\n  - { name: a, type: pii, pattern: "*", action: pseudonym }\n' },
    'own.yaml': config('{ embeddings: pseudonym }'),
    'shared.yaml': config('{ pseudonymKey: { file: k } }'),
    k: 'k'.repeat(32),
  })
  chmodSync(join(dir, 'k'), 0o600)
  const own = await sidegate(['check', '--config', 'own.yaml'], {}, dir)
  t.match(
    own.stdout,
    /own\.yaml:4:\d+ pii\.pseudonymKey: is missing, so each sidecar .* give all replicas one key/,
  )
  t.match(own.stdout, /a\.yaml:2:\d+ rules\[0\]\.action: gives each replica pseudonyms of its own/)
  const shared = await sidegate(['check', '--config', 'shared.yaml'], {}, dir)
  t.notMatch(shared.stdout, 'pseudonym')
  chmodSync(join(dir, 'k'), 0o644)
  const open = await sidegate(['check', '--config', 'shared.yaml'], {}, dir)
  t.match(open.stdout, /pii\.pseudonymKey: can be read by others/)
  t.match(open.stdout, /1 error, 0 warnings/, 'and no word of replicas, which it is named for')
})
