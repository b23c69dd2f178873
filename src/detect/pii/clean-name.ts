// Searches names that the log keeps for good, such as those of models and keys, for every kind of
// personal data.

import { PII_KINDS, type PiiKind } from '../../core/finding.ts'
import { detect } from './detect.ts'
import { kindSet } from './kinds.ts'

const ALL_KINDS = kindSet(PII_KINDS)

/**
 * Numbers that are no personal data and can look like a phone or a card: the account in an ARN of
 * AWS, twelve digits, and the endpoint in a resource name of Vertex AI, a 64-bit number. A project
 * has too few digits for a card, and an endpoint too many for most. Nothing else is left out.
 */
const RESOURCE_NUMBERS = [
  /(?<=(?:^|\/)arn:aws(?:-[a-z]{1,6}){0,2}:(?:bedrock|sagemaker):[a-z]{2}(?:-[a-z]{2,9}){1,3}-\d:)\d{12}(?=:)/,
  /(?<=(?:^|\/)projects\/\d{6,12}\/locations\/[a-z0-9-]{2,32}\/endpoints\/)\d{17,19}$/,
  /(?<=(?:^|\/)projects\/)\d{6,12}(?=\/locations\/[a-z0-9-]{2,32}\/endpoints\/(?:\d{1,19}|x{17,19})$)/,
]

/** Maximum names in `cleanNames`, which is cleared when full. */
const MAXIMUM_CLEAN_NAMES = 256
/** Names without a finding: calls repeat a few names. */
const cleanNames = new Set<string>()

/** Maximum times that a name is decoded: gateways in a row may each have encoded it. */
const MAXIMUM_DECODED = 3

/** Decodes `%40` and the like in ASCII, also where it was encoded again (`%2540`). */
function decodePercent(name: string): string {
  let text = name
  for (let times = 0; times < MAXIMUM_DECODED && text.includes('%'); times++)
    text = text.replace(/%([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return text
}

/** Values may begin after `-`, and not after `_`; nor does a phone begin directly after a word. */
const separated = (name: string): string => name.replaceAll('_', '-').replaceAll('+', ' +')

/**
 * Returns the kind of the first value in a name, of all kinds; null without one.
 * @param name at most a few hundred characters; clean names are remembered
 */
export function kindInName(name: string): PiiKind | null {
  if (cleanNames.has(name)) return null
  const searched = RESOURCE_NUMBERS.reduce(
    (text, pattern) => text.replace(pattern, (digits) => 'x'.repeat(digits.length)),
    name,
  )
  // Wide letters and digits are read as the plain ones.
  const plain = decodePercent(searched.normalize('NFKC'))
  const first = detect(plain, ALL_KINDS)[0] ?? detect(separated(plain), ALL_KINDS)[0]
  if (first !== undefined) return first.kind
  if (cleanNames.size >= MAXIMUM_CLEAN_NAMES) cleanNames.clear()
  cleanNames.add(name)
  return null
}
