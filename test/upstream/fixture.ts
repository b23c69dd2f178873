// Shared parts of the upstream tests: a client, a permit, an Upstream in front of a scripted server.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import type { GatewayError } from '../../src/core/errors.ts'
import { fixedSecret } from '../../src/core/secret.ts'
import type { UpstreamConfig } from '../../src/core/upstream-config.ts'
import {
  decide,
  NOTHING_SCANNED,
  type Permit,
  type PermittedRequest,
  type PermittedRequests,
} from '../../src/policy/decide.ts'
import { type Cancellation, Upstream } from '../../src/upstream/forward.ts'
import { type UpstreamResponse, upstreamCause } from '../../src/upstream/response.ts'
import type { RoutedCall } from '../../src/upstream/upstreams.ts'
import { select } from '../policy/rules.ts'
import { type Answer, startUpstream } from '../process/upstream.ts'

const DEADLINE_MS = 30_000

/** Waits for the promise, at most 30 s. */
export async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${DEADLINE_MS} ms`)), DEADLINE_MS)
  })
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** A client that may disconnect. */
export class Client implements Cancellation {
  cancelled = false
  readonly #listeners: (() => void)[] = []

  onCancel(listener: () => void): void {
    if (this.cancelled) listener()
    else this.#listeners.push(listener)
  }

  disconnect(): void {
    this.cancelled = true
    for (const listener of this.#listeners.splice(0)) listener()
  }
}

export const requestTo = (body: string, target = '/chat/completions'): PermittedRequest => ({
  upstream: 'default',
  model: 'm',
  method: 'POST',
  target,
  body: Buffer.from(body),
  defaults: {},
})

/** A permit for the requests. */
export function permit(...requests: PermittedRequests): Permit {
  const evidence = {
    ...NOTHING_SCANNED,
    selection: select([]),
    limits: [],
    models: ['m'],
    keyModels: null,
  }
  const decision = decide(evidence, () => requests)
  if (decision.outcome !== 'permit') throw new Error('a call without rules and findings was denied')
  return decision.permit
}

/** A call that is not forwarded yet. */
export const newCall = (): RoutedCall => ({ attempts: 0, upstream: null, sentModel: '' })

const HEADERS = { 'x-title': 'app', cookie: 'c' }

/** Forwards one chat call with the body `{"model":"m"}`. */
export const chat = (upstream: Upstream, client: Cancellation = new Client()): Promise<UpstreamResponse> =>
  upstream.forward([requestTo('{"model":"m"}')], HEADERS, client, newCall())

export const settings = (baseUrl: string, more: Partial<UpstreamConfig> = {}): UpstreamConfig => ({
  declaredAt: ['upstream'],
  name: 'default',
  apis: ['openai', 'anthropic'],
  baseUrl,
  query: {},
  auth: 'bearer',
  models: ['*'],
  rename: {},
  headers: {},
  forwardHeaders: [],
  tls: {},
  fallback: [],
  breaker: null,
  apiKey: fixedSecret('credential'),
  proxy: null,
  timeouts: { connectMs: 500, headersMs: 500, idleMs: 500 },
  retries: { attempts: 2 },
  streamUsage: 'auto',
  ...more,
})

/** Opens an Upstream until the end of the test. */
export function open(t: Test, config: UpstreamConfig, connections = 1): Upstream {
  const upstream = new Upstream(config, connections)
  t.teardown(() => upstream.close())
  return upstream
}

/** Starts a scripted server and an Upstream in front of it, until the end of the test. */
export async function deploy(t: Test, answer?: Answer, more: Partial<UpstreamConfig> = {}, connections = 4) {
  const server = await startUpstream(answer)
  t.teardown(() => server.close())
  const upstream = open(t, settings(server.baseUrl, more), connections)
  return { server, upstream, forward: (client?: Cancellation) => chat(upstream, client) }
}

/** Listens on a free loopback port until the end of the test. @returns the base URL */
export async function listen(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

export async function readAll(response: Pick<UpstreamResponse, 'read'>): Promise<string> {
  let text = ''
  for (let chunk = await response.read(); chunk !== null; chunk = await response.read()) text += chunk
  return text
}

export const errorOf = (call: Promise<unknown>): Promise<GatewayError> =>
  call.then(
    () => Promise.reject(new Error('the call succeeded')),
    (error: GatewayError) => error,
  )

/** Gives the n-th answer to the n-th request, and the last one to all further requests. */
export const inTurn = (...answers: Answer[]): Answer => {
  let turn = 0
  return (...args) => answers[Math.min(turn++, answers.length - 1)]?.(...args)
}

/** Returns the answer to one call, or the cause of its failure as the log shows it. */
export async function outcomeOf(baseUrl: string, more: Partial<UpstreamConfig> = {}): Promise<string> {
  const upstream = new Upstream(settings(baseUrl, more), 4)
  try {
    return await readAll(await chat(upstream))
  } catch (error) {
    return upstreamCause(error as GatewayError)
  } finally {
    await upstream.close()
  }
}

/**
 * Starts a TLS server for `localhost` that also offers HTTP/2, with a self-signed certificate.
 * @returns null on a machine without openssl
 */
export async function startSecure(t: Test) {
  const folder = t.testdir()
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const args = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile]
  const made = spawnSync('openssl', [...args.split(' '), ...names], { timeout: DEADLINE_MS })
  if (made.error !== undefined) {
    t.pass('TLS', { skip: 'NOT TESTED: openssl is not installed' })
    return null
  }
  const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')]
  const versions: string[] = []
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion)
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  /** Trusts the certificate until the end of the test. */
  const trust = () => {
    const before = getCACertificates('default')
    setDefaultCACertificates([cert])
    t.teardown(() => setDefaultCACertificates(before))
  }
  return { host: `localhost:${port}`, versions, trust }
}
