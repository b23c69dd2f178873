// Groups the texts of a whole answer as a client reads them. Knows nothing of scans.

import type { Text } from './texts.ts'

/** One text to scan and the strings it consists of. */
export interface AnswerText extends Pick<Text, 'text' | 'encoding' | 'isFollowed'> {
  /** Indices among all texts of the body, in order. */
  readonly parts: readonly [number, ...number[]]
}

/** A text whose later parts may still follow. */
interface GrowingText {
  readonly parts: [number, ...number[]]
  text: string
  encoding: Text['encoding']
  readonly isFollowed: boolean
}

/**
 * Returns a grouping in which each string is a text of its own, as in a stream of blocks.
 * @param content the paths of message content, which is JSON when the client asks for it
 */
export const eachAlone =
  (content: RegExp) =>
  (texts: readonly Text[], asksForJson: boolean): AnswerText[] =>
    texts.map(({ path, text, encoding, isFollowed }, index) => ({
      parts: [index],
      text,
      encoding: asksForJson && content.test(path) ? 'json' : encoding,
      isFollowed,
    }))

/** Message content, whole or in parts. */
const CONTENT = /^(choices\[\d+\]\.message\.content)(?:\[\d+\]\.text)?$/

/**
 * Joins the parts of one message's content, as streaming does, also across other texts. Any other
 * string is a text of its own.
 * @param asksForJson whether message content is JSON
 */
export function readAnswerTexts(texts: readonly Text[], asksForJson: boolean): AnswerText[] {
  const read: GrowingText[] = []
  const contents = new Map<string, GrowingText>()
  for (const [index, { path, text, encoding, isFollowed }] of texts.entries()) {
    const name = CONTENT.exec(path)?.[1]
    const begun = name === undefined ? undefined : contents.get(name)
    if (begun !== undefined) {
      begun.parts.push(index)
      begun.text += text
      continue
    }
    const one: GrowingText = { parts: [index], text, encoding, isFollowed }
    read.push(one)
    if (name === undefined) continue
    if (asksForJson) one.encoding = 'json'
    contents.set(name, one)
  }
  return read
}
