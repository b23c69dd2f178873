// Which calls are taken on at all, and how many at a time. Those there is no room for have to make their entry too.

import type { Budget } from '../core/budget.ts'
import { GatewayError } from '../core/errors.ts'
import { InFlight, type InFlightSlot } from '../core/inflight.ts'
import type { Client } from './client.ts'

/** What a client that was turned away is told to wait, seconds. */
const RETRY_AFTER_SECONDS = '1'
/** Calls without room that wait for their entry at a time, some kilobytes each: a commit takes all of them. */
export const TURNED_AWAY_MAX = 512

/** A call's place from its key to its entry. */
export interface Admission {
  readonly place: InFlightSlot<Client>
  /** Why nothing is done for it but its entry, an error with status 503; null where there is room. */
  readonly refusal: GatewayError | null
  /** What is kept of its prompt and its answer. */
  keptBytes: number
}

export class AdmissionControl {
  /** Calls at work. */
  readonly #clients = new InFlight<Client>()
  /** Calls without room, until they are sealed. */
  readonly #turnedAway = new InFlight<Client>()
  /** Sealed and answered, but the answer has not been taken yet: it still takes room. */
  #undelivered = 0
  readonly #delivered = (): void => {
    this.#undelivered--
  }
  #entered = 0
  #draining = false
  #idle: (() => void) | null = null
  readonly #limit: number
  readonly #bodies: Budget
  readonly #auditAvailable: () => boolean

  /**
   * @param limit calls in flight at a time
   * @param bodies room for their prompts and answers, bytes
   * @param auditAvailable whether a call could be written down and sealed right now
   */
  constructor(limit: number, bodies: Budget, auditAvailable: () => boolean) {
    this.#limit = limit
    this.#bodies = bodies
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
    return this.#clients.size + this.#turnedAway.size
  }

  /** Whether an entry could be made right now. */
  get auditable(): boolean {
    return this.#auditAvailable()
  }

  /** @throws GatewayError `audit_unavailable` while no entry can be made, and no call is looked at for that */
  assertAuditable(): void {
    if (this.auditable) return
    throw turnAway('audit_unavailable', 'The usage log cannot be written, so no call is forwarded.')
  }

  /**
   * Gives a client's call a seat, which must be left when it is over.
   * @throws GatewayError with status 503 where TURNED_AWAY_MAX wait to be told so: this call makes no entry
   */
  enter(client: Client): Admission {
    const refusal = this.#refusal()
    if (refusal === null) {
      this.#entered++
      return { place: this.#clients.add(client), refusal, keptBytes: 0 }
    }
    if (this.#turnedAway.size >= TURNED_AWAY_MAX) throw refusal
    return { place: this.#turnedAway.add(client), refusal, keptBytes: 0 }
  }

  /**
   * Keeps room for so much more of a call's prompt or answer, until it leaves.
   * @throws GatewayError `overloaded` where there is none
   */
  keep(seat: Admission, bytes: number): void {
    if (!this.#bodies.take(bytes))
      throw turnAway(
        'overloaded',
        'Prompts and answers of other calls take all the memory there is for them; try again.',
      )
    seat.keptBytes += bytes
  }

  /** The call is sealed and its answer on its way; once for each seat. */
  leave({ place, refusal, keptBytes }: Admission): void {
    this.#bodies.give(keptBytes)
    if (refusal === null) {
      this.#clients.remove(place)
      this.#undelivered++
      place.item.onDelivered(this.#delivered)
    } else this.#turnedAway.remove(place)
    if (this.running === 0) this.#idle?.()
  }

  /** Ends what still runs; each call seals its entry and answers with an error. */
  interruptAll(): void {
    for (const client of this.#clients.items()) client.interrupt()
  }

  /** Turns new calls away from now on; resolves when the last running one is sealed. */
  drain(): Promise<void> {
    this.#draining = true
    return new Promise((resolve) => {
      if (this.running === 0) resolve()
      else this.#idle = resolve
    })
  }

  get draining(): boolean {
    return this.#draining
  }

  #refusal(): GatewayError | null {
    if (this.#draining) return drainingError()
    if (this.inFlight < this.#limit) return null
    const message = `${this.#limit} calls are in flight already (limits.concurrentRequests); try again.`
    return turnAway('overloaded', message)
  }
}

const turnAway = (code: 'draining' | 'audit_unavailable' | 'overloaded', message: string): GatewayError =>
  new GatewayError(code, message, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })

export const drainingError = (): GatewayError =>
  turnAway('draining', 'The gateway is shutting down; send the call again.')
