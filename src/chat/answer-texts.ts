// The texts of a whole answer as they are read. Knows nothing of what is looked for in them.

import type { Text } from './texts.ts'

/** One text to be searched, and the strings of the body it stands in. */
export interface AnswerText extends Pick<Text, 'text' | 'encoding'> {
  /** Numbers of the strings among all of the body, in order. */
  readonly parts: readonly [number, ...number[]]
}

/** One whose later parts are still to come. */
interface GrowingText {
  readonly parts: [number, ...number[]]
  text: string
  encoding: Text['encoding']
}

/** What a model says, whole or in parts. */
const CONTENT = /^(choices\[\d+\]\.message\.content)(?:\[\d+\]\.text)?$/

/**
 * Parts of what a model says are one text, as they are where they are streamed, whatever stands between them; any other
 * stands by itself.
 * @param asksForJson what a model says is to be JSON
 */
export function readTexts(texts: readonly Text[], asksForJson: boolean): AnswerText[] {
  const read: GrowingText[] = []
  const contents = new Map<string, GrowingText>()
  for (const [index, { path, text, encoding }] of texts.entries()) {
    const name = CONTENT.exec(path)?.[1]
    const begun = name === undefined ? undefined : contents.get(name)
    if (begun !== undefined) {
      begun.parts.push(index)
      begun.text += text
      continue
    }
    const one: GrowingText = { parts: [index], text, encoding }
    read.push(one)
    if (name === undefined) continue
    if (asksForJson) one.encoding = 'json'
    contents.set(name, one)
  }
  return read
}
