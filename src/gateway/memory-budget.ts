// Sizes the memory budgets of prompts and answers, so that no number of large ones exhausts the
// process.

import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { Budget } from '../core/budget.ts'

/**
 * Share of the memory (of a container's limit, where there is one) for prompts and answers of calls
 * in flight.
 */
const BODY_SHARE = 1 / 5
/**
 * Share of the V8 heap that texts under scan may occupy. Parsing, scanning and rewriting take up to
 * 25 times the bytes of a body, as for 200,000 messages with an address in each.
 */
const SEARCH_SHARE = 1 / 32

/** The memory that the process may use, bytes. */
function memoryBytes(): number {
  // Without a limit constrainedMemory() is 0 or larger than the machine's memory.
  return Math.min(totalmem(), process.constrainedMemory() || totalmem())
}

/**
 * Budget in bytes for prompts and answers, from their first byte to their entry. One prompt always
 * fits.
 * @param maxBodyBytes limits.bodyBytes
 */
export const bodyBudget = (maxBodyBytes: number): Budget =>
  new Budget(Math.max(maxBodyBytes, memoryBytes() * BODY_SHARE))

/** Budget in bytes for long prompts and answers while they are scanned. */
export const searchBudget = (): Budget => new Budget(getHeapStatistics().heap_size_limit * SEARCH_SHARE)
