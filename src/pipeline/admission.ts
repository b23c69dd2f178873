// Which calls are taken on at all, and how many at a time.

import { GatewayError } from '../core/errors.ts'
import { InFlight, type Place } from '../core/inflight.ts'
import type { Client } from './client.ts'

/** What a client that was turned away is told to wait, seconds. */
const RETRY_AFTER_SECONDS = '1'

export class Admission {
  /** Calls at work. */
  readonly #clients = new InFlight<Client>()
  /** Sealed and answered, but the answer has not been taken yet: it still takes room. */
  #undelivered = 0
  readonly #delivered = (): void => {
    this.#undelivered--
  }
  #entered = 0
  #draining = false
  #idle: (() => void) | null = null
  readonly #limit: number
  readonly #auditAvailable: () => boolean

  /**
   * @param limit calls in flight at a time
   * @param auditAvailable whether an entry could be sealed right now
   */
  constructor(limit: number, auditAvailable: () => boolean) {
    this.#limit = limit
    this.#auditAvailable = auditAvailable
  }

  /** Calls that take up room: those at work, and those whose answer is still being taken. */
  get inFlight(): number {
    return this.#clients.size + this.#undelivered
  }

  /** Calls taken on so far. */
  get entered(): number {
    return this.#entered
  }

  /** Calls that are not sealed yet. */
  get running(): number {
    return this.#clients.size
  }

  /** @throws GatewayError with status 503 while no call at all is taken on */
  assertOpen(): void {
    if (this.#draining) throw drainingError()
    if (!this.#auditAvailable()) {
      throw refusal('audit_unavailable', 'The usage log cannot be written, so no call is forwarded.')
    }
  }

  /** Takes a client's call on; its place must be left when it is over. @throws GatewayError with status 503 */
  enter(client: Client): Place<Client> {
    this.assertOpen()
    if (this.inFlight >= this.#limit)
      throw refusal(
        'overloaded',
        `${this.#limit} calls are in flight already (limits.concurrentRequests); try again.`,
      )
    this.#entered++
    return this.#clients.add(client)
  }

  /** The call is sealed and its answer on its way; once for each place. */
  leave(place: Place<Client>): void {
    this.#clients.remove(place)
    this.#undelivered++
    place.item.onDelivered(this.#delivered)
    if (this.#clients.size === 0) this.#idle?.()
  }

  /** Ends what still runs; each call seals its entry and answers with an error. */
  interruptAll(): void {
    for (const client of this.#clients.items()) client.interrupt()
  }

  /** Turns new calls away from now on; resolves when the last running one is sealed. */
  drain(): Promise<void> {
    this.#draining = true
    return new Promise((resolve) => {
      if (this.#clients.size === 0) resolve()
      else this.#idle = resolve
    })
  }

  get draining(): boolean {
    return this.#draining
  }
}

const refusal = (code: 'draining' | 'audit_unavailable' | 'overloaded', message: string): GatewayError =>
  new GatewayError(code, message, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })

export const drainingError = (): GatewayError =>
  refusal('draining', 'The gateway is shutting down; send the call again.')
