// Whether the usage log takes entries, and why not: what errors, /readyz and the metrics read.

/** What keeps entries out, the most lasting first; in words for /readyz and for a client. */
const HINDRANCES = {
  closed: { state: 'it is closed', message: 'The usage log is closed.' },
  stalled: { state: 'a write hangs', message: 'The usage log cannot be written.' },
  failed: { state: 'a write failed', message: 'The usage log cannot be written.' },
  unshipped: {
    state: 'it is full of entries that no hub has',
    message:
      'The usage log is full of entries that no hub has; with `block` (fleet.onUnshippable) they are kept.',
  },
  full: { state: 'it is full', message: 'The usage log has reached its size limit (audit.maxBytes).' },
} as const

type Hindrance = keyof typeof HINDRANCES
/** A log with these takes changes, so a key can always be revoked. */
const OF_SIZE: readonly Hindrance[] = ['unshipped', 'full']
const ORDER = Object.keys(HINDRANCES) as Hindrance[]

export interface WritabilityEvents {
  /** Writing fails, or the log is full. Called once, until `onAvailable`. */
  onUnavailable(cause: unknown): void
  /** Writing succeeds again, or there is room again. */
  onAvailable(): void
}

export class Writability {
  readonly #events: Partial<WritabilityEvents>
  readonly #present = new Set<Hindrance>()

  constructor(events: Partial<WritabilityEvents>) {
    this.#events = events
  }

  has(hindrance: Hindrance): boolean {
    return this.#present.has(hindrance)
  }

  /** Whether a call could be sealed now. */
  get takesCalls(): boolean {
    return this.#present.size === 0
  }

  /** Whether a change could be sealed now; a full log takes it. */
  get takesChanges(): boolean {
    return this.#inOrder().every((one) => OF_SIZE.includes(one))
  }

  /** Why no call could be sealed now, for people; null if one could. */
  get state(): string | null {
    const [first] = this.#inOrder()
    return first === undefined ? null : `the usage log cannot be written: ${HINDRANCES[first].state}`
  }

  /** What the client reads whose entry is refused now. */
  get message(): string {
    return HINDRANCES[this.#inOrder()[0] ?? 'failed'].message
  }

  /** @param cause goes to `onUnavailable` if the hindrance is new; omit it to report nothing */
  begin(hindrance: Hindrance, cause?: unknown): void {
    const isNew = !this.has(hindrance)
    this.#present.add(hindrance)
    if (isNew && cause !== undefined) this.#events.onUnavailable?.(cause)
  }

  /** Reports to `onAvailable` when one ended and changes are accepted again. */
  end(...hindrances: readonly Hindrance[]): void {
    const ended = hindrances.filter((one) => this.#present.delete(one))
    if (ended.length > 0 && this.takesChanges) this.#events.onAvailable?.()
  }

  #inOrder(): Hindrance[] {
    return ORDER.filter((one) => this.has(one))
  }
}
