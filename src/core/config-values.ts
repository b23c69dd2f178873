// Checks single configuration values beyond their schema: addresses, URLs and secrets.

import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import type { Clock } from './clock.ts'
import type { Path } from './document.ts'
import type { Problem } from './problem.ts'
import { fileSecret, fixedSecret, type Secret } from './secret.ts'
import { reasonOf } from './text-file.ts'

export interface Address {
  /** Without brackets. */
  readonly host: string
  readonly port: number
}

export interface SecretReference {
  readonly env?: string
  readonly file?: string
}

/** Input of all readers in this file. */
export interface Context {
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Returns where the file has the value at a path of its sound part. */
  origin(path: Path): Path
  /** Reports whether the file has an error at a key, around it or in it. */
  isFaulty(path: Path): boolean
  /** Reports an error at a path of the sound part. */
  add(path: Path, message: string): void
}

const UPSTREAM_HINT =
  'set it to your provider key, or try the product without an account: sidegate demo (in a checkout: npm run demo)'
const PROXY_HINT = 'set it to a URL like http://proxy.example:3128, or remove the proxy'

/** Read from the environment, because all Pods share one file. */
const INSTANCE_VARIABLE = 'SIDEGATE_INSTANCE'
const INSTANCE = /^[\w.:/-]{1,128}$/

export function readInstance({ env, add }: Context): string | null {
  const value = env[INSTANCE_VARIABLE] ?? ''
  if (value === '' || INSTANCE.test(value)) return value || null
  add([], `environment variable ${INSTANCE_VARIABLE} takes 1 to 128 letters, digits and . _ : / -`)
  return null
}

const MAXIMUM_PORT = 65_535

export function readAddress(context: Context, path: Path, text: string): Address {
  const colon = text.lastIndexOf(':')
  const port = Number(text.slice(colon + 1))
  if (port > MAXIMUM_PORT)
    context.add(path, `port ${port} is above ${MAXIMUM_PORT}; use 0 to ${MAXIMUM_PORT}`)
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port }
}

/** @param upstream path of the upstream in the file */
export function readBaseUrl(context: Context, upstream: Path, text: string): string {
  const url = URL.parse(text)
  const path = [...upstream, 'baseUrl']
  if (url === null) context.add(path, 'is not a URL; use a URL like https://host/v1')
  else if (url.username !== '' || url.password !== '') {
    context.add(path, 'must not carry a credential; put it in apiKey')
  }
  const baseUrl = text.replace(/\/+$/, '')
  if (baseUrl.endsWith('/chat/completions')) {
    context.add(path, 'must end before /chat/completions; each call adds that path')
  }
  return baseUrl
}

/** Whether a URL names this machine. False for a text that is not a URL. */
export function isLoopbackUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const host = new URL(url).hostname.toLowerCase().replace(/\.$/, '')
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

export const SIGNING_KEY_HINT = 'create a key with: openssl genpkey -algorithm ed25519'

/** Visible ASCII (RFC 9110 §5.5): a bearer token has no white space. */
const HEADER_SAFE = /^[\x21-\x7e]+$/

export function readCredential(
  context: Context,
  upstream: Path,
  reference: SecretReference | undefined,
): Secret | null {
  const path = [...upstream, 'apiKey']
  const secret = readSecret(context, path, reference, UPSTREAM_HINT, whyNotInHeader)
  const problem = secret === null ? null : whyNotInHeader(secret.current())
  if (problem !== null) context.add(path, problem)
  return secret
}

export function readProxy(
  context: Context,
  upstream: Path,
  reference: SecretReference | undefined,
): Secret | null {
  const path = [...upstream, 'proxy']
  const secret = readSecret(context, path, reference, PROXY_HINT)
  if (secret !== null && !isProxyUrl(secret.current())) {
    context.add(path, `is not the URL of an HTTP proxy; ${PROXY_HINT}`)
  }
  return secret
}

/** Reports `listen.ops` when it is the address of another listener. @param name of that one */
export function rejectSameAddress({ add }: Context, name: string, first: Address, ops: Address): void {
  const isSame = first.port !== 0 && first.host === ops.host && first.port === ops.port
  if (isSame) add(['listen', 'ops'], `must not be the address of listen.${name}`)
}

/** Reports entries of admin.allowedHosts that can match no `Host`. */
export function rejectHosts({ add }: Context, hosts: readonly string[]): void {
  hosts.forEach((host, index) => {
    if (!host.includes(':') || isIPv6(host.replace(/^\[|\]$/g, ''))) return
    add(['admin', 'allowedHosts', index], 'is not an IPv6 address; write a host without its port')
  })
}

function isProxyUrl(text: string): boolean {
  try {
    const { protocol, pathname, search, hash, username, password } = new URL(text)
    decodeURIComponent(username + password)
    return /^https?:$/.test(protocol) && `${pathname}${search}${hash}` === '/'
  } catch {
    return false
  }
}

const whyNotInHeader = (value: string): string | null =>
  HEADER_SAFE.test(value)
    ? null
    : 'contains a space, a line break or another character that a header cannot carry'

/**
 * Reports whether a problem is a secret without a value, as `readSecret` words it: a pull request
 * has none, and the gateway will.
 */
export const isAbsentSecret = ({ message }: Pick<Problem, 'message'>): boolean =>
  /^(?:environment variable \S+ is not set|file .+ cannot be used \()/.test(message)

/**
 * Opens a referenced secret. Returns null without a reference, and for an unusable one, which it
 * reports.
 * @param hint what to do if there is no value
 * @param whyNot as in fileSecret
 */
export function readSecret(
  context: Context,
  path: Path,
  reference: SecretReference | undefined,
  hint: string,
  whyNot?: (value: string) => string | null,
): Secret | null {
  if (reference === undefined) return null
  if (reference.env !== undefined) {
    const value = context.env[reference.env]?.trim() ?? ''
    if (value !== '') return fixedSecret(value)
    context.add(path, `environment variable ${reference.env} is not set; ${hint}`)
    return null
  }
  try {
    return fileSecret(resolve(context.folder, reference.file ?? ''), context.clock, whyNot)
  } catch (error) {
    context.add(path, `file ${reference.file} cannot be used (${reasonOf(error)}); ${hint}`)
    return null
  }
}
