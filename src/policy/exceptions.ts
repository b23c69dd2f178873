// Values that a rule on personal data leaves alone: patterns of the whole value, the published
// samples, and private addresses.

import { isBuiltIn, type PiiKind } from '../core/finding.ts'
import { isPrivateAddress, isPublishedSample } from '../detect/pii/published-samples.ts'
import { type KeywordMatcher, keywordMatcher } from '../keyword/matcher.ts'
import { KeywordIndex, parseExpressions } from '../keyword/pattern-index.ts'
import type { Program } from '../keyword/regexp/instructions.ts'
import { controlCharacterIn } from './control-character.ts'
import type { ConditionProblem } from './tool-conditions.ts'

/** Names the published samples in a list of exceptions. */
const SAMPLES = 'samples'

/** The exceptions of a rule. Plain data that survives JSON. */
export interface Exceptions {
  /** Each matches a whole value. */
  readonly programs: readonly Program[]
  readonly samples: boolean
  /** Whether private addresses are among them. */
  readonly privateAddresses: boolean
}

/** Values of each kind that have little in common. What matches all of them is no exception. */
const VALUES: Readonly<Partial<Record<string, readonly string[]>>> = {
  email: ['jane.doe@mail.acme.co.uk', 'x_1+tag@a-b.io', 'müller@xn--bcher-kva.de'],
  phone: ['+49 30 901820', '(415) 867-5309', '01.42.68.53.00'],
  credit_card: ['4539 1488 0343 6467', '371449635398431', '6011-0009-9013-9424'],
  us_ssn: ['536-22-1234', '123 45 6789', '401221234'],
  iban: ['DE44 5001 0517 5407 3249 31', 'FR7630006000011234567890189', 'nl02abna0123456789'],
  ip_address: ['81.2.69.142', '2a00:1450::8a', '10.20.30.40/16'],
  mac_address: ['3c:22:fb:9a:01:7e', '3C-22-FB-9A-01-7E', '3c22.fb9a.017e'],
  secret: [
    'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
    'k9#Vq/2!x',
    '-----BEGIN KEY-----\nMIIE\n-----END KEY-----',
  ],
}
/** For every other kind. */
const ANY_VALUES = ['CASE-123456', '12 345 678', 'x_9.y/z@ü', '4', 'Maria Keller, 1990-05-01']

/** Returns the exceptions of a rule, or every error in them. */
export function parseExceptions(
  written: readonly string[],
  kinds: readonly PiiKind[],
): Exceptions | { readonly problems: readonly ConditionProblem[] } {
  const problems: ConditionProblem[] = []
  const programs: Program[] = []
  written.forEach((pattern, index) => {
    if (pattern === SAMPLES) return
    const parsed = parseWhole(pattern)
    const messages = 'messages' in parsed ? parsed.messages : tooWide(parsed.programs, kinds)
    for (const message of messages) problems.push({ path: `except[${index}]`, message })
    if ('programs' in parsed) programs.push(...parsed.programs)
  })
  if (problems.length > 0) return { problems }
  return { programs, samples: written.includes(SAMPLES), privateAddresses: false }
}

/** Parses a pattern that a whole value must match. */
function parseWhole(pattern: string): ReturnType<typeof parseExpressions> {
  const control = controlCharacterIn(pattern)
  if (control !== null) return { messages: [control] }
  const parsed = parseExpressions(pattern)
  return 'messages' in parsed ? parsed : parseExpressions(`\\A(?:${pattern})\\z`)
}

/** Says which kind an exception would leave nothing of. */
function tooWide(programs: readonly Program[], kinds: readonly PiiKind[]): readonly string[] {
  const matches = matcherOf(programs)
  const all = (values: readonly string[]) => values.every((value) => matches(value))
  const kind = kinds.find((one) => all(VALUES[one] ?? ANY_VALUES))
  if (kind === undefined) return []
  return [
    `matches every value of \`${kind}\`; write what the values to leave alone have in common, such as \`[a-z.]+@acme[.]example\`, or give the kind a rule with the action \`allow\``,
  ]
}

function matcherOf(programs: readonly Program[]): (value: string) => boolean {
  const index = new KeywordIndex([{ words: [], programs }])
  const matcher: KeywordMatcher | null =
    programs.length === 0 ? null : keywordMatcher(index, { active: [true], holding: [false] })
  return (value) => matcher !== null && matcher.match(value).length > 0
}

/** Reports whether a value is an exception. */
export type ExceptionTest = (kind: PiiKind, value: string) => boolean

/** Compiles exceptions; null for none. */
export function compileExceptions(exceptions: Exceptions | null): ExceptionTest | null {
  if (exceptions === null) return null
  const { programs, samples, privateAddresses } = exceptions
  if (programs.length === 0 && !samples && !privateAddresses) return null
  const matches = matcherOf(programs)
  return (kind, value) =>
    (samples && isBuiltIn(kind) && isPublishedSample(kind, value)) ||
    (privateAddresses && kind === 'ip_address' && isPrivateAddress(value)) ||
    matches(value)
}
