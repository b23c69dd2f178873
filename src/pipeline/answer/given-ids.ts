// Remembers ids of answers that look like personal data, so that a client can send them back as the
// provider gave them. Only in memory: after a restart such an id is redacted like any other text.

/** Ids remembered for one key; the oldest goes first. */
const MAXIMUM_IDS = 4096
/** Keys that are remembered; the one that was used least recently goes first. */
const MAXIMUM_KEYS = 64
/** Longest id, UTF-16 units. */
const MAXIMUM_ID = 256

export class GivenIds {
  readonly #keys = new Map<string, Set<string>>()

  /** @param keyLine of the API key, the same for its successors */
  add(keyLine: string, ids: readonly string[]): void {
    if (ids.length === 0) return
    const known = this.#keys.get(keyLine) ?? new Set()
    this.#keys.delete(keyLine)
    this.#keys.set(keyLine, known)
    for (const id of ids) {
      if (id.length > MAXIMUM_ID) continue
      known.delete(id)
      known.add(id)
    }
    dropOldest(known, MAXIMUM_IDS)
    dropOldest(this.#keys, MAXIMUM_KEYS)
  }

  /** Reports whether an answer to a key had the id. */
  has(keyLine: string, id: string): boolean {
    return this.#keys.get(keyLine)?.has(id) === true
  }
}

function dropOldest(all: Set<string> | Map<string, unknown>, most: number): void {
  for (const oldest of all.keys()) {
    if (all.size <= most) return
    all.delete(oldest)
  }
}
