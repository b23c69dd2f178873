// The erasure of a hub's API: names the end user by the hash that sidecars have, and makes the
// order.

import { hashUser, isUserHash } from '../audit/user-hash.ts'
import type { Actor } from '../core/actor.ts'
import { isoTime } from '../core/time.ts'
import type { OrderSelection } from '../keys/erase-order.ts'
import type { Erasures, OrderedErasure } from '../ledger/erasures.ts'
import type { EraseSelection } from '../store/log/erase.ts'

export class HubErasures {
  readonly #erasures: Pick<Erasures, 'order' | 'knowsUser'>
  readonly #fleetKey: Buffer

  /** @param fleetKey under which sidecars hash end users */
  constructor(erasures: Pick<Erasures, 'order' | 'knowsUser'>, fleetKey: Buffer) {
    this.#erasures = erasures
    this.#fleetKey = fleetKey
  }

  /**
   * Erases in the database and orders every sidecar to. What is not known here may be known there.
   * @throws as `Erasures.order` (rejects)
   */
  async erase(selection: EraseSelection, actor: Actor): Promise<OrderedErasure> {
    return this.#erasures.order(await this.#selectionOf(selection), actor)
  }

  async #selectionOf(selection: EraseSelection): Promise<OrderSelection> {
    if ('requestId' in selection) return { request_id: selection.requestId }
    if ('keyId' in selection) return { key_id: selection.keyId }
    if ('beforeMs' in selection) return { before: isoTime(selection.beforeMs) }
    const hash = 'userHash' in selection ? selection.userHash : await this.#hashOf(selection.user)
    return { user: hash.toString('hex') }
  }

  /** As `findUser` of a gateway: a text may be the hash of a user that nobody sends as a name. */
  async #hashOf(user: string): Promise<Buffer> {
    const hash = hashUser(this.#fleetKey, user)
    if (!isUserHash(user) || (await this.#erasures.knowsUser(hash))) return hash
    const named = Buffer.from(user, 'hex')
    return (await this.#erasures.knowsUser(named)) ? named : hash
  }
}
