// Finds signed reasoning in bodies. A provider refuses a block whose text does not fit its
// signature, so that an altered one must be made whole again, or left out.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
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
export function removeThoughts(thoughts: readonly SignedThought[]): void {
  const removed = Map.groupBy(thoughts, ({ list }) => list)
  for (const [list, those] of removed) {
    const blocks = new Set<JsonValue>(those.map(({ block }) => block))
    const kept = list.filter((item) => !blocks.has(item))
    list.length = 0
    for (const item of kept) list.push(item)
  }
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
