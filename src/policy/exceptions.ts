// Values that a rule on personal data leaves alone: patterns of the whole value, the published
// samples, and private addresses.

import { isBuiltIn, type PiiKind } from '../core/finding.ts'
import { isPrivateAddress, isPublishedSample } from '../detect/pii/published-samples.ts'
import { parseExpressions } from '../keyword/pattern-index.ts'
import { exactMatcher, samplesOf } from '../keyword/regexp/exact.ts'
import { compileExact, type Program } from '../keyword/regexp/instructions.ts'
import { controlCharacterIn } from './control-character.ts'
import type { ConditionProblem } from './tool-conditions.ts'

/** Names the published samples in a list of exceptions. */
const SAMPLES = 'samples'

/** The exceptions of a rule. Plain data that survives JSON. */
export interface Exceptions {
  /** Each matches a whole value, as it is written apart from case. */
  readonly programs: readonly Program[]
  readonly samples: boolean
  /** Whether private addresses are among them. */
  readonly privateAddresses: boolean
}

/**
 * Ordinary values of each kind that have little in common. What matches all of them is no
 * exception.
 */
const VALUES: Readonly<Partial<Record<string, readonly string[]>>> = {
  email: ['jane.doe@mail.acme.co.uk', 'x_1+tag@a-b.io', 'müller@xn--bcher-kva.de', 'BOB@ACME.COM'],
  phone: ['+49 30 901820', '(415) 867-5309', '01.42.68.53.00', '4158675309'],
  credit_card: ['4539 1488 0343 6467', '371449635398431', '6011-0009-9013-9424'],
  us_ssn: ['536-22-1234', '123 45 6789', '401221234'],
  iban: ['DE44 5001 0517 5407 3249 31', 'FR7630006000011234567890189', 'nl02abna0123456789'],
  ip_address: ['81.2.69.142', '2a00:1450::8a', '10.20.30.40/16'],
  mac_address: ['3c:22:fb:9a:01:7e', '3C-22-FB-9A-01-7E', '3c22.fb9a.017e'],
  secret: ['ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'k9#Vq/2!x', 'correct horse battery'],
  crypto_wallet: [
    '1BoatSLRHtKNngkdXEeobR76b53LETtpyT',
    '0x52908400098527886E0F7030069857D2E4169EE7',
    'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
  ],
  national_id: ['12345678Z', '85.07.30-033 28', 'RSSMRA85T10A562S', '943 476 5919'],
  date_of_birth: ['1990-05-01', '5/1/90', '1. Mai 1990', 'May 1st, 1990'],
  passport: ['C01X00T47', '533401234', 'AB 123456'],
  driver_license: ['D1234567', 'MORGA753116SM9IJ', '123-456-789'],
  address: [
    '12 Main St, Springfield, IL 62704',
    'Hauptstraße 5, 10115 Berlin',
    '1 rue de la Paix\n75002 Paris',
  ],
  person: ['Maria Keller', "Dr. Sean O'Brien", 'JOHN SMITH', 'Anna-Lena'],
}
/** For every other kind. */
const ANY_VALUES = ['CASE-123456', '12 345 678', 'x_9.y/z@ü', '4', 'Maria Keller, 1990-05-01']

/**
 * Returns the exceptions of a rule, or every error in them.
 * @param pattern that defines the kind; null where none does
 */
export function parseExceptions(
  written: readonly string[],
  kinds: readonly PiiKind[],
  pattern: string | null = null,
): Exceptions | { readonly problems: readonly ConditionProblem[] } {
  const problems: ConditionProblem[] = []
  const programs: Program[] = []
  const values = pattern === null ? [] : valuesOf(pattern)
  written.forEach((exception, index) => {
    if (exception === SAMPLES) return
    const parsed = parseWhole(exception)
    const messages = 'messages' in parsed ? parsed.messages : tooWide([parsed], kinds, values)
    for (const message of messages) problems.push({ path: `except[${index}]`, message })
    if ('instructions' in parsed) programs.push(parsed)
  })
  if (problems.length === 0)
    for (const message of tooWide(programs, kinds, values)) problems.push({ path: 'except', message })
  if (problems.length > 0) return { problems }
  return { programs, samples: written.includes(SAMPLES), privateAddresses: false }
}

/** Parses a pattern that a whole value must match as it is written. */
function parseWhole(pattern: string): Program | { readonly messages: readonly string[] } {
  const control = controlCharacterIn(pattern)
  if (control !== null) return { messages: [control] }
  const parsed = parseExpressions(pattern)
  if ('messages' in parsed) return parsed
  const program = compileExact(`(?:${pattern})`)
  return 'message' in program ? { messages: [program.message] } : program
}

/** Returns values that a pattern of an open kind finds. */
function valuesOf(pattern: string): readonly string[] {
  const program = compileExact(`(?:${pattern})`)
  return 'message' in program ? [] : samplesOf(program)
}

/** Says which kind exceptions would leave nothing of. @param values of an open kind, if known */
function tooWide(
  programs: readonly Program[],
  kinds: readonly PiiKind[],
  values: readonly string[],
): readonly string[] {
  const matches = exactMatcher(programs)
  const kind = kinds.find((one) => (values.length > 0 ? values : (VALUES[one] ?? ANY_VALUES)).every(matches))
  if (kind === undefined) return []
  return [
    `matches every value of \`${kind}\`; write what the values to leave alone have in common, such as \`[a-z.]+@acme[.]example\`, or give the kind a rule with the action \`allow\``,
  ]
}

/** Whether exceptions leave nothing of what a pattern of an open kind finds. */
export function exceptEvery({ programs }: Exceptions, pattern: string): boolean {
  const values = valuesOf(pattern)
  return values.length > 0 && values.every(exactMatcher(programs))
}

/** Reports whether a value is an exception. */
export type ExceptionTest = (kind: PiiKind, value: string) => boolean

/** Compiles exceptions; null for none. */
export function compileExceptions(exceptions: Exceptions | null): ExceptionTest | null {
  if (exceptions === null) return null
  const { programs, samples, privateAddresses } = exceptions
  if (programs.length === 0 && !samples && !privateAddresses) return null
  const matches = exactMatcher(programs)
  return (kind, value) =>
    (samples && isBuiltIn(kind) && isPublishedSample(kind, value)) ||
    (privateAddresses && kind === 'ip_address' && isPrivateAddress(value)) ||
    matches(value)
}
