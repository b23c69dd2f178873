// Secrets read from the environment or from files that may change. Never prints a value.

import { readFileSync, statSync } from 'node:fs'
import type { Clock, Milliseconds } from './clock.ts'
import { reasonOf } from './text-file.ts'

/** Age of a value at which `current` reads the file again. */
const FILE_MAX_AGE_MS: Milliseconds = 1000

/** Largest file that is read. */
const MAXIMUM_FILE_BYTES = 1024 * 1024

/**
 * @param problem why the file cannot be used and the last good value stays; null for a new value
 */
type TurnListener = (problem: string | null) => void

export interface Secret {
  current(): string
  /** Sets the listener for changes of the file, which only `current` detects. */
  onTurn(listener: TurnListener): void
}

export const fixedSecret = (value: string): Secret => ({ current: () => value, onTurn: () => {} })

/**
 * Reads a secret from a file, such as a mounted Kubernetes Secret, without surrounding white space.
 * Keeps the last good value while the file is missing, empty or holds an unusable value.
 * @param whyNot returns why a value is unusable, without repeating it, or null for a usable one
 * @throws the file system's error, or an Error for an empty or large file, if the first read fails
 */
export const fileSecret = (
  path: string,
  clock: Clock,
  whyNot: (value: string) => string | null = () => null,
): Secret => new FileSecret(path, clock, whyNot)

class FileSecret implements Secret {
  readonly #path: string
  readonly #clock: Clock
  readonly #whyNot: (value: string) => string | null
  #value: string
  #readAtMs: Milliseconds
  #problem: string | null = null
  #listener: TurnListener = () => {}

  constructor(path: string, clock: Clock, whyNot: (value: string) => string | null) {
    this.#path = path
    this.#clock = clock
    this.#whyNot = whyNot
    this.#value = readSecretFile(path)
    this.#readAtMs = clock.monotonic()
  }

  current(): string {
    if (this.#clock.monotonic() - this.#readAtMs >= FILE_MAX_AGE_MS) this.#reread()
    return this.#value
  }

  onTurn(listener: TurnListener): void {
    this.#listener = listener
  }

  #reread(): void {
    this.#readAtMs = this.#clock.monotonic()
    const before = { value: this.#value, problem: this.#problem }
    try {
      const value = readSecretFile(this.#path)
      this.#problem = this.#whyNot(value)
      if (this.#problem === null) this.#value = value
    } catch (error) {
      // A rotation may leave a gap between the old file and the new one.
      this.#problem = reasonOf(error)
    }
    if (this.#value !== before.value || this.#problem !== before.problem) this.#listener(this.#problem)
  }
}

function readSecretFile(path: string): string {
  if (statSync(path).size > MAXIMUM_FILE_BYTES)
    throw new Error(`the file is larger than ${MAXIMUM_FILE_BYTES} bytes`)
  const value = readFileSync(path, 'utf8').trim()
  if (value === '') throw new Error('the file is empty')
  return value
}
