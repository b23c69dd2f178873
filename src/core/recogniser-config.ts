// Reads `recognisers`: services outside that find kinds of personal data which the gateway does
// not, such as names.

import type { Milliseconds } from './clock.ts'
import { type Context, isLoopbackUrl } from './config-values.ts'
import type { Path } from './document.ts'
import { isBuiltIn, KIND_NAME, MAXIMUM_KIND_CHARACTERS, type PiiKind } from './finding.ts'
import { integer } from './schema-parts.ts'

const MAXIMUM_RECOGNISERS = 8
const MAXIMUM_KINDS = 64

/** What a call does when a recogniser fails. */
export type OnRecogniserError = 'block' | 'ignore'

export interface RecogniserConfig {
  readonly name: string
  readonly url: string
  /** Lower-case forms of the `entity_type`s that are asked for. */
  readonly kinds: readonly string[]
  readonly language: string
  /** Findings with a lower score are not asked for, 0 to 1. */
  readonly minScore: number
  /** For each request. */
  readonly timeoutMs: Milliseconds
  readonly onError: OnRecogniserError
  /** Which texts it gets: prompts and answers sentence by sentence, or prompts alone. */
  readonly streams: 'sentences' | 'prompts'
}

/** As declared, with defaults. A key is missing only in an invalid file. */
export type DeclaredRecogniser = Omit<RecogniserConfig, 'name' | 'url' | 'kinds'> &
  Partial<Pick<RecogniserConfig, 'name' | 'url' | 'kinds'>>

/** Returns the kinds that recognisers find, each once. */
export const recognisedKinds = (
  recognisers: readonly Pick<RecogniserConfig, 'kinds'>[],
): readonly PiiKind[] => [...new Set(recognisers.flatMap(({ kinds }) => kinds))]

/** Returns those of them that are not built in. */
export const openKindsIn = ({ recognisers }: RecogniserSection): readonly PiiKind[] =>
  recognisedKinds(recognisers).filter((kind) => !isBuiltIn(kind))

/** The configuration as far as it defines kinds. */
interface RecogniserSection {
  readonly recognisers: readonly Pick<RecogniserConfig, 'kinds'>[]
}

export const RECOGNISERS_SCHEMA = {
  description:
    'Services that find more kinds of personal data, such as names. Each speaks the HTTP API of the Presidio analyzer, and gets the texts before anything in them is redacted.',
  type: 'array',
  maxItems: MAXIMUM_RECOGNISERS,
  default: [],
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'url', 'kinds'],
    properties: {
      name: {
        description: 'Name in metrics and errors: 1 to 64 of the characters A-Z a-z 0-9 _ . -.',
        type: 'string',
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
      },
      url: {
        description:
          'URL that takes the texts, like `http://127.0.0.1:5002/analyze`: `https:`, or `http:` on loopback. No redirect and no proxy is followed.',
        type: 'string',
        minLength: 1,
        maxLength: 512,
      },
      kinds: {
        description:
          'Kinds to ask for, such as `person` for the `entity_type` `PERSON`. Rules name them like any other kind; findings of others are left out.',
        type: 'array',
        minItems: 1,
        maxItems: MAXIMUM_KINDS,
        uniqueItems: true,
        items: {
          description: `Lower-case letters, with \`_\` between words, at most ${MAXIMUM_KIND_CHARACTERS} characters, such as \`person\`.`,
          type: 'string',
          pattern: KIND_NAME.source,
          maxLength: MAXIMUM_KIND_CHARACTERS,
        },
      },
      language: {
        description: 'Language that the service reads the texts in: two lower-case letters.',
        type: 'string',
        pattern: '^[a-z]{2}$',
        default: 'en',
      },
      minScore: {
        description: 'Lowest score of a finding, 0 to 1.',
        type: 'number',
        minimum: 0,
        maximum: 1,
        default: 0.5,
      },
      timeoutMs: integer('Time for the answer to one text, milliseconds.', 10, 60_000, 1000),
      onError: {
        description:
          'What becomes of a call whose texts the service does not judge, because it is slow or answers nonsense: `block` refuses it, `ignore` leaves its findings out.',
        enum: ['block', 'ignore'],
        default: 'block',
      },
      streams: {
        description:
          'Whether answers are judged too, with the text of a stream held back to the end of a sentence (`sentences`), or prompts alone (`prompts`).',
        enum: ['sentences', 'prompts'],
        default: 'sentences',
      },
    },
  },
} as const

/** Reads the section. Reports errors to the context. */
export function readRecognisers(
  context: Context,
  declared: readonly DeclaredRecogniser[],
): readonly RecogniserConfig[] {
  const names = new Map<string, number>()
  return declared.map((one, index) => {
    const { name = '', url = '', kinds = [] } = one
    const path: Path = ['recognisers', index]
    const problem = whyNotUrl(url)
    if (problem !== null) context.add([...path, 'url'], problem)
    const other = names.get(name)
    if (other === undefined) names.set(name, index)
    else context.add([...path, 'name'], `is the name of recognisers[${other}] too; give each its own`)
    return { ...one, name, url, kinds }
  })
}

const URL_HINT = 'use a URL like http://127.0.0.1:5002/analyze'

/** Returns why texts are not sent to a URL, or null. */
function whyNotUrl(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return `is not an http or https URL; ${URL_HINT}`
  if (url.username !== '' || url.password !== '')
    return 'must not carry a credential; let a proxy on this machine add it'
  if (text.includes('#')) return `must have no fragment; ${URL_HINT}`
  if (url.protocol === 'http:' && !isLoopbackUrl(text))
    return 'must use https, because texts travel over it before they are redacted; http is only for a service on this machine, such as http://127.0.0.1:5002/analyze'
  return null
}
