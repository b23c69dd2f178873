// Remembers when each key was last accepted, in memory until it is made durable.

import type { Milliseconds } from '../../core/clock.ts'
import type { Environment } from '../environment/journaled.ts'
import { readU64, u64 } from '../tables/layout.ts'

export class KeyUses {
  readonly #environment: Environment
  /** Uses since the last flush, by id: at most one for each key. */
  readonly #latest = new Map<string, Milliseconds>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  note(id: string, nowMs: Milliseconds): void {
    this.#latest.set(id, nowMs)
  }

  /** Null for a key that was never accepted. */
  lastUsed(id: string): Milliseconds | null {
    const flushed = this.#environment.tables.keyuse.get(Buffer.from(id))
    return this.#latest.get(id) ?? (flushed === undefined ? null : readU64(flushed))
  }

  /** Makes the times durable. */
  async flush(): Promise<void> {
    if (this.#latest.size === 0) return
    const used = [...this.#latest]
    const { keyuse } = this.#environment.tables
    await this.#environment.transaction(() => {
      for (const [id, timeMs] of used) keyuse.put(Buffer.from(id), u64(timeMs))
    })
    for (const [id, timeMs] of used) if (this.#latest.get(id) === timeMs) this.#latest.delete(id)
  }
}
