// What the answers of the hubs promise of each key, and whether each sidecar keeps it: at once, and
// at any later time.

import { hashApiKey } from '../../src/core/apikey.ts'
import type { CallKey } from '../../src/core/key-terms.ts'
import type { SimulatedSidecar } from './simulated-sidecar.ts'

/** Names that an answer lists at most. */
const MAXIMUM_NAMES = 20
/** Violations that are kept. */
const MAXIMUM_KEPT = 20

/** The member `fleet` of the answer to a change. */
export interface FleetAnswer {
  readonly registered: number
  readonly acked: number
  readonly unconfirmed: number
  readonly unconfirmed_names: readonly string[]
  readonly in_force_everywhere_by: string
}

/** A key as the last answer left it. */
export interface ChaosKey {
  readonly id: string
  readonly sha256: string
  /** Itself. */
  readonly key: string
  /** Value of its label `v`. */
  version: string
  namespaces: readonly string[] | null
  /** End of a grace, Unix milliseconds; null for none. */
  endsAtMs: number | null
  isRevoked: boolean
  /** A change is under way: its state is not known. */
  isBusy: boolean
  /** Sidecars that have not confirmed the last change; null for too many to be named. */
  unconfirmed: ReadonlySet<string> | null
}

export interface Violation {
  readonly step: number
  readonly rule: string
  readonly detail: string
}

/** Reports whether a sidecar of a namespace is to accept a key now. */
export const isAccepted = (key: ChaosKey, namespace: string): boolean =>
  !key.isRevoked &&
  (key.namespaces === null || key.namespaces.includes(namespace)) &&
  (key.endsAtMs === null || Date.now() < key.endsAtMs)

/** Returns how a simulated sidecar would not decide by the state of a key; null if it does. */
function deviation(sidecar: SimulatedSidecar, key: ChaosKey): string | null {
  const { memory } = sidecar
  // It refuses all keys of hubs, also those it has not heard of.
  if (memory === null || (memory.freshness.isStale && sidecar.mayBeStale)) return null
  const found = memory.find(key.sha256)
  if (found === 'stale') return 'refuses it as too old'
  const isFound = found !== undefined && !isOver(found)
  if (!isAccepted(key, sidecar.namespace)) return isFound ? 'accepts it' : null
  // Between the two looks at the clock the grace may end.
  if (!isFound) return key.endsAtMs !== null && Date.now() > key.endsAtMs - 50 ? null : 'refuses it'
  const version = found.terms.labels['v']
  return version === key.version ? null : `has version ${version} of it, not ${key.version}`
}

const isOver = ({ terms: { expiresAtMs } }: CallKey): boolean =>
  expiresAtMs !== null && Date.now() >= expiresAtMs

export class ChaosLedger {
  readonly #sidecars: readonly SimulatedSidecar[]
  readonly keys: ChaosKey[] = []
  readonly violations: Violation[] = []
  violationCount = 0
  /** Decisions of sidecars that were compared. */
  checks = 0
  /** Step that is under way, for reports. */
  step = 0

  constructor(sidecars: readonly SimulatedSidecar[]) {
    this.#sidecars = sidecars
  }

  violate(rule: string, detail: string): void {
    this.violationCount++
    process.stderr.write(`violation at step ${this.step}: ${rule}: ${detail}\n`)
    if (this.violations.length < MAXIMUM_KEPT) this.violations.push({ step: this.step, rule, detail })
  }

  /** Makes the record of a new key, which is busy. */
  add(id: string, key: string, version: string, namespaces: readonly string[] | null): ChaosKey {
    const made: ChaosKey = {
      ...{ id, key, sha256: hashApiKey(key), version, namespaces },
      ...{ endsAtMs: null, isRevoked: false, isBusy: true, unconfirmed: new Set() },
    }
    this.keys.push(made)
    return made
  }

  /**
   * Takes the answer to a change, whose state the keys have already, and compares every simulated
   * sidecar at once.
   */
  answered(keys: readonly ChaosKey[], fleet: FleetAnswer): void {
    this.#checkCounts(fleet)
    const { unconfirmed, unconfirmed_names: names } = fleet
    const named = unconfirmed <= MAXIMUM_NAMES ? new Set(names) : null
    for (const key of keys) {
      key.unconfirmed = named
      if (named === null) this.#checkCount(key, unconfirmed)
      else this.check(key, 'at once')
    }
  }

  #checkCounts(fleet: FleetAnswer): void {
    const { registered, acked, unconfirmed, unconfirmed_names: names, in_force_everywhere_by: by } = fleet
    this.checks++
    if (registered !== acked + unconfirmed || names.length !== Math.min(unconfirmed, MAXIMUM_NAMES))
      this.violate('the counts add up', JSON.stringify(fleet))
    if (unconfirmed === 0 && Date.parse(by) > Date.now() + 1)
      this.violate('all have it now', JSON.stringify(fleet))
    // Each of these has heard a hub and said no goodbye.
    const deciding = this.#sidecars.filter((one) => one.isConnected && !one.isDisturbed).length
    if (registered < deciding)
      this.violate('every sidecar counts', `${deciding} are connected: ${JSON.stringify(fleet)}`)
  }

  /** Without all names: no more sidecars deviate than the answer admits. */
  #checkCount(key: ChaosKey, unconfirmed: number): void {
    this.checks += this.#sidecars.length
    const wrong = this.#sidecars.filter((one) => one.memory !== null && deviation(one, key) !== null)
    if (wrong.length > unconfirmed)
      this.violate('no more than was confirmed', `${wrong.length} deviate, ${unconfirmed} unconfirmed`)
  }

  /** Compares every simulated sidecar that has confirmed the last change of a key. */
  check(key: ChaosKey, when: string): void {
    const { unconfirmed } = key
    if (unconfirmed === null) return
    for (const sidecar of this.#sidecars) {
      if (sidecar.memory === null || unconfirmed.has(sidecar.name)) continue
      this.checks++
      const reason = deviation(sidecar, key)
      if (reason !== null)
        this.violate(when, `${sidecar.name} (${sidecar.describe()}) ${reason}: ${describe(key)}`)
    }
  }

  /** Compares every simulated sidecar, confirmed or not. A key whose last change failed is not known. */
  checkAll(when: string): void {
    for (const key of this.keys.filter(({ isBusy }) => !isBusy)) {
      key.unconfirmed = new Set()
      this.check(key, when)
    }
  }
}

const describe = ({ id, isRevoked, version, namespaces, endsAtMs }: ChaosKey): string =>
  `key ${id} ${isRevoked ? 'revoked' : `version ${version}`}${namespaces === null ? '' : ` for ${namespaces}`}${endsAtMs === null ? '' : ` until ${new Date(endsAtMs).toISOString()}`}`
