// Where receipts of calls come from, as the pipeline and the management API need it.

import type { StoredRecord } from '../audit/verify.ts'
import type { JsonObject } from '../core/json.ts'
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
}
