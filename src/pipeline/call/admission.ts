// Admits calls: how many run at a time, and how much memory they hold. A call with a valid key that
// finds no room is refused, and the refusal makes an entry too.

import type { Budget } from '../../core/budget.ts'
import { GatewayError } from '../../core/errors.ts'
import { InFlight, type InFlightSlot } from '../../core/inflight.ts'
import type { Client } from './client.ts'

/** `retry-after` of a refused call, seconds. */
const RETRY_AFTER_SECONDS = '1'
/** Refused calls that may wait for their entry, some kilobytes each; one commit seals them all. */
export const MAXIMUM_REFUSED = 512

/** What a request keeps in memory. */
export interface KeptMemory {
  /** Bytes of its prompt and its answer in memory. */
  keptBytes: number
}

/** The place of one call, from its key to its entry. */
export interface Admission extends KeptMemory {
  readonly slot: InFlightSlot<Client>
  /** The error (503) of a call without room, which only makes an entry; null when there is room. */
  readonly refusal: GatewayError | null
}

export class AdmissionControl {
  /** Running calls. */
  readonly #clients = new InFlight<Client>()
  /** Refused calls, until they are sealed. */
  readonly #refused = new InFlight<Client>()
  /** Calls that are sealed and answered, but whose answer the client has not read yet. */
  #undelivered = 0
  readonly #delivered = (): void => {
    this.#undelivered--
  }
  #entered = 0
  #draining = false
  #idle: (() => void) | null = null
  readonly #limit: number
  readonly #bodies: Budget
  readonly #auditHindrance: () => string | null

  /**
   * @param limit calls in flight at a time
   * @param bodies memory for their prompts and answers, bytes
   * @param auditHindrance why a call could not be recorded and sealed now, for people; or null
   */
  constructor(limit: number, bodies: Budget, auditHindrance: () => string | null) {
    this.#limit = limit
    this.#bodies = bodies
    this.#auditHindrance = auditHindrance
  }

  /** Calls that count towards the limit: running, or with an answer that is still being read. */
  get inFlight(): number {
    return this.#clients.size + this.#undelivered
  }

  /** Calls admitted since the start. */
  get entered(): number {
    return this.#entered
  }

  /** Calls that are not sealed yet. */
  get running(): number {
    return this.#clients.size + this.#refused.size
  }

  /** Why no entry could be sealed right now, for people; null if one could. */
  get auditHindrance(): string | null {
    return this.#auditHindrance()
  }

  get auditable(): boolean {
    return this.auditHindrance === null
  }

  /** @throws GatewayError `audit_unavailable` while no entry can be sealed */
  assertAuditable(): void {
    if (this.auditable) return
    throw refusal('audit_unavailable', 'The usage log cannot be written, so no call is forwarded.')
  }

  /**
   * Admits a client's call; `leave` must follow when it is over.
   * @throws GatewayError (503) when MAXIMUM_REFUSED calls wait for their entry; this one makes none
   */
  enter(client: Client): Admission {
    const refusal = this.#refusal()
    if (refusal === null) {
      this.#entered++
      return { slot: this.#clients.add(client), refusal, keptBytes: 0 }
    }
    if (this.#refused.size >= MAXIMUM_REFUSED) throw refusal
    return { slot: this.#refused.add(client), refusal, keptBytes: 0 }
  }

  /**
   * Takes memory for more of a prompt or an answer, until the call leaves or `release`.
   * @throws GatewayError `overloaded` when there is none
   */
  keep(kept: KeptMemory, bytes: number): void {
    if (!this.#bodies.take(bytes))
      throw overloaded('Prompts and answers of other calls use all the memory for them; send the call again.')
    kept.keptBytes += bytes
  }

  /** Returns the memory of a request that is not a call, such as a dry run. */
  release(kept: KeptMemory): void {
    this.#bodies.release(kept.keptBytes)
    kept.keptBytes = 0
  }

  /** Ends the place of a call that is sealed and answered. Call it once. */
  leave({ slot, refusal, keptBytes }: Admission): void {
    this.#bodies.release(keptBytes)
    if (refusal === null) {
      this.#clients.remove(slot)
      this.#undelivered++
      slot.item.onDelivered(this.#delivered)
    } else this.#refused.remove(slot)
    if (this.running === 0) this.#idle?.()
  }

  /** Ends every running call; each seals its entry and answers with an error. */
  interruptAll(): void {
    for (const client of this.#clients.items()) client.interrupt()
  }

  /** Refuses new calls from now on. Resolves when the last running call is sealed. */
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
    const message = `${this.#limit} calls are in flight already (limits.concurrentRequests); send the call again.`
    return overloaded(message)
  }
}

const refusal = (code: 'draining' | 'audit_unavailable' | 'overloaded', message: string): GatewayError =>
  new GatewayError(code, message, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })

/** The error of a call that the process has no room or no time for now. */
export const overloaded = (message: string): GatewayError => refusal('overloaded', message)

export const drainingError = (): GatewayError =>
  refusal('draining', 'The gateway is shutting down; send the call again.')
