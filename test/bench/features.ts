// Features that a gateway can have besides, and what each needs: for `npm run bench -- --with NAME`,
// which compares this tree with itself.

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApiKey, hashApiKey } from '../../src/core/apikey.ts'
import { RunningFleet } from '../fleet/running-fleet.ts'
import { ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import { selfSigned } from '../server/certificate.ts'
import { RULES_WITHOUT_TOOLS, TOOL_RULES } from './bench-rules.ts'
import { toolCallBody } from './tool-call.ts'

const MAX_STALE_SECONDS = 3600

/** What a gateway has besides. */
export interface Setup {
  /** Writes its files to the folder of a gateway. @returns what its configuration has besides */
  configure(folder: string): { readonly listen?: object; readonly [name: string]: unknown }
  /** API key of each gateway; absent where each makes its own. */
  readonly key?: string
  /** Certificate of the listener, PEM; absent for plain HTTP. */
  readonly certificate?: string
  /** Its rules; absent for one of each type. */
  readonly rules?: readonly string[]
}

export interface Feature extends Setup {
  /** What it is compared with; absent for a gateway with nothing besides. */
  readonly baseline?: Setup
  /** Body of the next call; absent for a prompt. */
  readonly body?: () => string
  stop(): Promise<void>
}

export type FeatureName = 'fleet' | 'jwt' | 'tls' | 'tools'

/** Starts what a feature needs besides the gateway. Call `stop` also when it rejects. */
export const FEATURES: Readonly<Record<FeatureName, () => Promise<Feature>>> = { fleet, jwt, tls, tools }

/** A hub with PostgreSQL, which has the keys. */
async function fleet(): Promise<Feature> {
  const running = new RunningFleet({ pods: [], maxStaleSeconds: MAX_STALE_SECONDS })
  await running.start()
  const api = await running.signIn()
  const made = await api('POST', '/keys', { name: 'bench' })
  const { key } = made.body as { key: string }
  const token = await running.tokenOf('bench')
  const hubs = running.hubs.map(({ url }) => url)
  return {
    configure(folder) {
      writeFileSync(join(folder, 'token'), token, { mode: 0o600 })
      return { fleet: { hubs, token: { file: 'token' }, maxStaleSeconds: MAX_STALE_SECONDS } }
    },
    key,
    stop: () => running.stop(),
  }
}

/** A token of a ServiceAccount in place of the key, which is verified with the first call. */
async function jwt(): Promise<Feature> {
  const key = newKey('bench', 'RS256')
  const claims = { ...podClaims(Date.now(), { account: 'bench' }), aud: ['sidegate'] }
  return {
    configure(folder) {
      writeFileSync(join(folder, 'jwks.json'), keySetOf(key))
      const jwks = { file: 'jwks.json' }
      const account = { issuer: ISSUER, jwks, audience: 'sidegate', namespace: 'shop', name: 'bench' }
      return { keys: [{ name: 'bench', serviceAccount: account }] }
    },
    key: await signed(claims, key),
    stop: async () => {},
  }
}

/** A certificate of the listener. */
async function tls(): Promise<Feature> {
  const { certificate, key: privateKey } = selfSigned()
  const key = createApiKey(randomBytes(32))
  return {
    configure(folder) {
      writeFileSync(join(folder, 'tls.crt'), certificate)
      writeFileSync(join(folder, 'tls.key'), privateKey, { mode: 0o600 })
      const files = { certificate: { file: 'tls.crt' }, key: { file: 'tls.key' } }
      return { listen: { tls: files }, keys: [{ name: 'bench', sha256: hashApiKey(key) }] }
    },
    key,
    certificate,
    stop: async () => {},
  }
}

/** Ten rules on agents, for calls that define tools and answers that call one. */
async function tools(): Promise<Feature> {
  const configure = (folder: string) => {
    writeFileSync(join(folder, 'prices.yaml'), 'prices:\n  "bench/*": {input: 1, output: 4}\n')
    return { prices: { path: 'prices.yaml' } }
  }
  return {
    configure,
    rules: [...RULES_WITHOUT_TOOLS, ...TOOL_RULES],
    baseline: { configure, rules: RULES_WITHOUT_TOOLS },
    body: toolCallBody,
    stop: async () => {},
  }
}
