// The usage API's view of a sealed request: a projection that computes nothing new.

import { MAXIMUM_NANO_USD, type NanoUsd, toUsd } from '../core/money.ts'
import type { SealedRequest } from './entry.ts'
import { type MadeField, SHOWN_FIELDS, type UsageView } from './entry-fields.ts'
import { stoppedBy } from './security.ts'

/** What a cost of an entry of version 1 counts, in 10⁻⁹. */
const FIRST_COST_UNIT = 1000

/** The sealed cost in 10⁻⁹ USD; null when it is not known. */
export function costOfEntry({ v, cost }: Pick<SealedRequest, 'v' | 'cost'>): NanoUsd | null {
  if (v !== 1 || cost === null) return cost
  const amount = cost * FIRST_COST_UNIT
  return amount <= MAXIMUM_NANO_USD ? amount : null
}

/** How the fields that differ from the entry are made. */
const MADE: {
  readonly [Name in MadeField]: (sealed: SealedRequest, user: string | null) => UsageView[Name]
} = {
  hash: ({ hash }) => hash,
  seq: ({ seq }) => seq,
  prev_hash: ({ prev }) => prev,
  labels: ({ labels }) => ({ ...labels }),
  cost: (sealed) => {
    const cost = costOfEntry(sealed)
    return cost === null ? null : toUsd(cost)
  },
  cost_source: (sealed) => sealed.cost_source ?? (costOfEntry(sealed) === null ? null : 'upstream'),
  stopped: stoppedBy,
  // A rule that fired in both directions is one.
  rules: ({ rules }) => [
    ...new Map(rules.map(({ id, name, action }) => [id, { id, name, action }])).values(),
  ],
  content_hash: ({ content_hash }) => content_hash,
  user: (_sealed, user) => user,
  api: ({ api = 'chat' }) => api,
}

/** Returns the view of a call. @param user as stored apart from the entry */
export function toUsageView(sealed: SealedRequest, user: string | null = null): UsageView {
  const view: Record<string, unknown> = {}
  for (const [name] of SHOWN_FIELDS) {
    const value = Object.hasOwn(MADE, name)
      ? MADE[name as MadeField](sealed, user)
      : sealed[name as keyof SealedRequest]
    if (value !== undefined) view[name] = value
  }
  return view as UsageView
}
