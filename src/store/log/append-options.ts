// What a call commits with its entry, in one transaction.

import type { Content } from '../../audit/content.ts'
import type { CounterChange } from '../counters.ts'
import type { StoredChange } from '../stored-answers.ts'

export interface AppendOptions {
  /** The captured exchange: JSON of an object with `request` and `response`. */
  readonly content?: Content
  /** Token counts of the call. */
  readonly counters?: readonly CounterChange[]
  /** Changes to the answers that providers keep. */
  readonly stored?: readonly StoredChange[]
}
