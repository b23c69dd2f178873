// What the form of a key's terms holds, and the bodies that it sends.

import type { ApiKey } from './api-key.ts'
import { fromField, toField } from './dates.ts'

export interface LabelDraft {
  readonly name: string
  readonly value: string
}

/** The texts of the fields; empty for a term that the key does not have. */
export interface KeyDraft {
  readonly models: string
  readonly expires: string
  readonly owner: string
  readonly labels: readonly LabelDraft[]
  readonly capture: string
  readonly parallel: string
}

type Terms = Pick<ApiKey, 'models' | 'expires_at' | 'owner' | 'labels' | 'capture' | 'max_parallel'>

export const NO_KEY_TERMS: KeyDraft = {
  ...{ models: '', expires: '', owner: '', capture: '', parallel: '' },
  labels: [],
}

/** How the form writes a list that allows no model: an empty text allows all. */
const NO_MODEL = '!*'

/** @param zone of the time at which the key ends */
export const draftOf = (terms: Terms, zone: string): KeyDraft => ({
  models: terms.models === null ? '' : terms.models.length === 0 ? NO_MODEL : terms.models.join(', '),
  expires: toField(terms.expires_at ?? undefined, zone),
  owner: terms.owner ?? '',
  labels: Object.entries(terms.labels).map(([name, value]) => ({ name, value })),
  capture: terms.capture ?? '',
  parallel: terms.max_parallel === null ? '' : String(terms.max_parallel),
})

/** Returns the terms of `POST /api/v1/keys`, or of `PATCH` as they are after it. */
function termsOf(draft: KeyDraft, zone: string) {
  const models = draft.models.split(/[\s,]+/).filter((glob) => glob !== '')
  const labels = draft.labels.filter(({ name, value }) => name.trim() !== '' || value.trim() !== '')
  return {
    models: models.length === 0 ? null : models,
    expires_at: fromField(draft.expires, zone) || null,
    owner: draft.owner.trim() || null,
    labels: Object.fromEntries(labels.map(({ name, value }) => [name.trim(), value.trim()])),
    capture: draft.capture || null,
    max_parallel: draft.parallel.trim() === '' ? null : Number(draft.parallel),
  }
}

/** The body that creates a key: only the terms that it has. */
export function newKeyBody(name: string, draft: KeyDraft, zone: string): object {
  const terms = Object.entries(termsOf(draft, zone)).filter(([, value]) => value !== null)
  return { name, ...Object.fromEntries(terms) }
}

/** The body that changes a key: the terms whose fields were edited, null for one that is gone. */
export function changedTerms(before: KeyDraft, after: KeyDraft, zone: string): object {
  const [old, now] = [before, after].map((draft) => Object.entries(termsOf(draft, zone)))
  return Object.fromEntries(
    now!.filter(([, value], index) => JSON.stringify(value) !== JSON.stringify(old![index]![1])),
  )
}

/** The labels of keys: the values of each name, for suggestions. */
export function labelsIn(keys: readonly Pick<ApiKey, 'labels'>[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  for (const { labels } of keys)
    for (const [name, value] of Object.entries(labels))
      found.set(name, (found.get(name) ?? new Set()).add(value))
  return new Map([...found].map(([name, values]) => [name, [...values].sort()]))
}
