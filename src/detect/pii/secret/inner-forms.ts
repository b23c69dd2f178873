// Matches tokens whose mark lies inside them or at their end.

/** A mark at its offset in a token, and the pattern of the whole. */
interface InnerForm {
  readonly mark: string
  readonly offset: number
  readonly pattern: RegExp
}

const form = (mark: string, offset: number, source: string): InnerForm => ({
  mark,
  offset,
  pattern: new RegExp(source, 'y'),
})

const INNER_FORMS: readonly InnerForm[] = [
  // Terraform Cloud
  form('.atlasv1.', 14, '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,70}'),
  // Microsoft Entra: `abc8Q~…`
  form('Q~', 4, '[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}'),
  // MaxMind
  form('_mmk', 36, '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9_-])'),
  // Mailchimp: the key and its data centre
  form('-us', 32, '[0-9a-f]{32}-us\\d{1,2}(?![A-Za-z0-9_-])'),
  // Mailgun's key for webhooks
  form('-', 41, '[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9_-])'),
]

/** Length of the longest token with a mark at its end. */
const MAXIMUM_MARKED = 50

/** Reports whether a word may be such a token. */
export const hasInnerMark = (text: string, start: number, end: number): boolean =>
  end - start <= MAXIMUM_MARKED &&
  INNER_FORMS.some(({ mark, offset }) => text.startsWith(mark, start + offset))

/** The token that starts at an offset. */
export function innerTokenAt(text: string, start: number): string | undefined {
  for (const { mark, offset, pattern } of INNER_FORMS) {
    if (!text.startsWith(mark, start + offset)) continue
    pattern.lastIndex = start
    const value = pattern.exec(text)?.[0]
    if (value !== undefined) return value
  }
  return undefined
}
