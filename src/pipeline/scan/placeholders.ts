// Numbers redacted values: `[EMAIL_1]`. Equal values get one number, and no placeholder has a form
// that a text already contains.

import { isBuiltIn, labelOfKind, PII_KINDS, type PiiKind } from '../../core/finding.ts'
import { comparableValue, unescapedValue } from '../../detect/pii/plain-value.ts'
import { mayHoldPlaceholder, withoutEscapes } from './placeholder-spelling.ts'
import { Pseudonyms } from './pseudonyms.ts'
import { shapesIn } from './shapes.ts'

const FORM = /\[([A-Z_]+)_([0-9]{1,9})\]/g
/** Kinds whose spellings differ in separators only. */
const BY_CHARACTERS = new Set<PiiKind>(['phone', 'credit_card', 'us_ssn', 'iban', 'mac_address'])

/** Built-in kinds as placeholders name them. */
const LABELS: ReadonlySet<string> = new Set(PII_KINDS.map(labelOfKind))
const NO_LABELS: ReadonlySet<string> = new Set()

/**
 * Reports whether placeholders have the label.
 * @param open labels of open kinds
 */
export const isLabel = (label: string, open: ReadonlySet<string>): boolean =>
  LABELS.has(label) || open.has(label)

const formOf = (label: string, number: number): string => `[${label}_${number}]`

/**
 * Returns what equal values share, in any spelling. A secret has one, and what spellings mean to an
 * open kind is not known: each is restored as it was.
 */
function identity(kind: PiiKind, written: string): string {
  if (kind === 'secret') return written
  if (!isBuiltIn(kind)) return restorableValue(kind, written)
  const value = comparableValue(written, BY_CHARACTERS.has(kind))
  if (kind === 'email') return value.toLowerCase()
  return BY_CHARACTERS.has(kind) ? value.replace(/[^0-9A-Za-z+]/g, '').toUpperCase() : value
}

/** Returns a value as it is restored: without escapes. @param written as it is in a text */
export const restorableValue = (kind: PiiKind, written: string): string =>
  kind === 'secret' ? written : unescapedValue(written, BY_CHARACTERS.has(kind))

/**
 * Numbers above this one are not continued: a text may hold any number, and placeholders have nine
 * digits.
 */
const MAXIMUM_CONTINUED_NUMBER = 100_000_000

function noKey(): string {
  throw new Error('A value is to get a pseudonym, but the call has no key for one.')
}

/** Placeholders of one call. */
export class Placeholders {
  readonly #parent: Placeholders | null
  // Created with the first placeholder: an answer may have thousands of texts, most without
  // findings.
  #given: Map<string, string> | null = null
  /** The kinds of the placeholders given, those of forks not included. */
  readonly #forms = new Map<string, PiiKind>()
  #next: Map<string, number> | null
  /** Forms found in texts. A numbering shares them with its forks. */
  readonly #taken: Set<string>
  /** For a taken form, the next number to try. Shared like the taken forms. */
  readonly #passed: Map<string, number>
  /** Highest number of each label, given or taken. Shared like the taken forms. */
  readonly #highest: Map<string, number>

  /** Whether texts may hold shaped placeholders. */
  readonly #readsShapes: boolean
  /** Labels of open kinds. */
  readonly #open: ReadonlySet<string>
  readonly #key: () => string
  /** Created with the first pseudonym. */
  #pseudonyms: Pseudonyms | null = null

