// Finds signed reasoning in bodies. A provider refuses a block whose text does not fit its
// signature, so that an altered one must be made whole again, or left out.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import type { RemovedItems } from './json-rewrite.ts'
import { ValueWalk } from './value-walk.ts'

/** Members that hold the text of a signed block: Anthropic's, and OpenRouter's. */
const TEXTS = ['thinking', 'text'] as const

/** A signed block with its text. */
export interface SignedThought {
  readonly signature: string
  readonly text: string
  readonly block: JsonObject
  /** The list that holds the block. */
  readonly list: JsonValue[]
  /** Replaces the text in the body. */
  replace(text: string): void
}

/** Finds, in steps, the signed blocks in the lists of a body, in order. Linear in the body. */
export function* signedThoughts(body: JsonValue): Steps<SignedThought[]> {
  const found: SignedThought[] = []
  const walk = new ValueWalk(body)
  for (let value = walk.next(); value !== undefined; value = walk.next()) {
    if (walk.isStepOver()) yield
    if (!isObject(value) || walk.list === null) continue
    const thought = thoughtIn(value, walk.list)
    if (thought === null) continue
    found.push(thought)
    walk.skip()
  }
  return found
}

/** Removes blocks from their lists, in time linear in the lists. */
export function removeThoughts(thoughts: readonly SignedThought[]): RemovedItems {
  const removed = new Map<JsonValue[], Set<number>>()
  for (const [list, those] of Map.groupBy(thoughts, (thought) => thought.list)) {
    const blocks = new Set<JsonValue>(those.map(({ block }) => block))
    const positions = new Set<number>()
    const items = list.splice(0)
    for (const [index, item] of items.entries()) {
      if (blocks.has(item)) positions.add(index)
      else list.push(item)
    }
    removed.set(list, positions)
  }
  return removed
}

function thoughtIn(block: JsonObject, list: JsonValue[]): SignedThought | null {
  const { signature } = block
  if (typeof signature !== 'string' || signature === '') return null
  for (const name of TEXTS) {
    const text = block[name]
    if (typeof text !== 'string') continue
    return {
      signature,
      text,
      block,
      list,
      replace(replacement) {
        block[name] = replacement
      },
    }
  }
  return null
}
