// What one durable write costs on the disk of a log, without a gateway: the measure for the time that
// durability adds to a call.

import { closeSync, constants, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './report.ts'

/** Size of the journal's frame for a call with a prompt of 1 KB and the stand-in's answer. */
const FRAME_BYTES = 4096
const FILE_BYTES = 4 * 1024 ** 2

/**
 * Writes frames to a file of zeros, each synced by O_DSYNC as in the journal, for this long.
 * @returns the median time of a write, in milliseconds
 * @throws the system's error
 */
export function syncedWrite(folder: string, durationMs: number): number {
  const file = join(folder, 'synced-write')
  const zeros = openSync(file, 'w')
  writeSync(zeros, Buffer.alloc(FILE_BYTES))
  fsyncSync(zeros)
  closeSync(zeros)
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_DSYNC)
  const frame = Buffer.alloc(FRAME_BYTES, 1)
  const times: number[] = []
  const endMs = performance.now() + durationMs
  for (let at = 0, now = performance.now(); now < endMs; at = (at + FRAME_BYTES) % FILE_BYTES) {
    writeSync(descriptor, frame, 0, FRAME_BYTES, at)
    const then = performance.now()
    times.push(then - now)
    now = then
  }
  closeSync(descriptor)
  rmSync(file)
  return median(times)
}
