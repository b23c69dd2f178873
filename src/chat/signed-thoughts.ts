// Finds signed reasoning in bodies. A provider refuses a block whose text does not fit its
// signature, so that an altered one must be made whole again, or left out.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

/** Members that hold the text of a signed block: Anthropic's, and OpenRouter's. */
const TEXTS = ['thinking', 'text'] as const

/** A signed block with its text. */
export interface SignedThought {
  readonly signature: string
  readonly text: string
  /** Replaces the text in the body. */
  replace(text: string): void
  /** Removes the block from its list. */
  remove(): void
}

/**
 * Lists the signed blocks in the lists of a body. Linear in the body; strict JSON bounds the depth.
 */
export function signedThoughts(value: JsonValue): SignedThought[] {
  const found: SignedThought[] = []
  visit(value, found)
  return found
}

function visit(value: JsonValue, found: SignedThought[]): void {
  if (Array.isArray(value)) {
    for (const item of value) {
      const thought = isObject(item) ? thoughtIn(item, value) : null
      if (thought === null) visit(item, found)
      else found.push(thought)
    }
  } else if (isObject(value)) for (const member of Object.values(value)) visit(member, found)
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
      replace(replacement) {
        block[name] = replacement
      },
      remove() {
        const at = list.indexOf(block)
        if (at >= 0) list.splice(at, 1)
      },
    }
  }
  return null
}
