// Copies of a data folder as a killed process leaves it, and a child that keeps rows out of the
// database.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { readPosition } from '../../../src/store/environment/apply.ts'
import {
  type Environment,
  type EnvironmentOptions,
  openEnvironment,
} from '../../../src/store/environment/journaled.ts'
import { openLmdb } from '../../../src/store/environment/lmdb.ts'
import { type JournalPosition, listSegments, readFrames } from '../../../src/store/journal/journal-reader.ts'
import { readHeader } from '../../../src/store/journal/segment-file.ts'
import { inTime } from '../../process/until.ts'
import { altered } from '../fixture.ts'

const HOLD = fileURLToPath(new URL('../processes/hold.ts', import.meta.url))

/** Makes an empty folder with a short path, outside the test runner's folders. */
export function makeFolder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'sidegate-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Copies a folder as it is; what a process has in memory is not in it, like after a kill. */
export function copyFolder(t: Test, path: string): string {
  const copy = makeFolder(t)
  cpSync(path, copy, { recursive: true, filter: (file) => !statSync(file).isSocket() })
  return copy
}

/** Takes the write lock of the database in another process. Returns what ends that process. */
export async function holdWriteLock(t: Test, path: string): Promise<() => Promise<void>> {
  const child: ChildProcess = spawn(process.execPath, [HOLD, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '' },
  })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  if (child.stdout !== null) await inTime('the lock is taken', once(child.stdout, 'data'))
  return async () => {
    child.kill('SIGKILL')
    await inTime('the holder of the lock ends', ended)
  }
}

/** Closes the environment at the end of the test, unless that was done. */
export function openFor(t: Test, path: string, options: EnvironmentOptions = {}): Environment {
  const environment = openEnvironment(path, options)
  let isClosed = false
  const close = async () => {
    if (!isClosed) await environment.close()
    isClosed = true
  }
  t.teardown(close)
  return altered(environment, { close })
}

export interface StoredFrame {
  readonly file: string
  readonly from: number
  readonly to: number
}

/** The frames of a folder that its database does not have. */
export async function waitingFrames(path: string): Promise<StoredFrame[]> {
  const files = new Map(usedSegments(path).map(({ ordinal, file }) => [ordinal, file]))
  const lmdb = openLmdb(path)
  const frames: StoredFrame[] = []
  readFrames(path, readPosition(lmdb.tables), ({ bytes }, { ordinal, offset }: JournalPosition) => {
    frames.push({ file: files.get(ordinal) ?? '', from: offset - bytes, to: offset })
  })
  await lmdb.close()
  return frames
}

/** The segments with a header, in order. */
export function usedSegments(path: string): { readonly ordinal: number; readonly file: string }[] {
  return listSegments(path)
    .map((name) => ({ file: join(path, name), ordinal: readHeader(join(path, name))?.ordinal ?? 0 }))
    .filter(({ ordinal }) => ordinal > 0)
    .sort((a, b) => a.ordinal - b.ordinal)
}

/** The bytes of each segment by the name of its file. */
export const segmentBytes = (path: string): Map<string, Buffer> =>
  new Map(
    listSegments(path)
      .sort()
      .map((name) => [name, readFileSync(join(path, name))]),
  )

/** Changes one bit. Returns what changes it back. */
export function flipBit(file: string, bit: number): () => void {
  const flip = () => {
    const bytes = readFileSync(file)
    const at = Math.floor(bit / 8)
    bytes[at] = (bytes[at] as number) ^ (1 << (bit % 8))
    writeFileSync(file, bytes)
  }
  flip()
  return flip
}
