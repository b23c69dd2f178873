// Secrets by reference. A value taken from a file follows the file; nothing here ever prints a value.

import { readFileSync } from 'node:fs'
import type { Clock, Milliseconds } from './clock.ts'

/** How old a file's value may get before the file is looked at again: one read a second costs nothing. */
const FILE_MAX_AGE_MS: Milliseconds = 1000

/** @param problem why the file cannot be used, so that the last good value stays; null for a new value */
type TurnListener = (problem: string | null) => void

export interface Secret {
  /** The value now. */
  current(): string
  /** Has it told when what the file holds has changed, as far as the value is asked for. */
  onTurn(listener: TurnListener): void
}

export const fixedSecret = (value: string): Secret => ({ current: () => value, onTurn: () => {} })

/**
 * A secret in a file, such as a mounted Kubernetes Secret. Trailing white space is not part of it.
 * While the file cannot be read, is empty or holds what cannot be used the last good value stays.
 * @param whyNot why a new value cannot be used, without saying it; null for one that can
 * @throws the file system's error, or an Error for an empty file, when the first read fails
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
    if (this.#clock.monotonic() - this.#readAtMs >= FILE_MAX_AGE_MS) this.#look()
    return this.#value
  }

  onTurn(listener: TurnListener): void {
    this.#listener = listener
  }

  #look(): void {
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

/** The system's code, or a message that holds no value. */
export const reasonOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code ?? (error as Error).message

function readSecretFile(path: string): string {
  const value = readFileSync(path, 'utf8').trim()
  if (value === '') throw new Error('the file is empty')
  return value
}
