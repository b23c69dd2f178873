// An answer that a provider keeps: whose it is and where, without its id and any of its text. And
// what calls change of such answers, also as it travels to the other gateways of a fleet.

import { createHash } from 'node:crypto'
import type { Milliseconds } from '../core/clock.ts'
import { checkValue } from '../core/document.ts'
import type { NanoUsd } from '../core/money.ts'

/** Time for which an answer can be asked for. OpenAI keeps responses as long. */
export const STORED_MS: Milliseconds = 30 * 86_400_000
/** Maximum models of a call whose answer is kept: a row holds them all. */
export const MAXIMUM_STORED_MODELS = 8
/** Maximum answers and items in the changes of one call that travel, and their length as JSON. */
const MAXIMUM_SHARED_IDS = 1024
const MAXIMUM_SHARED_BYTES = 65_536
/** Maximum labels of placeholders in one answer that travels. */
const MAXIMUM_LABELS = 512

/** Highest number of the placeholders of each label, such as `EMAIL`. */
export type HighestNumbers = Readonly<Record<string, number>>

/** An answer that a provider keeps, or an item of one. */
export interface StoredAnswer {
  /** Line of the key whose call made it. */
  readonly keyId: string
  /** Name of the upstream that keeps it. */
  readonly upstream: string
  readonly createdAtMs: Milliseconds
  /** Part of an answer, which later calls can name in their prompt. */
  readonly isItem: boolean
  /** Models of the call that made it, as `ModelRequest.models`. */
  readonly models: readonly string[]
  /** Whether that call asked for JSON. */
  readonly asksForJson: boolean
  /** Whether an entry has its tokens. */
  readonly isCounted: boolean
  /** Estimated tokens of the prompt, for an upstream that counts none. */
  readonly promptTokens: number
  /**
   * What limits keep for the answer until an entry has its tokens, so that one which nobody reads
   * is not free. Absent when the entry of its call has them.
   */
  readonly reserved?: { readonly tokens: number; readonly cost: NanoUsd }
  /** Placeholders of the call that made it. An answer to a later call numbers its own above. */
  readonly numbers: HighestNumbers
  /** As `numbers`, with those in the answer as it was read since. */
  readonly readNumbers: HighestNumbers
}

/** What a call found out about an answer. Numbers only rise. */
interface AnswerUpdate {
  readonly isCounted: boolean
  readonly readNumbers: HighestNumbers
}

/** A change to the stored answers, for `UsageLog.append`. */
export type StoredChange =
  | { readonly type: 'keep'; readonly id: string; readonly answer: StoredAnswer }
  /** Does nothing to an answer that was removed meanwhile. */
  | ({
      readonly type: 'update'
      readonly id: string
      /** The answer, when another gateway of the fleet made it: from now on it is known here. */
      readonly made?: StoredAnswer
    } & AnswerUpdate)
  | { readonly type: 'remove'; readonly id: string }

/** A change as it travels. Hashes are those of `answerHash`, base64url. */
export type SharedChange =
  | { readonly type: 'keep'; readonly hashes: readonly string[]; readonly answer: StoredAnswer }
  | ({ readonly type: 'update'; readonly hashes: readonly string[] } & AnswerUpdate)
  | { readonly type: 'remove'; readonly hashes: readonly string[] }

/** The name of an answer wherever it is stored or travels: no id is kept. */
export const answerHash = (id: string): Buffer => createHash('sha256').update(id).digest()

/** The higher number of each label. */
export function higherNumbers(one: HighestNumbers, other: HighestNumbers): HighestNumbers {
  const numbers = { ...one }
  for (const [label, number] of Object.entries(other)) numbers[label] = Math.max(numbers[label] ?? 0, number)
  return numbers
}

/** Returns an answer with what was found out about it. */
export const updatedAnswer = <Answer extends AnswerUpdate>(
  answer: Answer,
  { isCounted, readNumbers }: AnswerUpdate,
): Answer => ({
  ...answer,
  isCounted: answer.isCounted || isCounted,
  readNumbers: higherNumbers(answer.readNumbers, readNumbers),
})

