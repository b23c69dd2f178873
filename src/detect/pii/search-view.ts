// The text in which values are searched: its view with the labels of tables. Maps offsets back.

import type { Finding } from '../../core/finding.ts'
import { TableLabels } from './table-labels.ts'
import { TextView } from './text-view.ts'

export class SearchView {
  readonly #view = new TextView()
  readonly #tables = new TableLabels()

  /** Takes a chunk; returns what is decided. */
  push(chunk: string): string {
    return this.#tables.push(this.#view.push(chunk))
  }

  /** Ends the text; returns what is left of it. */
  finish(): string {
    return this.#tables.push(this.#view.finish()) + this.#tables.finish()
  }

  /** The offset in the text of the character at an offset in the view. */
  startOf(offset: number): number {
    return this.#view.map.startOf(this.#tables.map.startOf(offset))
  }

  /** The findings with their offsets in the text. */
  mapped(findings: readonly Finding[]): Finding[] {
    return findings.map(({ kind, start, end }) => ({
      kind,
      start: this.startOf(start),
      end: this.#view.map.endOf(this.#tables.map.endOf(end)),
    }))
  }

  /** Forgets what lies before an offset in the view. */
  release(offset: number): void {
    this.#view.map.release(this.#tables.map.startOf(offset))
    this.#tables.map.release(offset)
  }
}
