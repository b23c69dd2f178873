// Where receipts of calls come from, as the pipeline and the management API need it.

import type { StoredRecord } from '../audit/verify.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallKey } from '../core/key-terms.ts'
import type { SealedCall } from '../store/verification/sealed-log.ts'

/** Finds calls and proves that they are in the log, with a bounded number of reads. */
export interface ReceiptSource {
  /** The call with this `x-request-id`; null without one. */
  find(id: string): SealedCall | null
  /**
   * Returns the signed receipt of an entry; null when its proof needs entries that were pruned.
   * @throws GatewayError `audit_unavailable` (rejects) when no checkpoint covers it yet
   */
  prove(record: StoredRecord): Promise<JsonObject | null>
  /**
   * Asks the hub for the receipt of a call of a key at another gateway; null without one.
   * @throws GatewayError (rejects) `audit_unavailable` when it or a checkpoint over it is not at
   * the hub yet, `conflict` when there will be no such checkpoint, `fleet_unavailable` when no hub
   * answers
   */
  elsewhere(id: string, key: Pick<CallKey, 'id' | 'line'>): Promise<JsonObject | null>
}
