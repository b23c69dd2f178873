// The texts of a whole answer as they are read. Knows nothing of what is looked for in them.

import type { Text } from '../chat/texts.ts'

/** One text to be searched, and the strings of the body it stands in. */
export interface AnswerText extends Pick<Text, 'text' | 'encoding'> {
  /** Numbers of the strings among all of the body, in order. */
  readonly parts: readonly [number, ...number[]]
}

/** What a model says, whole or in parts. */
const CONTENT = /^(choices\[\d+\]\.message\.content)(?:\[\d+\]\.text)?$/

/**
 * Parts of what a model says are one text, as they are where they are streamed, whatever stands between them; any other
 * stands by itself.
 * @param asksForJson what a model says is to be JSON
 */
export function* readTexts(texts: readonly Text[], asksForJson: boolean): Generator<AnswerText> {
  const names = texts.map(({ path }) => CONTENT.exec(path)?.[1])
  const contents = Map.groupBy(texts.keys(), (index) => names[index])
  for (const [index, { text, encoding }] of texts.entries()) {
    const name = names[index]
    if (name === undefined) {
      yield { parts: [index], text, encoding }
      continue
    }
    const [first = index, ...others] = contents.get(name) ?? []
    if (first !== index) continue
    yield {
      parts: [first, ...others],
      text: others.reduce((said, other) => said + texts[other]!.text, text),
      encoding: asksForJson ? 'json' : encoding,
    }
  }
}
