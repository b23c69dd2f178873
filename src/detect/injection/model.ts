// The learned tables and their header, as stored in weights.ts, checked and made ready to scan with.

import { BUCKETS, FEATURE_FORM } from './features.ts'

/** BUCKETS weights as signed bytes, and where its scores have their middle. */
interface Table<Weights> {
  /** Value of one step of a weight. */
  readonly scale: number
  /** Value of a whole text that scores 0.5. */
  readonly wholeCentre: number
  /** Value of the best window that scores 0.5; higher, as the best of many is compared with it. */
  readonly windowCentre: number
  readonly weights: Weights
}

interface Model<Weights> {
  /** Names the weights: feature form, and the start of their SHA-256. */
  readonly version: string
  /** FEATURE_FORM the weights were learned with. */
  readonly featureForm: number
  /** Score from which a text counts as an attack, 0..1. */
  readonly threshold: number
  /** Steepness of the curve from value to score. */
  readonly slope: number
  /** For what users write, where requests are everyday matters. */
  readonly messages: Table<Weights>
  /** For documents and tool results, where a demand on the reader is out of place. */
  readonly documents: Table<Weights>
}

/** What the training script writes; weights in base64. */
export type StoredModel = Model<string>
export type StoredTable = Table<string>

/** Ready for use. */
export type DecodedModel = Model<Int8Array>
export type DecodedTable = Table<Int8Array>

/**
 * Decodes and checks a stored model.
 * @throws Error when it belongs to other code or is damaged: a gateway must not start with a detector that guesses
 */
export function decodeModel(stored: StoredModel): DecodedModel {
  const { featureForm, threshold, slope } = stored
  if (featureForm !== FEATURE_FORM) {
    throw new Error(`injection weights are of feature form ${featureForm}, this code reads ${FEATURE_FORM}`)
  }
  if (!(threshold > 0 && threshold < 1 && slope > 0))
    throw new Error('injection weights: header out of range')
  return { ...stored, messages: decodeTable(stored.messages), documents: decodeTable(stored.documents) }
}

function decodeTable(stored: StoredTable): DecodedTable {
  const bytes = Buffer.from(stored.weights, 'base64')
  if (bytes.length !== BUCKETS) {
    throw new Error(`injection weights are damaged: ${bytes.length} bytes instead of ${BUCKETS}`)
  }
  if (!(stored.scale > 0 && Number.isFinite(stored.wholeCentre) && Number.isFinite(stored.windowCentre))) {
    throw new Error('injection weights: table header out of range')
  }
  return { ...stored, weights: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) }
}
