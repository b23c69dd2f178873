// What was learned of texts that were sent before. Models remember nothing, so a conversation is sent whole with each
// turn of it, and nearly all of a prompt has been searched by then. Texts themselves are not kept.

import { hash } from 'node:crypto'
import type { Finding } from '../../core/finding.ts'
import type { InjectionMode, InjectionScore } from '../../detect/injection/score.ts'
import { PrefilterState } from '../../keyword/prefilter/prefilter.ts'

/** Texts that are remembered go by so many before the older half of them is forgotten: some 7 MiB in all. */
const MAX_TEXTS = 8192
/** Shorter ones, UTF-16 units, are searched as fast as they are recognised. */
const MIN_CHARACTERS = 128
/** Findings kept of one text; one with more is searched again. */
const MAX_FINDINGS = 32

/** What depends on a text alone, as far as it has been found out. */
export class CachedScan {
  /** Of keyword rules. */
  readonly prefilterState = new PrefilterState()
  #findings: readonly Finding[] | null = null
  readonly #scores: Partial<Record<InjectionMode, InjectionScore>> = {}

  /** Null while they are not known. */
  get findings(): readonly Finding[] | null {
    return this.#findings
  }

  /** @param findings of the one search that there is for this text */
  keepFindings(findings: readonly Finding[]): readonly Finding[] {
    if (findings.length <= MAX_FINDINGS) this.#findings = findings
    return findings
  }

  score(mode: InjectionMode): InjectionScore | undefined {
    return this.#scores[mode]
  }

  keepScore(mode: InjectionMode, score: InjectionScore): InjectionScore {
    this.#scores[mode] = score
    return score
  }
}

/** One for all calls that search in the same way: for the same kinds of data, with the same weights. */
export class ScanCache {
  #recent = new Map<string, CachedScan>()
  #older = new Map<string, CachedScan>()

  /**
   * What was learned of a text when the holder of this key sent it before; what is added to it is there the next time.
   * Nobody can tell from the time a call takes what another has sent.
   */
  lookUp(keyId: string, text: string): CachedScan {
    // Half a pair has no UTF-8, which is what is hashed.
    if (text.length < MIN_CHARACTERS || !text.isWellFormed()) return new CachedScan()
    const name = hash('sha256', text, 'base64url') + keyId
    const recent = this.#recent.get(name)
    if (recent !== undefined) return recent
    const cached = this.#older.get(name) ?? new CachedScan()
    if (this.#recent.size >= MAX_TEXTS) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(name, cached)
    return cached
  }
}
