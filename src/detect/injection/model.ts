// Defines the stored model of weights.ts, checks it and decodes it for use.

import { CELLS, FEATURE_FORM } from './features.ts'

interface WeightTable<Cells> {
  /** Value of one step of a weight. */
  readonly scale: number
  /** Margin of a text without known features. */
  readonly bias: number
  /** CELLS cells of 16 bits: a signed weight above the check of its feature. Weight 0 is empty. */
  readonly cells: Cells
}

interface WeightModel<Cells> {
  /** Feature form and the beginning of the SHA-256 of the cells. */
  readonly version: string
  /** FEATURE_FORM of the training. */
  readonly featureForm: number
  /** Score from which a text counts as an attack, 0..1. */
  readonly threshold: number
  /** For what users write, where requests are normal. Weighs whole texts. */
  readonly messages: WeightTable<Cells>
  /** For documents and tool results, where an order is out of place. Weighs windows. */
  readonly documents: WeightTable<Cells>
}

/** As the training writes it, cells in base64, low byte first. */
export type StoredModel = WeightModel<string>
export type StoredTable = WeightTable<string>

export type DecodedModel = WeightModel<Int16Array>
export type DecodedTable = WeightTable<Int16Array>

/**
 * Decodes and checks a stored model.
 * @throws Error when it has another feature form or is damaged: a gateway must not start with a
 * detector that guesses
 */
export function decodeModel(stored: StoredModel): DecodedModel {
  const { featureForm, threshold } = stored
  if (featureForm !== FEATURE_FORM) {
    throw new Error(
      `injection weights have feature form ${featureForm}; this version reads ${FEATURE_FORM}: train them again`,
    )
  }
  if (!(threshold > 0 && threshold < 1))
    throw new Error('injection weights: threshold is out of range; train them again')
  return { ...stored, messages: decodeTable(stored.messages), documents: decodeTable(stored.documents) }
}

function decodeTable(stored: StoredTable): DecodedTable {
  const bytes = Buffer.from(stored.cells, 'base64')
  const cells = new Int16Array(CELLS)
  if (bytes.length !== cells.byteLength) {
    throw new Error(
      `injection weights are damaged: a table has ${bytes.length} bytes instead of ${cells.byteLength}`,
    )
  }
  if (!(stored.scale > 0 && Number.isFinite(stored.bias)))
    throw new Error('injection weights: scale or bias of a table is out of range; train them again')
  for (let cell = 0; cell < CELLS; cell++) cells[cell] = bytes.readInt16LE(2 * cell)
  return { ...stored, cells }
}
