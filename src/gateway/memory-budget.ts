// Sizes the memory budgets of prompts and answers, so that no number of large ones exhausts the
// process.

import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { Budget } from '../core/budget.ts'
import { ScanMemory } from '../pipeline/prompt/memory-turn.ts'

/**
 * Share of the memory (of a container's limit, where there is one) for prompts and answers of calls
 * in flight.
 */
const BODY_SHARE = 1 / 16
/** Share of the memory for the largest body under scan and the program itself. */
const SCAN_SHARE = 3 / 4
/** Share of the memory in use from which on garbage is collected before a long body is scanned. */
const FULL_SHARE = 2 / 5
/** Weight of bodies between two measures of the memory in use, which read a file of the system. */
const MEASURED_WEIGHT = 2 * 1024 * 1024
/** Memory of the program itself, bytes. */
const OWN_BYTES = 200 * 1024 * 1024
/** Every process can scan bodies of a megabyte. */
const MINIMUM_SCAN_BYTES = 16 * 1024 * 1024
/** Heap of the program itself, bytes: its code, rules and caches. */
const OWN_HEAP_BYTES = 24 * 1024 * 1024
/** V8's young generation is three semi-spaces. */
const SEMI_SPACES = 3
/** Semi-space of V8 in MiB without the option in src/main.ts. */
const DEFAULT_SEMI_SPACE = 64
const SEMI_SPACE_OPTION = /--max[-_]semi[-_]space[-_]size=(\d+)/
/**
 * Share of the rest of the V8 heap that texts under scan may have as their weight. Parsing,
 * scanning and rewriting take up to 25 times the weight of a body, as for 200,000 messages with an
 * address in each.
 */
const SEARCH_SHARE = 1 / 32
/**
 * Largest budget of texts under scan: more at a time are not faster, and V8 stops the process for
 * half a second to collect the garbage of a gigabyte.
 */
const MAXIMUM_SEARCH_WEIGHT = 16 * 1024 * 1024

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

/**
 * Memory for long prompts and answers while they are scanned, in units of `scanWeight`: bytes, or
 * more when a body consists of many small values.
 */
export function scanMemory(): ScanMemory {
  const share = Math.max(0, oldGenerationBytes() - OWN_HEAP_BYTES) * SEARCH_SHARE
  const memory = memoryBytes()
  const bodyBytes = Math.max(MINIMUM_SCAN_BYTES, memory * SCAN_SHARE - OWN_BYTES)
  return new ScanMemory(Math.min(share, MAXIMUM_SEARCH_WEIGHT), bodyBytes, makingRoom(memory * FULL_SHARE))
}

/**
 * Returns a function that collects garbage when the process uses more bytes. V8 knows the limit of
 * its heap only: dropped buffers of large bodies would end a container first.
 */
function makingRoom(fullBytes: number): (weight: number) => void {
  let unmeasured = 0
  return (weight) => {
    unmeasured += weight
    if (unmeasured < MEASURED_WEIGHT) return
    unmeasured = 0
    if (process.memoryUsage.rss() > fullBytes) globalThis.gc?.()
  }
}

/** Largest heap for long-lived objects. V8's limit adds the young generation. */
function oldGenerationBytes(): number {
  const options = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  const semiSpace = Number(SEMI_SPACE_OPTION.exec(options)?.[1] ?? DEFAULT_SEMI_SPACE)
  return getHeapStatistics().heap_size_limit - SEMI_SPACES * semiSpace * 1024 * 1024
}
