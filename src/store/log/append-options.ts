// What a call commits with its entry, in one transaction.

import type { Content } from '../../audit/content.ts'
import type { StoredChange } from '../../keys/stored-answer.ts'
import type { CounterChange } from '../limits/counter-changes.ts'
import type { StoredUser } from './user-rows.ts'

export interface AppendOptions {
  /** The captured exchange: JSON of an object with `request` and `response`. */
  readonly content?: Content
  /** Token counts of the call. */
  readonly counters?: readonly CounterChange[]
  /** Changes to the answers that providers keep. */
  readonly stored?: readonly StoredChange[]
  /** The end user of the call; null without one. */
  readonly user?: StoredUser | null
}
