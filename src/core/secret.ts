// Secrets by reference. A value taken from a file follows the file; nothing here ever prints a value.

import { readFileSync } from 'node:fs'
import type { Clock, Milliseconds } from './clock.ts'

/** How old a file's value may get before the file is looked at again: one read a second costs nothing. */
const FILE_MAX_AGE_MS: Milliseconds = 1000

export interface Secret {
  /** The value now. */
  current(): string
}

export const fixedSecret = (value: string): Secret => ({ current: () => value })

/**
 * A secret in a file, such as a mounted Kubernetes Secret. Trailing white space is not part of it.
 * While the file cannot be read or is empty the last good value stays.
 * @throws the file system's error, or an Error for an empty file, when the first read fails
 */
export function fileSecret(path: string, clock: Clock): Secret {
  let value = readSecretFile(path)
  let readAtMs = clock.monotonic()
  return {
    current() {
      if (clock.monotonic() - readAtMs >= FILE_MAX_AGE_MS) {
        readAtMs = clock.monotonic()
        try {
          value = readSecretFile(path)
        } catch {
          // A rotation may leave a gap between the old file and the new one.
        }
      }
      return value
    },
  }
}

function readSecretFile(path: string): string {
  const value = readFileSync(path, 'utf8').trim()
  if (value === '') throw new Error('the file is empty')
  return value
}
