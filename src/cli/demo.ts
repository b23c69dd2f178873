// `sidegate demo`: runs the gateway with a stand-in provider, without an account and a network.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../core/config.ts'
import { DemoClock } from '../demo/demo-clock.ts'
import { PAST_MODELS } from '../demo/past-apps.ts'
import { fillPastHour, PAST_MS } from '../demo/past-hour.ts'
import { type StandIn, startStandIn } from '../demo/stand-in-server.ts'
import { newSigningKey } from '../store/files/signingkey.ts'
import { type Command, type ExitCode, parseOptions, printProblems, writeLine } from './command.ts'
import { commandActor } from './command-actor.ts'
import type { RunGateway, RunningGateway } from './running-gateway.ts'
import { Signals, untilStopped } from './signals.ts'

/** JSON is YAML. The echo makes a short conversation cost something that the console can show. */
const PRICES = JSON.stringify({ prices: { ...PAST_MODELS, 'demo/*': { input: 100, output: 300 } } })

/** Host of the default addresses. The image sets it: nobody reaches the loopback of a container. */
const HOST = 'SIDEGATE_DEMO_HOST'

const HELP = `Usage: sidegate demo [--gateway HOST:PORT] [--ops HOST:PORT]

Runs the gateway with sample rules in front of a stand-in for a provider, which answers
by quoting the prompt it received, and calls tools that the prompt or tool_choice
asks for. Opens with the address of a console for the browser, whose log begins with an
hour of made-up calls of keys named demo-…. Data is kept in a temporary folder until Ctrl-C.

  --gateway HOST:PORT   address of the gateway (default 127.0.0.1:8484)
  --ops HOST:PORT       address of health and metrics (default 127.0.0.1:9484)
  --help                print this text

Environment: ${HOST} replaces 127.0.0.1 in the defaults; the image sets it to [::].
Exit: 0 stopped, 1 failed, 2 could not start, for example because an address is in use.
`

const OPTIONS = {
  gateway: { type: 'string' },
  ops: { type: 'string' },
} as const

/**
 * @param runGateway starts a gateway; the composition root passes it in
 * @param rules folder of the sample rules
 */
export const demo = (runGateway: RunGateway, rules: string): Command => ({
  name: 'demo',
  summary: 'run the gateway with sample rules and a stand-in provider; needs no account',
  options: OPTIONS,
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values } = parseOptions(args, OPTIONS)
    const { [HOST]: host = '127.0.0.1' } = io.env
    const { gateway: address = `${host}:8484`, ops = `${host}:9484` } = values
    const signals = new Signals()
    const folder = makeFolder()
    const clock = new DemoClock(PAST_MS)
    const standIn = await startStandIn((ms) => clock.leap(ms))
    try {
      writeFileSync(pricesIn(folder), PRICES)
      const token = randomBytes(18).toString('base64url')
      const reading = parseConfig(
        demoConfig({ gateway: address, ops }, standIn, folder, rules),
        join(folder, 'sidegate.yaml'),
        { SIDEGATE_ADMIN_TOKEN: token, SIDEGATE_SIGNING_KEY: newSigningKey() },
        clock,
      )
      // The calls of the past that fail would be reported before the invitation.
      let isPast = true
      const output = { write: (lines: string) => void (isPast || io.out.write(lines)) }
      const gateway = await runGateway(reading, { clock, output })
      if ('problems' in gateway) {
        printProblems(
          io,
          gateway.problems,
          'the demo did not start; choose other addresses with --gateway and --ops',
        )
        return 2
      }
      await fillPastHour({ baseUrl: baseUrlOf(gateway), adminToken: token, clock, standIn })
      isPast = false
      const key = await gateway.createKey('demo', commandActor())
      writeLine(io.out, invitation(gateway, token, key, rules))
      return await untilStopped(gateway, signals)
    } finally {
      await standIn.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

/** @throws Error that names the remedy, such as on a read-only file system */
function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'sidegate-demo-'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      `the demo keeps its data in ${tmpdir()}, which cannot be written (${code}); set TMPDIR to a folder that can, or in a container mount one there (docker run --tmpfs /tmp)`,
    )
  }
}

const pricesIn = (folder: string): string => join(folder, 'prices.yaml')

/** Addresses to listen on, each `HOST:PORT`. */
interface Addresses {
  readonly gateway: string
  readonly ops: string
}

const demoConfig = (listen: Addresses, standIn: StandIn, folder: string, rules: string): string =>
  JSON.stringify({
    listen: { gateway: listen.gateway, ops: listen.ops },
    upstream: { baseUrl: standIn.baseUrl },
    rules: { path: rules },
    prices: { path: pricesIn(folder) },
    data: { path: join(folder, 'data') },
    audit: { signingKey: { env: 'SIDEGATE_SIGNING_KEY' } },
    admin: { token: { env: 'SIDEGATE_ADMIN_TOKEN' } },
    log: { level: 'warn' },
  })

/** An address that a client connects to, also where the gateway listens on all addresses. */
const fromHere = (address: string): string => address.replace(/^(?:0\.0\.0\.0|\[::\])(?=:)/, '127.0.0.1')

const baseUrlOf = ({ address }: RunningGateway): string => `http://${fromHere(address)}`

function invitation(gateway: RunningGateway, token: string, key: string, rules: string): string {
  const base = baseUrlOf(gateway)
  const chat = (body: object, flags = '-s') =>
    `curl ${flags} ${base}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '${JSON.stringify(body)}'`
  const say = (content: string, more: object = {}) => ({
    model: 'demo/echo',
    ...more,
    messages: [{ role: 'user', content }],
  })
  return `
  console       ${base}/console/
  admin token   ${token}
  base URL      ${base}/v1      (any OpenAI SDK: baseURL and apiKey)
                ${base}         (Anthropic SDK)
  API key       ${key}
  rules         ${rules}

The log begins with an hour of stand-in calls: made up, of keys named demo-…, label demo=stand-in.
Sidegate is running. Stop it with Ctrl-C.

1. A redaction: the answer quotes what left the gateway.
   ${chat(say('Write to alice@example.com or call +1 415 555 2671.'))}

2. A block: a rule forbids the word.
   ${chat(say('Tell me about Project Aurora.'))}

3. A stream, redacted while it runs.
   ${chat(say('My card is 4111 1111 1111 1111.', { stream: true }), '-sN')}

4. The usage log: every call above, sealed in a hash chain.
   curl -s -o /dev/null -c - ${base}/api/v1/session -H 'content-type: application/json' -d '{"token":"${token}"}' | curl -s -b - '${base}/api/v1/usage/logs?limit=3'

5. The metrics.
   curl -s http://${fromHere(gateway.opsAddress)}/metrics | grep ^sidegate_
`
}
