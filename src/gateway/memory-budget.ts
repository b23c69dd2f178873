// What prompts and answers may take of the memory that the process has, so that no number of large ones takes all of it.

import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { Budget } from '../core/budget.ts'
import type { Config } from '../core/config.ts'
import { loadInjectionModel } from '../detect/injection/score.ts'
import { kindSet } from '../detect/pii/kinds.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { ScanCache } from '../pipeline/prompt/scan-cache.ts'

/** Of all memory (a container's, where it has a limit), the part that prompts and answers of calls under way may take. */
const BODIES = 1 / 5
/**
 * Of V8's heap, the part that texts may be long together of what is being searched: read, walked and rewritten, a body
 * takes up to 25 times its bytes, as one of 200,000 messages with an address in each does.
 */
const SEARCHED = 1 / 32

/** For prompts and answers from their first byte to their entry, bytes. There is room for one prompt in any case. */
export function roomForBodies({ limits }: Pick<Config, 'limits'>): Budget {
  // Without a limit this is none, or beyond all memory.
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || totalmem())
  return new Budget(Math.max(limits.bodyBytes, memoryBytes * BODIES))
}

/** For long prompts and answers while they are searched, bytes. */
export const roomForSearches = (): Budget => new Budget(getHeapStatistics().heap_size_limit * SEARCHED)

export function openScanning(
  config: Config,
): Pick<Pipeline, 'injection' | 'kinds' | 'binaryParts' | 'recall' | 'searches'> {
  const { kinds, binaryParts } = config.pii
  return {
    injection: loadInjectionModel(),
    kinds: kindSet(kinds),
    binaryParts,
    recall: new ScanCache(),
    searches: roomForSearches(),
  }
}
