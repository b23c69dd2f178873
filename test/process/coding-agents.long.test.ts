// The page for coding agents, run by the real clients: each of its blocks configures one, and a model
// with a script makes it read, edit and run commands for eleven turns.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../rules/fixture.ts'
import {
  block,
  CLIENTS,
  type Client,
  install,
  PACKAGES,
  PAGE,
  refusingProxy,
  runClient,
} from './agent-clients.ts'
import { agentModel, isTurn, type Script } from './agent-upstream.ts'
import { openProgram } from './gateway-process.ts'
import { ROOT } from './program.ts'
import { type Received, startUpstream } from './upstream.ts'

// Downloads a gigabyte.
t.setTimeout(900_000)

const OWNER = 'alice.agent@example.com'
const COPY = 'bob.agent@example.net'
const PHONE = '+1 415 555 2671'
/** An address that only the model knows. */
const ROBOT = 'robot.agent@example.org'
const TOKEN = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'
const VALUES = [OWNER, COPY, PHONE, TOKEN]
const CONTACTS = `owner: ${OWNER}\ncopy: ${COPY}\nphone: ${PHONE}\ntoken: ${TOKEN}\nproject: zenith\n`

const STRICT = `
rules:
  - {name: nowhere-zenith, type: keyword_block, pattern: zenith, action: block, match: {keys: [strict]}}
  - {name: no-forbidden, type: tool_access, pattern: ["*", "!*"], arguments: [{path: "", pattern: 'touch\\s+forbidden'}], action: block, match: {keys: [strict]}}
`

/**
 * Marks of what the provider should cache, which Claude Code moves with each turn. A text with a mark
 * is a list of one part, and without it a string.
 */
