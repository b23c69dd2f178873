// Makes the signed receipts of calls from the log and its checkpoints.

import { receiptObject } from '../audit/receipt.ts'
import type { StoredRecord } from '../audit/verify.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallKey } from '../core/key-terms.ts'
import type { ReceiptSource } from '../pipeline/receipt-source.ts'
import type { Checkpoints } from '../store/log/checkpoints.ts'
import type { SealedCall, SealedLog } from '../store/verification/sealed-log.ts'
import type { Checkpointing } from './checkpointing.ts'
import type { HubLink } from './hub-link.ts'

interface ReceiptParts {
  readonly sealed: Pick<SealedLog, 'findCall'>
  readonly checkpoints: Pick<Checkpoints, 'inclusionIn'>
  readonly signatures: Pick<Checkpointing, 'covering' | 'publicKey'>
  readonly hub: Pick<HubLink, 'receipt'> | null
}

export class SignedReceipts implements ReceiptSource {
  readonly #parts: ReceiptParts

  constructor(parts: ReceiptParts) {
    this.#parts = parts
  }

  find(id: string): SealedCall | null {
    return this.#parts.sealed.findCall(id)
  }

  async prove(record: StoredRecord): Promise<JsonObject | null> {
    const { checkpoints, signatures } = this.#parts
    const checkpoint = await signatures.covering(record.seq)
    const proof = checkpoints.inclusionIn(checkpoint, record.seq)
    return proof === null ? null : receiptObject(record, proof, checkpoint, signatures.publicKey)
  }

  async elsewhere(id: string, key: Pick<CallKey, 'id' | 'line'>): Promise<JsonObject | null> {
    return this.#parts.hub?.receipt(id, key) ?? null
  }
}
