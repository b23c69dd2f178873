// Numbers for values: [EMAIL_1], the same value the same number, never a form that stands in the text already.

import { PII_KINDS, type PiiKind } from '../../core/finding.ts'

const FORM = /\[([A-Z_]+)_([0-9]{1,9})\]/g
/** Kinds whose writing varies by separators alone. */
const BY_CHARACTERS = new Set<PiiKind>(['phone', 'credit_card', 'us_ssn', 'iban', 'mac_address'])

const formOf = (label: string, number: number): string => `[${label}_${number}]`

/** What makes two writings the same value. */
function identity(kind: PiiKind, value: string): string {
  if (kind === 'email') return value.toLowerCase()
  return BY_CHARACTERS.has(kind) ? value.replace(/[^0-9A-Za-z+]/g, '').toUpperCase() : value
}

/** The numbering of one call. */
export class Placeholders {
  readonly #parent: Placeholders | null
  // Made with the first placeholder: most calls have nothing to replace, and there may be thousands of them.
  #given: Map<string, string> | null = null
  #next: Map<string, number> | null
  /** Forms in the texts themselves; shared by a numbering and its forks. */
  readonly #taken: Set<string>
  /** Of forms that are taken: the number behind which there may be one that is not. Shared in the same way. */
  readonly #passed: Map<string, number>

  constructor(parent: Placeholders | null = null) {
    this.#parent = parent
    this.#next = parent === null || parent.#next === null ? null : new Map(parent.#next)
    this.#taken = parent === null ? new Set() : parent.#taken
    this.#passed = parent === null ? new Map() : parent.#passed
  }

  /** Tells a text that will be sent: forms in it are not given out. @param kinds all where they are not said */
  avoid(text: string, kinds: readonly PiiKind[] = PII_KINDS): void {
    if (!text.includes('[')) return
    for (const [form, label] of text.matchAll(FORM))
      if (kinds.some((kind) => kind.toUpperCase() === label)) this.#taken.add(form)
  }

  /** The placeholder of a value. */
  for(kind: PiiKind, value: string): string {
    const key = `${kind} ${identity(kind, value)}`
    const known = this.#find(key)
    if (known !== undefined) return known
    this.#given ??= new Map()
    this.#next ??= new Map()
    const label = kind.toUpperCase()
    const number = this.#free(label, this.#next.get(label) ?? 1)
    this.#next.set(label, number + 1)
    const placeholder = formOf(label, number)
    this.#given.set(key, placeholder)
    return placeholder
  }

  /** A numbering for one text of an answer: knows these values, numbers new ones from here on by itself. */
  fork(): Placeholders {
    return new Placeholders(this)
  }

  /** The first number from there on whose form is not taken. Each that is taken is passed once, however many forks ask. */
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