/**
 * Returns the changes of a call as they travel; null for none, and for more than may travel: those
 * answers are known to one gateway only.
 */
export function shareChanges(changes: readonly StoredChange[]): readonly SharedChange[] | null {
  if (changes.length === 0 || changes.length > MAXIMUM_SHARED_IDS) return null
  const shared: SharedChange[] = []
  let before = ''
  for (const change of changes) {
    const hash = answerHash(change.id).toString('base64url')
    if (change.type === 'keep') {
      // The items of an answer are alike.
      const answer = JSON.stringify(change.answer)
      const last = shared.at(-1)
      if (answer === before && last?.type === 'keep')
        shared[shared.length - 1] = { ...last, hashes: [...last.hashes, hash] }
      else shared.push({ type: 'keep', hashes: [hash], answer: change.answer })
      before = answer
    } else if (change.type === 'remove') shared.push({ type: 'remove', hashes: [hash] })
    else {
      const { isCounted, readNumbers } = change
      shared.push({ type: 'update', hashes: [hash], isCounted, readNumbers })
    }
  }
  return JSON.stringify(shared).length > MAXIMUM_SHARED_BYTES ? null : shared
}

const AMOUNT = { type: 'number', minimum: 0 }
/** Databases take no NUL and no halves of surrogate pairs. */
const NAME = { type: 'string', minLength: 1, maxLength: 1024, pattern: '^[^\\u0000\\ud800-\\udfff]*$' }
const NUMBERS = {
  type: 'object',
  maxProperties: MAXIMUM_LABELS,
  propertyNames: NAME,
  additionalProperties: { type: 'integer', minimum: 0 },
}
const FLAG = { type: 'boolean' }
const ANSWER = {
  type: 'object',
  additionalProperties: false,
  required: [
    ...['keyId', 'upstream', 'createdAtMs', 'isItem', 'models', 'asksForJson', 'isCounted'],
    ...['promptTokens', 'numbers', 'readNumbers'],
  ],
  properties: {
    keyId: NAME,
    upstream: NAME,
    createdAtMs: AMOUNT,
    isItem: FLAG,
    models: { type: 'array', maxItems: MAXIMUM_STORED_MODELS, items: { ...NAME, minLength: 0 } },
    asksForJson: FLAG,
    isCounted: FLAG,
    promptTokens: AMOUNT,
    reserved: {
      type: 'object',
      additionalProperties: false,
      required: ['tokens', 'cost'],
      properties: { tokens: AMOUNT, cost: AMOUNT },
    },
    numbers: NUMBERS,
    readNumbers: NUMBERS,
  },
}
const change = (type: SharedChange['type'], more: Record<string, object> = {}) => ({
  type: 'object',
  required: ['type', 'hashes', ...Object.keys(more)],
  properties: {
    type: { const: type },
    hashes: { type: 'array', minItems: 1, items: { type: 'string', pattern: '^[\\w-]{43}$' } },
    ...more,
  },
})
const CHANGES = {
  type: 'array',
  maxItems: MAXIMUM_SHARED_IDS,
  items: {
    oneOf: [
      change('keep', { answer: ANSWER }),
      change('update', { isCounted: FLAG, readNumbers: NUMBERS }),
      change('remove'),
    ],
  },
}

/** Reads changes that have travelled; none from anything else, which is no reason to stop a log. */
export function readSharedChanges(value: unknown): readonly SharedChange[] {
  if (value === undefined || checkValue(value, CHANGES).length > 0) return []
  const changes = value as readonly SharedChange[]
  const ids = changes.reduce((sum, { hashes }) => sum + hashes.length, 0)
  return ids > MAXIMUM_SHARED_IDS ? [] : changes
}

/** Reads an answer that has travelled; null for anything else. */
export const readStoredAnswer = (value: unknown): StoredAnswer | null =>
  checkValue(value, ANSWER).length > 0 ? null : (value as StoredAnswer)