  /**
   * @param above highest numbers of the conversation so far; those of this call are higher
   * @param open labels of open kinds
   * @param key of pseudonyms; a numbering that gives none needs none
   */
  constructor(
    parent: Placeholders | null = null,
    above: Readonly<Record<string, number>> = {},
    readsShapes = false,
    open: ReadonlySet<string> = NO_LABELS,
    key: () => string = noKey,
  ) {
    const highest = Object.entries(above)
    this.#readsShapes = parent === null ? readsShapes : parent.#readsShapes
    this.#open = parent === null ? open : parent.#open
    this.#key = parent === null ? key : parent.#key
    this.#parent = parent
    if (parent === null)
      this.#next =
        highest.length === 0 ? null : new Map(highest.map(([label, number]) => [label, number + 1]))
    else this.#next = parent.#next === null ? null : new Map(parent.#next)
    this.#taken = parent === null ? new Set() : parent.#taken
    this.#passed = parent === null ? new Map() : parent.#passed
    this.#highest = parent === null ? new Map(highest) : parent.#highest
  }

  /** Highest number of each label, of this numbering and its forks: given, or found in a text. */
  get highest(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#highest)
  }

  /** Reserves the placeholder forms in a text that is sent. */
  avoid(text: string): void {
    if (this.#readsShapes)
      for (const { form, kind } of shapesIn(text))
        if (isLabel(labelOfKind(kind), this.#open)) this.#avoid(form)
    if (!mayHoldPlaceholder(text)) return
    for (const [form, label = ''] of withoutEscapes(text).matchAll(FORM))
      if (isLabel(label, this.#open)) this.#avoid(form)
  }

  #avoid(form: string): void {
    const [, label, number] = form.match(/^\[(.+)_(\d+)\]$/)!
    this.#taken.add(form)
    this.#raise(label!, Number(number))
  }

  /** Finds placeholders of this numbering in a text that is not ours, by their kinds. */
  givenIn(text: string): { readonly kind: PiiKind; readonly start: number; readonly end: number }[] {
    if (this.#forms.size === 0) return []
    const shapes = this.#readsShapes ? shapesIn(text).filter(({ form }) => this.#forms.has(form)) : []
    if (!text.includes('[')) return shapes
    const forms = [...text.matchAll(FORM)].flatMap(({ 0: form, index }) => {
      const kind = this.#forms.get(form)
      return kind === undefined ? [] : [{ kind, start: index, end: index + form.length }]
    })
    return [...shapes, ...forms].sort((a, b) => a.start - b.start)
  }

  /** Returns the placeholder of a value. */
  for(kind: PiiKind, value: string): string {
    const key = `${kind} ${identity(kind, value)}`
    const known = this.#find(key)
    if (known !== undefined) return known
    this.#given ??= new Map()
    this.#next ??= new Map()
    const label = labelOfKind(kind)
    const number = this.#free(label, this.#next.get(label) ?? 1)
    this.#next.set(label, number + 1)
    this.#raise(label, number)
    const placeholder = formOf(label, number)
    this.#given.set(key, placeholder)
    this.#forms.set(placeholder, kind)
    return placeholder
  }

  /** Pseudonyms of the same call, which know those of the prompt. */
  get pseudonyms(): Pseudonyms {
    this.#pseudonyms ??= this.#parent?.pseudonyms.fork() ?? new Pseudonyms(this.#key)
    return this.#pseudonyms
  }

  /**
   * Returns a numbering for one text of an answer: it knows these values and numbers new ones
   * alone.
   */
  fork(): Placeholders {
    return new Placeholders(this)
  }

  #raise(label: string, number: number): void {
    if (number > (this.#highest.get(label) ?? 0) && number <= MAXIMUM_CONTINUED_NUMBER)
      this.#highest.set(label, number)
  }

  /** First free number from `from` on. A taken form is passed once, for all forks together. */
  #free(label: string, from: number): number {
    if (!this.#taken.has(formOf(label, from))) return from
    let number = this.#passed.get(formOf(label, from)) ?? from + 1
    while (this.#taken.has(formOf(label, number))) {
      number = this.#passed.get(formOf(label, number)) ?? number + 1
    }
    this.#passed.set(formOf(label, from), number)
    return number
  }

  #find(key: string): string | undefined {
    const known = this.#given?.get(key)
    return known !== undefined || this.#parent === null ? known : this.#parent.#find(key)
  }
}
