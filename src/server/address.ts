// Addresses to listen on: their text form, their IPv6 twin, and why one cannot be used. Opens no
// listener.

import { lookup } from 'node:dns'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import type { Address } from '../core/config-values.ts'

/**
 * The IPv6 loopback address opened with 127.0.0.1, because clients resolve `localhost` to either;
 * null for others.
 */
export const twin = ({ host, port }: Address): Address | null =>
  host === '127.0.0.1' ? { host: '::1', port } : null

/**
 * The address that stands for all addresses of a machine without IPv6; null for one that is not all
 * addresses of both.
 */
export const allIpv4 = ({ host, port }: Address): Address | null =>
  host === '::' ? { host: '0.0.0.0', port } : null

const NO_IPV6_CODES = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

/** Whether the error means that this machine has no IPv6, which is acceptable. */
export const isWithoutIpv6 = (error: unknown): boolean =>
  NO_IPV6_CODES.has((error as NodeJS.ErrnoException).code ?? '')

/** Returns why the address or its twin cannot be listened on, as a sentence; null when both can. */
export async function whyNotListen(address: Address): Promise<string | null> {
  const second = address.port === 0 ? null : twin(address)
  for (const { host, port } of second === null ? [address] : [address, second]) {
    const error = await tryToBind(host, port)
    const isOptional = host !== address.host || allIpv4(address) !== null
    if (error === null || (isOptional && isWithoutIpv6(error))) continue
    return describeListenError(error)
  }
  return null
}

export interface ListenError extends NodeJS.ErrnoException {
  readonly syscall: 'bind' | 'listen'
  readonly address: string
  /** Missing when the system was to choose the port. */
  readonly port?: number
}

export const isListenError = (error: unknown): error is ListenError =>
  error instanceof Error && ['bind', 'listen'].includes((error as NodeJS.ErrnoException).syscall ?? '')

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; stop the process that holds it or choose another port'],
  ['EADDRNOTAVAIL', 'this machine does not have the address; use 0.0.0.0 or [::] for all addresses'],
  ['EACCES', 'this process has no permission for ports below 1024; choose another port'],
  ['ENOTFOUND', 'the name has no address; use an IP address'],
  ['EAI_AGAIN', 'the name cannot be resolved at the moment; use an IP address'],
])

/** Describes an error of listening, as a sentence. */
export function describeListenError(error: unknown): string {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  const reason = REASONS.get(code) ?? code
  if (!isListenError(error)) return `cannot be listened on: ${reason}`
  return `cannot listen on ${formatAddress({ host: error.address, port: error.port ?? 0 })}: ${reason}`
}

/** The address of a client; one of IPv4 in its own form, which a listener on [::] sees mapped. */
export const clientAddress = (remote = ''): string => remote.replace(/^::ffff:(?=[\d.]+$)/i, '')

export const formatAddress = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** The callback form: loading `node:dns/promises` adds 10 ms to a start. */
const addressOf = promisify(lookup)
/**
 * Timeout of the connection to the own address, milliseconds. A dropped connection does not prevent
 * listening.
 */
const CONNECT_MS = 1000

/**
 * Binds the address as the source of a connection to itself, and returns the error or null. A trial
 * listener would accept clients.
 */
async function tryToBind(host: string, port: number): Promise<unknown> {
  try {
    const { address } = await addressOf(host)
    const socket = connect({ host: address, port, localAddress: address, localPort: port })
    return await new Promise<unknown>((resolve) => {
      socket.setTimeout(CONNECT_MS)
      socket.once('connect', () => resolve(null)).once('timeout', () => resolve(null))
      socket.once('error', (error) => resolve(isListenError(error) ? error : null))
    }).finally(() => socket.resetAndDestroy())
  } catch (error) {
    return error
  }
}
