// Authenticates API keys. Every call reads the database, so a key revoked in another process is
// refused at once. Keys of a hub are looked up in memory.

import { hashApiKey, parseApiKey } from '../../core/apikey.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { FileKey } from '../../core/key-config.ts'
import { type CallKey, type KeyTerms, NO_TERMS } from '../../core/key-terms.ts'
import type { HubKeys } from '../../keys/fleet-state.ts'
import { isOver, keyOf, keyOfFile, type StoredKey } from '../../keys/key-record.ts'
import type { Environment } from '../environment/journaled.ts'
import { readJson } from '../tables/layout.ts'
import { KeyRows } from './key-rows.ts'
import { KeyUses } from './key-uses.ts'

/** Rows in the cache of parsed rows, which is cleared when full. */
const MAXIMUM_READ_ROWS = 1024

/** The names of a verified client certificate, and when it ends. */
interface CertificateNames {
  readonly names: readonly string[]
  readonly expiresAtMs: Milliseconds
}

export class KeyRing {
  readonly #environment: Environment
  readonly #clock: Clock
  readonly #rows: KeyRows
  readonly #readKeys = new ReadKeys()
  readonly #uses: KeyUses
  #notRevoked: { readonly changes: number; readonly terms: readonly KeyTerms[] } = { changes: -1, terms: [] }
  /** Hashes of the keys that are client certificates, by name. */
  #namedHashes: ReadonlyMap<string, string> = new Map()
  #fileKeys: ReadonlyMap<string, CallKey> = new Map()
  /** Keys of a hub, in memory, which count after the others; null without a hub. */
  hubKeys: HubKeys | null = null

  constructor(environment: Environment, clock: Clock, fileKeys: readonly FileKey[]) {
    this.#environment = environment
    this.#clock = clock
    this.#rows = new KeyRows(environment)
    this.#uses = new KeyUses(environment)
    this.declare(fileKeys)
  }

  /** Keys that the configuration declares, by hash. */
  get fileKeys(): ReadonlyMap<string, CallKey> {
    return this.#fileKeys
  }

  /** Accepts these keys of the configuration from now on, in place of the earlier ones. */
  declare(fileKeys: readonly FileKey[]): void {
    this.#fileKeys = new Map(fileKeys.map((key) => [key.sha256, keyOfFile(key)]))
    this.#namedHashes = new Map(
      fileKeys.flatMap(({ clientName, sha256 }) => (clientName === null ? [] : [[clientName, sha256]])),
    )
    this.#notRevoked = { changes: -1, terms: [] }
  }

  /**
   * Returns the key with its terms; null when the text is malformed, unknown or revoked, `expired`
   * when its time is over, and `stale` for a key of a hub that has not been heard for too long.
   */
  authenticate(text: string): CallKey | 'expired' | 'stale' | null {
    return parseApiKey(text) ? this.#accept(hashApiKey(text)) : null
  }

  /** Returns what `authenticate` does for each key that has a name of the client certificate. */
  authenticateCertificate({
    names,
    expiresAtMs,
  }: CertificateNames): readonly (CallKey | 'expired' | 'stale' | null)[] {
    if (expiresAtMs <= this.#clock.now()) return ['expired']
    const hashes = names.map((name) => this.#namedHashes.get(name)).filter((one) => one !== undefined)
    return [...new Set(hashes)].map((sha256) => this.#accept(sha256))
  }

  /** Returns what `authenticate` does for each key of the configuration that a token stands for. */
  authenticateDeclared(hashes: readonly string[]): readonly (CallKey | 'expired' | 'stale' | null)[] {
    return hashes.map((sha256) => this.#accept(sha256))
  }

  #accept(sha256: string): CallKey | 'expired' | 'stale' | null {
    this.#environment.refresh()
    const bytes = this.#rows.peek(sha256)
    const own = bytes === undefined ? this.fileKeys.get(sha256) : this.#readKeys.read(sha256, bytes)
    const key = own ?? (bytes === undefined ? this.hubKeys?.find(sha256) : undefined)
    if (key === undefined) return null
    if (key === 'stale') return 'stale'
    const nowMs = this.#clock.now()
    if (isOver(key.terms, nowMs)) return 'expired'
    this.#uses.note(key.id, nowMs)
    if (key !== own) this.hubKeys?.noteUse(key.id, nowMs)
    return key
  }

  /**
   * Number of keys accepted now. Reads the rows only if a process has changed one since the last
   * call.
   */
  countActive(): number {
    this.#environment.refresh()
    const { changes } = this.#rows
    if (changes !== this.#notRevoked.changes) {
      const declared = [...this.fileKeys].filter(([sha256]) => this.#rows.get(sha256) === undefined)
      const stored = this.#rows.all().filter(({ revokedAtMs }) => revokedAtMs === null)
      const terms = [...declared.map(([, key]) => key.terms), ...stored.map((key) => key.terms ?? NO_TERMS)]
      this.#notRevoked = { changes, terms }
    }
    const nowMs = this.#clock.now()
    const hub = this.hubKeys?.acceptedTerms() ?? []
    return [...this.#notRevoked.terms, ...hub].filter((terms) => !isOver(terms, nowMs)).length
  }

  /** When a key was last accepted; null for never. */
  lastUsed(id: string): number | null {
    return this.#uses.lastUsed(id)
  }

  /** Makes the times of last use durable. Call it every minute and before closing. */
  flush(): Promise<void> {
    return this.#uses.flush()
  }
}

/** A stored row and its key; undefined for a revoked one. */
interface ReadRow {
  readonly bytes: Buffer
  readonly key: CallKey | undefined
}

/** Last seen rows, by hash. Saves parsing an unchanged row; the row is still read. */
class ReadKeys {
  readonly #rows = new Map<string, ReadRow>()

  /**
   * Returns the key of a row; undefined for a revoked one.
   * @param bytes the current row, valid until the next read
   */
  read(sha256: string, bytes: Buffer): CallKey | undefined {
    const known = this.#rows.get(sha256)
    if (known?.bytes.equals(bytes) === true) return known.key
    const key = keyOf(readJson<StoredKey>(bytes))
    if (this.#rows.size >= MAXIMUM_READ_ROWS) this.#rows.clear()
    this.#rows.set(sha256, { bytes: Buffer.from(bytes), key })
    return key
  }
}
