// Caches the results of scans by hash of the text, because each turn of a conversation sends all
// earlier turns again. Keeps no texts.

import { hash } from 'node:crypto'
import type { Finding } from '../../core/finding.ts'
import type { InjectionMode, InjectionScore } from '../../detect/injection/score.ts'
import { PrefilterState } from '../../keyword/prefilter/prefilter.ts'

/**
 * Entries in the younger half of the cache. When it is full, the older half is dropped; both take
 * about 7 MiB.
 */
const MAXIMUM_TEXTS = 8192
/** Shorter texts, in UTF-16 units, are scanned as fast as they are hashed. */
const MIN_CHARACTERS = 128
/** Maximum findings cached for one text. A text with more is scanned again. */
const MAXIMUM_FINDINGS = 32

/** Texts outside messages are scored in a way of their own. */
type ScoredAs = InjectionMode | 'definition'

/** Returns the cached scan of a text. @param shortest UTF-16 units of texts that are kept */
export type ScanOf = (text: string, shortest?: number) => CachedScan

/** Cached results of one text. They depend on the text alone. */
export class CachedScan {
  /** State of the keyword prefilter. */
  readonly prefilterState = new PrefilterState()
  #findings: readonly Finding[] | null = null
  readonly #scores: Partial<Record<ScoredAs, InjectionScore>> = {}

  /** Null while the text is not scanned. */
  get findings(): readonly Finding[] | null {
    return this.#findings
  }

  /** Caches the findings and returns them. */
  keepFindings(findings: readonly Finding[]): readonly Finding[] {
    if (findings.length <= MAXIMUM_FINDINGS) this.#findings = findings
    return findings
  }

  score(mode: ScoredAs): InjectionScore | undefined {
    return this.#scores[mode]
  }

  keepScore(mode: ScoredAs, score: InjectionScore): InjectionScore {
    this.#scores[mode] = score
    return score
  }
}

/** One cache serves all calls with the same kinds and the same injection model. */
export class ScanCache {
  #recent = new Map<string, CachedScan>()
  #older = new Map<string, CachedScan>()

  /**
   * Returns the cached scan of a text that this key has sent; a new, empty one otherwise. Keys
   * share nothing, so timing does not reveal what another key sent.
   * @param shortest UTF-16 units of texts that are kept
   */
  lookUp(keyId: string, text: string, shortest = MIN_CHARACTERS): CachedScan {
    // A lone surrogate has no UTF-8 to hash.
    if (text.length < shortest || !text.isWellFormed()) return new CachedScan()
    const name = hash('sha256', text, 'base64url') + keyId
    const recent = this.#recent.get(name)
    if (recent !== undefined) return recent
    const cached = this.#older.get(name) ?? new CachedScan()
    if (this.#recent.size >= MAXIMUM_TEXTS) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(name, cached)
    return cached
  }
}
