// The certificate of a listener as it is served: follows its files, and keeps the last good pair.

import { findTlsFaults, type TlsMaterial, validityOf } from '../core/certificate.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Address } from '../core/config-values.ts'
import { formatPath } from '../core/document.ts'
import type { JsonObject } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import type { Timers } from '../core/timers.ts'
import { materialOf, type TlsTerms } from '../core/tls-config.ts'
import type { CertificateState } from '../metrics/gauge-table.ts'
import { type Handler, type Listener, listen, whyNotServed } from '../server/listener.ts'
import type { GatewayLogger } from './logger.ts'

/** Interval at which the files are read. A new pair is served within two of them. */
export const CERTIFICATE_POLL_MS: Milliseconds = 5000

interface LiveCertificateParts {
  /** Name of the listener in metrics. */
  readonly listener: string
  /** Without problems. */
  readonly terms: TlsTerms
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: GatewayLogger
}

export class LiveCertificate {
  readonly #parts: LiveCertificateParts
  readonly #setting: string
  #inForce: TlsMaterial
  #lastRead: TlsMaterial
  #listeners: readonly Listener[] = []
  #timer: unknown = null
  /** Why a file cannot be read, by its setting. */
  readonly #unread = new Map<string, string>()
  #problems: readonly string[] = []

  constructor(parts: LiveCertificateParts) {
    const { terms } = parts
    this.#parts = parts
    this.#setting = formatPath(terms.declaredAt)
    this.#inForce = materialOf(terms)
    this.#lastRead = this.#inForce
    for (const part of PARTS)
      terms[part]?.onTurn((problem) => {
        if (problem === null) this.#unread.delete(part)
        else this.#unread.set(part, `the file cannot be used (${problem})`)
      })
  }

  /** What is served now. */
  get material(): TlsMaterial {
    return this.#inForce
  }

  /** Follows the files from now on, for these listeners. */
  follow(listeners: readonly Listener[]): void {
    this.#listeners = listeners
    this.#wait()
  }

  close(): void {
    this.#parts.timers.clear(this.#timer)
  }

  /** Why the files as they are are not served; empty while they are. */
  problems(): readonly string[] {
    return this.#problems
  }

  state(): CertificateState {
    const { fromMs, untilMs } = validityOf(this.#inForce.certificate)
    return {
      listener: this.#parts.listener,
      isCurrent: this.#problems.length === 0,
      expiresAtSeconds: untilMs / 1000,
      lifetimeSeconds: (untilMs - fromMs) / 1000,
    }
  }

  #wait(): void {
    this.#timer = this.#parts.timers.set(() => {
      this.#look()
      this.#wait()
    }, CERTIFICATE_POLL_MS)
  }

  /** Reads the files, and serves what they hold once it is good. */
  #look(): void {
    const { terms } = this.#parts
    const read = materialOf(terms)
    const isSettled = isSame(read, this.#lastRead)
    this.#lastRead = read
    // The files are written one after the other.
    if (!isSettled) return
    const isNew = !isSame(read, this.#inForce)
    // What a file held before it became unreadable may fit by chance.
    const faults = this.#unread.size > 0 ? [...this.#unread] : isNew ? this.#faultsOf(read) : []
    if (faults.length > 0) this.#report(faults.map(([part, reason]) => `${this.#at(part)}: ${reason}`))
    else this.#problems = []
    if (isNew && faults.length === 0) this.#replace(read)
  }

  #replace(material: TlsMaterial): void {
    for (const listener of this.#listeners) listener.renew(material)
    this.#inForce = material
    const expires = isoTime(validityOf(material.certificate).untilMs)
    this.#parts.logger.info({ setting: this.#setting, expires }, 'the new certificate is in force')
  }

  #report(problems: readonly string[]): void {
    const isKnown = problems.join() === this.#problems.join()
    this.#problems = problems
    if (isKnown) return
    const message = 'the certificate cannot be renewed; the last good one is served'
    this.#parts.logger.error({ errors: problems }, message)
  }

  #faultsOf(read: TlsMaterial): readonly (readonly [part: string, reason: string])[] {
    const faults = findTlsFaults(read, this.#parts.clock.now())
    const refusal = faults.length === 0 ? whyNotServed(read) : null
    return [
      ...faults.map(({ part, reason }) => [part, reason] as const),
      ...(refusal === null ? [] : [['', refusal] as const]),
    ]
  }

  #at(part: string): string {
    return part === '' ? this.#setting : `${this.#setting}.${part}`
  }
}

const PARTS = ['certificate', 'key', 'clientCa'] as const

const isSame = (one: TlsMaterial, other: TlsMaterial): boolean =>
  PARTS.every((part) => one[part] === other[part])

/** The certificate of each listener; null without TLS. */
export type LiveCertificates<Name extends string> = Readonly<Record<Name, LiveCertificate | null>>

/** Opens the certificates of listeners by their names. */
export const openCertificates = <Name extends string>(
  terms: Readonly<Record<Name, TlsTerms | null>>,
  parts: Omit<LiveCertificateParts, 'listener' | 'terms'>,
): LiveCertificates<Name> =>
  Object.fromEntries(
    Object.entries<TlsTerms | null>(terms).map(([listener, one]) => [
      listener,
      one === null ? null : new LiveCertificate({ ...parts, listener, terms: one }),
    ]),
  ) as LiveCertificates<Name>

/** The certificates that there are. */
export const servedBy = (certificates: LiveCertificates<string>): readonly LiveCertificate[] =>
  Object.values(certificates).filter((one) => one !== null)

/**
 * Listens as `listen`, with the certificate if there is one, which is followed from then on.
 * @throws the system's error (rejects)
 */
export async function listenWith(
  address: Address,
  handler: Handler,
  certificate: LiveCertificate | null,
): Promise<Listener[]> {
  const listeners = await listen(address, handler, certificate?.material ?? null)
  certificate?.follow(listeners)
  return listeners
}

/** Fields of readiness; none without TLS. */
export function certificatesHealth(certificates: readonly LiveCertificate[]): JsonObject {
  if (certificates.length === 0) return {}
  const errors = certificates.flatMap((one) => one.problems())
  const states = certificates.map((one) => one.state())
  return {
    certificates: errors.length === 0 ? 'ok' : 'the last good certificate is in force',
    certificate_errors: errors,
    certificate_expires_at: Object.fromEntries(
      states.map(({ listener, expiresAtSeconds }) => [listener, isoTime(expiresAtSeconds * 1000)]),
    ),
  }
}

/** Returns why OpenSSL would not serve terms without a problem, at their path; null if it would. */
export const whyNotStart = (terms: TlsTerms | null): string | null =>
  terms === null || terms.certificate === null || terms.key === null ? null : whyNotServed(materialOf(terms))
