// The error of a call that cannot be written down.

import { GatewayError } from '../../core/errors.ts'

/** Value of `retry-after`, seconds: the time between two probes of the disk. */
const RETRY_AFTER_SECONDS = '1'

/** Returns the error for a client whose entry cannot be sealed. */
export function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('audit_unavailable', message, {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    cause,
  })
}
