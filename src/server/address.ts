// Addresses to listen on: which go together, how they are written, and why one cannot be had. Serves nothing.

import { lookup } from 'node:dns'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import type { Address } from '../core/config-values.ts'

/** The address that is opened as well: clients resolve `localhost` to either. */
export const twin = ({ host, port }: Address): Address | null =>
  host === '127.0.0.1' ? { host: '::1', port } : null

const NO_IPV6_CODES = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

/** This machine has no IPv6 loopback: no reason to complain. */
export const isWithoutIpv6 = (error: unknown): boolean =>
  NO_IPV6_CODES.has((error as NodeJS.ErrnoException).code ?? '')

/** Why the address, or the one that goes with it, cannot be listened on, in words; null when it can. */
export async function whyNotListen(address: Address): Promise<string | null> {
  const second = address.port === 0 ? null : twin(address)
  for (const { host, port } of second === null ? [address] : [address, second]) {
    const error = await tryToBind(host, port)
    if (error === null || (host !== address.host && isWithoutIpv6(error))) continue
    return describeListenError(error)
  }
  return null
}

export interface ListenError extends NodeJS.ErrnoException {
  readonly syscall: 'bind' | 'listen'
  readonly address: string
  /** Left out by Node where the system was to choose one. */
  readonly port?: number
}

export const isListenError = (error: unknown): error is ListenError =>
  error instanceof Error && ['bind', 'listen'].includes((error as NodeJS.ErrnoException).syscall ?? '')

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; stop what holds it or choose another'],
  ['EADDRNOTAVAIL', 'this machine has no such address; 0.0.0.0 or [::] stands for all it has'],
  ['EACCES', 'ports below 1024 need a permission that this process does not have; choose another'],
  ['ENOTFOUND', 'the name has no address; give an IP address'],
  ['EAI_AGAIN', 'the name could not be looked up just now; give an IP address'],
])

/** Why an address could not be listened on, in words. */
export function describeListenError(error: unknown): string {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  const reason = REASONS.get(code) ?? code
  if (!isListenError(error)) return `cannot be listened on: ${reason}`
  return `cannot listen on ${formatAddress({ host: error.address, port: error.port ?? 0 })}: ${reason}`
}

export const formatAddress = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** With callbacks, as the module of promises takes ten milliseconds of a start to load. */
const addressOf = promisify(lookup)
/** How long a connection to the own address may take, milliseconds; what drops it is no reason not to listen there. */
const CONNECT_MS = 1000

/** Takes the address for a connection to itself: were it listened on for a try, a client could get in. */
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