const MOVED_MARKS: readonly (readonly [RegExp, string])[] = [
  [/\[\{"type":"text","text":("(?:[^"\\]|\\.)*"),"cache_control":\{[^}]*\}\}\]/g, '$1'],
  [/,"cache_control":\{[^}]*\}/g, ''],
]

/** A text with a word that a rule blocks, after much that it lets pass. */
const SECRET_PLAN = `${'Nothing that matters. '.repeat(20)}Zenith launches soon.`

/** Reads contacts, edits them twice, and uses them in commands and in a new file. */
const WORK: Script = (results) => {
  const [, owner = 'nobody'] = /owner: (\S+)/.exec(results[0] ?? '') ?? []
  const [, copy = 'nobody'] = /copy: (\S+)/.exec(results[0] ?? '') ?? []
  const [, phone = 'none'] = /phone: ([^\n<]+)/.exec(results[0] ?? '') ?? []
  const [, token = 'none'] = /token: (\S+)/.exec(results[0] ?? '') ?? []
  const mail = `To: ${owner}\nCc: ${copy}\nFrom: ${ROBOT}\n`
  return (
    (
      [
        { act: 'read', file: 'contacts.txt' },
        { act: 'edit', file: 'contacts.txt', from: `owner: ${owner}`, to: `lead: ${owner}` },
        { act: 'edit', file: 'contacts.txt', from: `lead: ${owner}`, to: `lead: ${owner} (asked)` },
        { act: 'read', file: 'contacts.txt' },
        { act: 'run', command: `printf '%s\\n' '${token}' 'call ${phone}' 'mail ${owner}' > sent.txt` },
        { act: 'read', file: 'sent.txt' },
        { act: 'write', file: 'mail.md', text: mail },
        { act: 'edit', file: 'mail.md', from: `Cc: ${copy}`, to: `Bcc: ${copy}` },
        { act: 'run', command: `grep -c '${owner}' contacts.txt sent.txt mail.md` },
        { act: 'run', command: 'wc -l mail.md' },
      ] as const
    )[results.length] ?? { act: 'say', text: `I wrote to ${owner}.` }
  )
}
const TURNS = 11

const clients = await install(t)
if ('missing' in clients) t.pass('coding agents', { skip: `NOT TESTED: ${clients.missing}` })
else await testClients(clients.bin)

async function testClients(bin: string): Promise<void> {
  const proxy = await refusingProxy(t)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-agents-'))
  cpSync(join(ROOT, 'config/rules'), join(folder, 'rules'), { recursive: true })
  writeFileSync(join(folder, 'rules/50-agents.yaml'), block('Rules', 'yaml'))
  writeFileSync(join(folder, 'rules/60-strict.yaml'), STRICT)
  const own = { baseUrl: upstream.baseUrl, apiKey: { env: 'UPSTREAM_KEY' } }
  const upstreams = [
    { name: 'anthropic', api: 'anthropic', ...own },
    { name: 'openai', api: 'openai', ...own },
  ]
  const gateway = await openProgram(t, { upstreamUrl: upstream.baseUrl, folder, config: { upstreams } })
  const { key } = await gateway.createKey('agent-test')
  const { key: redactedKey } = await gateway.createKey('web')
  const { key: strictKey } = await gateway.createKey('strict')

  /** Runs a client with a new home and a new folder of contacts. */
  async function use(t: Test, client: Client, script: Script, prompt: string, apiKey = key) {
    const root = temporaryFolder(t)
    const [home, work] = [join(root, 'home'), join(root, 'work')]
    for (const one of [home, work]) mkdirSync(one)
    writeFileSync(join(work, 'contacts.txt'), CONTACTS)
    upstream.received.length = 0
    upstream.answer = agentModel(script, client.toolFor(work))
    const run = { home, work, gatewayUrl: gateway.url, prompt }
    proxy.asked.length = 0
    const ended = await runClient(client, run, { bin, proxyUrl: proxy.url, key: apiKey })
    const read = (file: string) =>
      existsSync(join(work, file)) ? readFileSync(join(work, file), 'utf8') : null
    return { ...ended, shown: client.shown(ended.stdout), read, turns: upstream.received.filter(isTurn) }
  }

  t.test('the page names the versions that are tested', async (t) => {
    for (const version of Object.values(PACKAGES)) t.match(PAGE, version)
  })

  for (const client of CLIENTS) {
    t.test(`${client.name} works with values that its model never sees`, async (t) => {
      const { code, stderr, stdout, shown, read, turns } = await use(t, client, WORK, `Write to ${OWNER}.`)
      t.equal(code, 0, stdout + stderr)
      t.equal(shown, `I wrote to ${OWNER}.`)
      t.equal(read('contacts.txt'), CONTACTS.replace(`owner: ${OWNER}`, `lead: ${OWNER} (asked)`))
      t.equal(read('sent.txt'), `[SECRET_1]\ncall ${PHONE}\nmail ${OWNER}\n`)
      t.equal(read('mail.md'), `To: ${OWNER}\nBcc: ${COPY}\nFrom: ${ROBOT}\n`)
      for (const { body } of upstream.received)
        for (const value of VALUES) t.notOk(body.includes(value), value)
      for (const { headers } of upstream.received) t.equal(headers['x-title'], 'agents')
      t.equal(turns.length, TURNS)
      for (const { url, body } of turns) {
        t.equal(url, client.path)
        t.match(JSON.parse(body), client.sends)
      }
      assertPrefixes(t, client, turns)
      const strangers = proxy.asked.filter((host) => !client.otherHosts?.test(host))
      t.same(strangers, [], 'it calls nobody else')
    })

    t.test(`${client.name} shows a refusal after one call`, async (t) => {
      const inPrompt = await refused(t, client, WORK, 'When does Zenith launch?', key)
      t.match(inPrompt.shown, client.errorText('The request was .* rule "no-project-zenith" because of .*'))
      t.equal(inPrompt.blocked, client.callsOfPrompt)
      t.equal(inPrompt.turns, 0)
      const inResult = await refused(t, client, WORK, 'Go on.', strictKey)
      t.match(inResult.shown, client.errorText('The request was .* rule "nowhere-zenith" because of .*'))
      t.equal(inResult.blocked, 1)
      t.equal(inResult.turns, 1)
      const inAnswer = await refused(
        t,
        client,
        () => ({ act: 'say', text: SECRET_PLAN }),
        'Go on.',
        strictKey,
      )
      t.match(inAnswer.shown, client.errorText('The answer was .* rule "nowhere-zenith"\\.'))
      t.equal(inAnswer.blocked, 1)
      t.equal(inAnswer.turns, 1)
      if (client.callsOfThought === null) return
      const thinking: Script = () => ({ act: 'say', text: 'No.', thought: SECRET_PLAN })
      const inThought = await refused(t, client, thinking, 'Go on.', strictKey)
      t.match(inThought.shown, client.errorText('The answer was .* rule "nowhere-zenith"\\.'))
      t.equal(inThought.turns, client.callsOfThought)
    })

    t.test(`${client.name} carries out no command that a rule forbids`, async (t) => {
      const script: Script = () => ({ act: 'run', command: 'touch forbidden.txt' })
      const { code, shown, stdout, read } = await use(t, client, script, 'Go on.', strictKey)
      t.not(code, 0, stdout)
      t.match(shown, client.errorText('The answer was .* rule "no-forbidden" because it calls the tool .*'))
      t.equal(read('forbidden.txt'), null)
      const [{ rules, run }] = (await gateway.api('GET', '/usage/logs?limit=1&blocked=true')).body.logs
      t.match(rules.at(-1), { name: 'no-forbidden', action: 'block' })
      t.match(run, /^[0-9a-f]{32}$/, 'a header of the client names its run')
    })

    t.test(`${client.name} writes placeholders where no rule restores`, async (t) => {
      const { read } = await use(t, client, WORK, 'Go on.', redactedKey)
      t.equal(read('contacts.txt'), CONTACTS, 'its edits fail')
      t.match(read('sent.txt'), /^\[SECRET_1\]\ncall \[PHONE_1\]\nmail \[EMAIL_\d\]\n$/)
    })
  }

  /** Runs a client that is refused. @returns what it shows, and the calls that were refused and made */
  async function refused(t: Test, client: Client, script: Script, prompt: string, apiKey: string) {
    const blockedCalls = async () => (await gateway.api('GET', '/usage/logs?limit=1&blocked=true')).body
    const before = (await blockedCalls()).total
    const { code, shown, turns, stdout } = await use(t, client, script, prompt, apiKey)
    t.not(code, 0, stdout)
    t.notMatch(stdout, /log ?in|sign ?in|authenticat/i)
    const { total, logs } = await blockedCalls()
    t.equal(logs[0].status, client.refusalStatus)
    return { shown, turns: turns.length, blocked: total - before }
  }
}

/**
 * What is forwarded in a turn is the beginning of what is forwarded in the next one, byte for byte:
 * else the provider's cache would not know it.
 */
function assertPrefixes(t: Test, client: Client, turns: readonly Received[]): void {
  const bodies = turns.map(({ body }) =>
    MOVED_MARKS.reduce((text, [mark, without]) => text.replaceAll(mark, without), body),
  )
  for (const [index, body] of bodies.entries()) {
    const parsed = JSON.parse(body)
    const history = JSON.stringify(parsed[client.history]).slice(0, -1)
    const missing = bodies.slice(index, index + 2).filter((later) => !later.includes(history))
    t.same(missing, [], `turn ${index + 1}: ${client.history} ${history}`)
    for (const name of client.constant)
      t.ok(bodies[0]?.includes(JSON.stringify(parsed[name])), `turn ${index + 1}: ${name}`)
  }
}
