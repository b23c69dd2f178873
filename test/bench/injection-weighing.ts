// Weighs each text in training by its source and by the table that learns it.

import { type Material, USERS_OWN } from './injection-corpus.ts'

/** Rows beyond this number reduce the weight of a source, so that no single one dominates. */
const SOURCE_ROWS = { messages: 2500, documents: 1500 }
const MAX_SOURCE_WEIGHT = 2
/** Weight of a demand on the answer as an attack in a message. */
const DEMAND_IN_MESSAGE = 0.1
/** A bare demand on the answer is hard to tell from what documents ask of people. */
const DEMAND_IN_DOCUMENT = 0.3
/** Commands to people are learned with emphasis, because only they separate the two labels. */
const ORDERS_WEIGHT = { messages: 3, documents: 5 }
/** Attacks of users also occur in documents, but rarely alone. */
const DIRECT_IN_DOCUMENT = 0.8
/** The same for instructions to an assistant in messages, since most of them are plain about it. */
const ERRAND_IN_MESSAGE = 0.1
/** The table for documents exists for instructions to an assistant. */
const ERRAND_IN_DOCUMENT = 6
/** Weight of everyday requests as innocent text in documents. */
const REQUEST_IN_DOCUMENT = 0.3
/** Shorter innocent texts are requests rather than documents, UTF-16 code units. */
const SHORT_TEXT = 250
/**
 * Innocent requests with an attack's words are learned with emphasis, because only they separate
 * the two labels.
 */
const HARMLESS_IN_MESSAGE = 3
/** Typing errors occur in messages. */
const MISTYPED_IN_MESSAGE = 1.5
/** The purpose of a table; see StoredModel. */
export type Purpose = 'messages' | 'documents'

/** Whether a table learns from a source at all. */
export function concerns(purpose: Purpose, source: string): boolean {
  return purpose === 'messages' || !source.startsWith(USERS_OWN)
}

/**
 * A user may ask for what a document may not demand, and a document may quote requests of users.
 */
function purposeWeight(purpose: Purpose, { source, label, text }: Material): number {
  const demand = /own_response|bipia_attack|planted_response/.test(source)
  const orders = label === 0 && /order/.test(source)
  if (orders) return ORDERS_WEIGHT[purpose]
  if (purpose === 'messages') {
    if (/errand/.test(source)) return ERRAND_IN_MESSAGE
    if (/mistyped/.test(source)) return MISTYPED_IN_MESSAGE
    if (/own_harmless$|own_steering$/.test(source)) return HARMLESS_IN_MESSAGE
    return demand ? DEMAND_IN_MESSAGE : 1
  }
  // Steering a conversation does not occur in documents.
  if (source === 'own_steering') return 0
  if (demand) return DEMAND_IN_DOCUMENT
  if (label === 1 && /errand/.test(source)) return ERRAND_IN_DOCUMENT
  if (label === 1 && !/errand|indirect|doc|planted/.test(source)) return DIRECT_IN_DOCUMENT
  return label === 0 && text.length < SHORT_TEXT ? REQUEST_IN_DOCUMENT : 1
}

/** Returns the weight of each text for a table. */
export function weigh(texts: readonly Material[], purpose: Purpose): (text: Material) => number {
  const counts = new Map<string, number>()
  for (const { source } of texts) counts.set(source, (counts.get(source) ?? 0) + 1)
  return (text) => {
    const count = counts.get(text.source) as number
    return Math.min(MAX_SOURCE_WEIGHT, Math.sqrt(SOURCE_ROWS[purpose] / count)) * purposeWeight(purpose, text)
  }
}
