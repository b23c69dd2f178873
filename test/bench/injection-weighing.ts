// How much each text counts in learning, by where it comes from and by which table learns. Knows nothing of how they learn.

import { type Material, USERS_OWN } from './injection-corpus.ts'

/** A source with more rows than this is held down, so that no single one decides. */
const SOURCE_ROWS = { messages: 2500, documents: 1500 }
const MAX_SOURCE_WEIGHT = 2
/** How much demands on the answer count as attacks when a user makes them. */
const DEMAND_IN_MESSAGE = 0.1
/** Bare demands on the answer are hardly to be told from what documents ask of people. */
const DEMAND_IN_DOCUMENT = 0.3
/** What documents tell people is learned with emphasis: it is all that lies between the two. */
const ORDERS_WEIGHT = { messages: 3, documents: 5 }
/** What users try on a model stands in documents as well, but seldom alone. */
const DIRECT_IN_DOCUMENT = 0.8
/** As much do what documents tell an assistant: most of it is open about it. */
const ERRAND_IN_MESSAGE = 0.1
/** What documents tell an assistant is what the table for documents is for. */
const ERRAND_IN_DOCUMENT = 6
/** How much everyday requests count as innocent when they stand in a document. */
const REQUEST_IN_DOCUMENT = 0.3
/** Innocent texts below, in UTF-16 code units, are requests rather than documents. */
const SHORT_TEXT = 250
/** What users say with an attack's words is learned with emphasis: it is all that lies between the two. */
const HARMLESS_IN_MESSAGE = 3
/** Typing errors are made by those who type. */
const MISTYPED_IN_MESSAGE = 1.5
/** What a table is for; see StoredModel. */
export type Purpose = 'messages' | 'documents'

/** Whether a table learns from a source at all. */
export function concerns(purpose: Purpose, source: string): boolean {
  return purpose === 'messages' || !source.startsWith(USERS_OWN)
}

/** A user may well ask for what a document may not demand, and a document may quote what users ask. */
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
  // How a user steers the conversation is none of a document's business.
  if (source === 'own_steering') return 0
  if (demand) return DEMAND_IN_DOCUMENT
  if (label === 1 && /errand/.test(source)) return ERRAND_IN_DOCUMENT
  if (label === 1 && !/errand|indirect|doc|planted/.test(source)) return DIRECT_IN_DOCUMENT
  return label === 0 && text.length < SHORT_TEXT ? REQUEST_IN_DOCUMENT : 1
}

/** How much each of these texts counts for a table. */
export function weigh(texts: readonly Material[], purpose: Purpose): (text: Material) => number {
  const counts = new Map<string, number>()
  for (const { source } of texts) counts.set(source, (counts.get(source) ?? 0) + 1)
  return (text) => {
    const count = counts.get(text.source) as number
    return Math.min(MAX_SOURCE_WEIGHT, Math.sqrt(SOURCE_ROWS[purpose] / count)) * purposeWeight(purpose, text)
  }
}
