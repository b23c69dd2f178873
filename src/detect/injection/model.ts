// Defines the stored model of weights.ts, checks it and decodes it for use.

import { BUCKETS, FEATURE_FORM } from './features.ts'

/** BUCKETS weights as signed bytes, and the values that score 0.5. */
interface WeightTable<Weights> {
  /** Value of one step of a weight. */
  readonly scale: number
  /** Value of a whole text that scores 0.5. */
  readonly wholeCentre: number
  /**
   * Value of a best window that scores 0.5. Higher than wholeCentre, because it is the best of
   * many.
   */
  readonly windowCentre: number
  readonly weights: Weights
}

interface WeightModel<Weights> {
  /** Feature form and the beginning of the SHA-256 of the weights. */
  readonly version: string
  /** FEATURE_FORM of the training. */
  readonly featureForm: number
  /** Score from which a text counts as an attack, 0..1. */
  readonly threshold: number
  /** Slope of the curve from value to score. */
  readonly slope: number
  /** For what users write, where requests are normal. */
  readonly messages: WeightTable<Weights>
  /** For documents and tool results, where a demand on the reader is out of place. */
  readonly documents: WeightTable<Weights>
}

/** As the training script writes it, weights in base64. */
export type StoredModel = WeightModel<string>
export type StoredTable = WeightTable<string>

export type DecodedModel = WeightModel<Int8Array>
export type DecodedTable = WeightTable<Int8Array>

/**
 * Decodes and checks a stored model.
 * @throws Error when it has another feature form or is damaged: a gateway must not start with a
 * detector that guesses
 */
export function decodeModel(stored: StoredModel): DecodedModel {
  const { featureForm, threshold, slope } = stored
  if (featureForm !== FEATURE_FORM) {
    throw new Error(
      `injection weights have feature form ${featureForm}; this version reads ${FEATURE_FORM}: train them again`,
    )
  }
  if (!(threshold > 0 && threshold < 1 && slope > 0))
    throw new Error('injection weights: threshold or slope is out of range; train them again')
  return { ...stored, messages: decodeTable(stored.messages), documents: decodeTable(stored.documents) }
}

function decodeTable(stored: StoredTable): DecodedTable {
  const bytes = Buffer.from(stored.weights, 'base64')
  if (bytes.length !== BUCKETS) {
    throw new Error(`injection weights are damaged: a table has ${bytes.length} bytes instead of ${BUCKETS}`)
  }
  if (!(stored.scale > 0 && Number.isFinite(stored.wholeCentre) && Number.isFinite(stored.windowCentre))) {
    throw new Error('injection weights: scale or centre of a table is out of range; train them again')
  }
  return { ...stored, weights: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) }
}
