// Gathers when sidecars last used the keys of the fleet, and writes it at most every few seconds.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { parseTime } from '../core/time.ts'
import type { FeedGroup } from './fleet-state.ts'

/** Interval of writes. */
const WRITE_MS: Milliseconds = 5000

interface KeyUseParts {
  /** Writes the times, by id of a key. */
  readonly write: (uses: ReadonlyMap<string, Milliseconds>) => Promise<void>
  readonly clock: Pick<Clock, 'now'>
  readonly onError: (error: unknown) => void
}

export class KeyUseReports {
  readonly #parts: KeyUseParts
  #uses = new Map<string, Milliseconds>()
  #timer: NodeJS.Timeout | null = null

  constructor(parts: KeyUseParts) {
    this.#parts = parts
  }

  /** Takes the times that a sidecar reports of the keys that its group has. */
  note(lastUsed: Readonly<Record<string, string>>, group: FeedGroup): void {
    const nowMs = this.#parts.clock.now()
    for (const [id, text] of Object.entries(lastUsed)) {
      const timeMs = Math.min(parseTime(text) ?? 0, nowMs)
      if (timeMs > (this.#uses.get(id) ?? 0) && group.hasId(id)) this.#uses.set(id, timeMs)
    }
    if (this.#uses.size > 0) this.#timer ??= setTimeout(() => void this.flush(), WRITE_MS).unref()
  }

  /** Writes what is gathered. What cannot be written is reported and forgotten. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const uses = this.#uses
    this.#uses = new Map()
    if (uses.size > 0) await this.#parts.write(uses).catch(this.#parts.onError)
  }
}
