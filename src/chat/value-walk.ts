// Walks over the values of a body in order, with a stack of its own, so that it can pause anywhere
// and no depth overflows.

import { isRawNumber, type JsonObject, type JsonValue } from '../core/json.ts'
import { formatPath } from './json-path.ts'

/** Values that one step visits. */
const VALUES_OF_STEP = 16_384

/** A container whose members are read. */
interface OpenContainer {
  readonly value: JsonObject | JsonValue[]
  /** Names of an object; null for a list. */
  readonly names: readonly string[] | null
  /** Number of the next member. */
  next: number
}

export class ValueWalk {
  readonly #open: OpenContainer[]
  #left = VALUES_OF_STEP

  constructor(root: JsonValue) {
    this.#open = [{ value: [root], names: null, next: 0 }]
  }

  /** Returns the next value, a container before its members; undefined at the end. */
  next(): JsonValue | undefined {
    const open = this.#open
    for (;;) {
      const last = open.at(-1)
      if (last === undefined) return undefined
      const { value: container, names, next } = last
      if (next === (names ?? (container as JsonValue[])).length) {
        open.pop()
        continue
      }
      last.next++
      const value =
        names === null ? (container as JsonValue[])[next]! : (container as JsonObject)[names[next]!]!
      if (Array.isArray(value)) open.push({ value, names: null, next: 0 })
      else if (typeof value === 'object' && value !== null && !isRawNumber(value))
        open.push({ value, names: Object.keys(value), next: 0 })
      return value
    }
  }

  /** Reports whether a step is complete. Ask after each `next`. */
  isStepOver(): boolean {
    if (--this.#left > 0) return false
    this.#left = VALUES_OF_STEP
    return true
  }

  /** Names of the members, after `next` returned an object. */
  get names(): readonly string[] {
    return this.#open.at(-1)!.names!
  }

  /** The list that holds the container which `next` returned; null without one. */
  get list(): JsonValue[] | null {
    const { value, names } = this.#open.at(-2)!
    return names === null && this.#open.length > 2 ? (value as JsonValue[]) : null
  }

  /** Leaves out the members of the container which `next` returned. */
  skip(): void {
    this.#open.pop()
  }

  /** Path of the value that `next` returned. */
  path(): string {
    // A container that was returned is open, and none of its members was read.
    const read = this.#open.slice(1).filter(({ next }) => next > 0)
    return formatPath(read.map(({ names, next }) => names?.[next - 1] ?? next - 1))
  }
}
