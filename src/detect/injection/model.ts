// The learned table and its header, as stored in weights.ts, checked and made ready to scan with.

import { BUCKETS, FEATURE_FORM } from './features.ts'

/** What the training script writes. */
export interface StoredModel {
  /** Names the weights: form, and the start of their SHA-256. */
  readonly version: string
  /** FEATURE_FORM the weights were learned with. */
  readonly featureForm: number
  /** Score from which a text counts as an attack, 0..1. */
  readonly threshold: number
  /** Value of one step of a weight. */
  readonly scale: number
  /** Margin of a whole text that scores 0.5. */
  readonly wholeCentre: number
  /** Margin of a window that scores 0.5; higher, as the best of many windows is compared with it. */
  readonly windowCentre: number
  /** Steepness of the curve from margin to score. */
  readonly slope: number
  /** BUCKETS signed bytes in base64. */
  readonly weights: string
}

/** The table ready for use. */
export interface DecodedModel extends Omit<StoredModel, 'weights'> {
  readonly weights: Int8Array
}

/**
 * Decodes and checks a stored model.
 * @throws Error when it belongs to other code or is damaged: a gateway must not start with a detector that guesses
 */
export function decodeModel(stored: StoredModel): DecodedModel {
  if (stored.featureForm !== FEATURE_FORM) {
    throw new Error(
      `injection weights are of feature form ${stored.featureForm}, this code reads ${FEATURE_FORM}`,
    )
  }
  const bytes = Buffer.from(stored.weights, 'base64')
  if (bytes.length !== BUCKETS) {
    throw new Error(`injection weights are damaged: ${bytes.length} bytes instead of ${BUCKETS}`)
  }
  const { threshold, scale, slope } = stored
  if (!(threshold > 0 && threshold < 1 && scale > 0 && slope > 0)) {
    throw new Error('injection weights are damaged: header out of range')
  }
  return { ...stored, weights: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) }
}
