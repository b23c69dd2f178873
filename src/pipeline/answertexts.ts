// The texts of a whole answer as they are read. Knows nothing of what is looked for in them.

import type { Text } from '../chat/texts.ts'

/** One text to be searched, and the strings of the body it stands in. */
export interface AnswerText extends Pick<Text, 'text' | 'encoding'> {
  readonly parts: readonly [Text, ...Text[]]
}

/** What a model says, whole or in parts. */
const CONTENT = /^(choices\[\d+\]\.message\.content)(?:\[\d+\]\.text)?$/

/**
 * Parts of what a model says are one text, as they are where they are streamed; any other stands by itself.
 * @param asksForJson what a model says is to be JSON
 */
export function* readTexts(texts: readonly Text[], asksForJson: boolean): Generator<AnswerText> {
  for (const parts of inOne(texts)) {
    const [first] = parts
    yield {
      parts,
      text: parts.length === 1 ? first.text : parts.map(({ text }) => text).join(''),
      encoding: asksForJson && CONTENT.test(first.path) ? 'json' : first.encoding,
    }
  }
}

function* inOne(texts: readonly Text[]): Generator<readonly [Text, ...Text[]]> {
  let parts: [Text, ...Text[]] | null = null
  let name: string | undefined
  for (const text of texts) {
    const itsName = CONTENT.exec(text.path)?.[1]
    if (parts !== null && itsName !== undefined && itsName === name) parts.push(text)
    else {
      if (parts !== null) yield parts
      parts = [text]
    }
    name = itsName
  }
  if (parts !== null) yield parts
}
