// Groups the texts of a whole answer as a client reads them. Knows nothing of scans.

import { Pace, type Steps } from '../core/steps.ts'
import type { Text } from './texts.ts'

/** One text to scan and the strings it consists of. */
export interface AnswerText extends Pick<Text, 'text' | 'encoding' | 'isFollowed' | 'isExact' | 'label'> {
  /** Indices among all texts of the body, in order. */
  readonly parts: readonly [number, ...number[]]
}

/** A text whose later parts may still follow. */
interface GrowingText {
  readonly parts: [number, ...number[]]
  text: string
  encoding: Text['encoding']
  readonly isFollowed: boolean
  readonly isExact: boolean
  readonly label: string
}

const growingText = (index: number, text: Text, encoding: Text['encoding']): GrowingText => ({
  parts: [index],
  text: text.text,
  encoding,
  isFollowed: text.isFollowed,
  label: text.label,
  // Few ask for it.
  get isExact() {
    return text.isExact
  },
})

/**
 * Returns a grouping, made in steps, in which neighbouring blocks of text are one text, because a
 * client shows them so. Any other string is a text of its own.
 * @param block matches the path of a block's text: its list, and its number in it
 */
export const joinBlocks =
  (block: RegExp) =>
  (texts: readonly Text[], asksForJson: boolean): Steps<AnswerText[]> =>
    joinInSteps(block, texts, asksForJson)

function* joinInSteps(block: RegExp, texts: readonly Text[], asksForJson: boolean): Steps<AnswerText[]> {
  const read: GrowingText[] = []
  const pace = new Pace()
  let last: GrowingText | null = null
  let lastList: string | undefined
  let lastNumber = -1
  for (const [index, one] of texts.entries()) {
    const { path, text, encoding } = one
    if (pace.isOver(0)) yield
    const [, list, at] = block.exec(path) ?? []
    const isContent = list !== undefined
    if (last !== null && isContent && list === lastList && Number(at) === lastNumber + 1) {
      last.parts.push(index)
      last.text += text
      lastNumber++
      continue
    }
    const begun = growingText(index, one, asksForJson && isContent ? 'json' : encoding)
    read.push(begun)
    if (!isContent) continue
    last = begun
    lastList = list
    lastNumber = Number(at)
  }
  return read
}

/** Message content, whole or in parts. */
const CONTENT = /^(choices\[\d+\]\.message\.content)(?:\[\d+\]\.text)?$/

/**
 * Joins, in steps, the parts of one message's content, as streaming does, also across other texts.
 * Any other string is a text of its own.
 * @param asksForJson whether message content is JSON
 */
export function* readAnswerTexts(texts: readonly Text[], asksForJson: boolean): Steps<AnswerText[]> {
  const read: GrowingText[] = []
  const contents = new Map<string, GrowingText>()
  const pace = new Pace()
  for (const [index, { path, text, encoding }] of texts.entries()) {
    if (pace.isOver(0)) yield
    const name = CONTENT.exec(path)?.[1]
    const begun = name === undefined ? undefined : contents.get(name)
    if (begun !== undefined) {
      begun.parts.push(index)
      begun.text += text
      continue
    }
    const one = growingText(index, texts[index]!, asksForJson && name !== undefined ? 'json' : encoding)
    read.push(one)
    if (name === undefined) continue
    contents.set(name, one)
  }
  return read
}
