// Names values by a keyed hash: `[EMAIL_k3f9a2xz]`. A value has one name in every call, process and
// replica with the key.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { labelOfKind, type PiiKind } from '../../core/finding.ts'
import { comparableValue } from '../../detect/pii/plain-value.ts'

/** How a gateway names values. */
export interface PseudonymTerms {
  /** Returns the key. A call that has nothing to name never asks. */
  key(): string
  /** Whether a value of an embedding that would get a number gets a pseudonym. */
  readonly inEmbeddings: boolean
}

/** Base32 in small letters, without `0`, `1`, `l` and `o`, which look alike. */
const ALPHABET = '23456789abcdefghijkmnpqrstuvwxyz'
const BITS_A_CHARACTER = 5
/**
 * Characters of a pseudonym: the first length at which the call has no other value with the same
 * characters. All of SHA-256 but one bit in the end.
 */
const LENGTHS = [8, 16, 32, 51]
const MAXIMUM_CHARACTERS = 51

/** The characters of pseudonyms as a regular expression. One letter at least is among them. */
export const PSEUDONYM_CHARACTERS = `(?=[2-9]*[a-z])[2-9a-kmnp-z]{8,${MAXIMUM_CHARACTERS}}`

/** Kinds whose spellings differ in separators and the case of letters only. */
const BY_CHARACTERS: ReadonlySet<PiiKind> = new Set([
  'phone',
  'credit_card',
  'us_ssn',
  'iban',
  'mac_address',
  'national_id',
  'passport',
  'driver_license',
])

/**
 * Returns what the spellings of a value share. The local part of an address keeps its case, because
 * servers may tell letters apart there (RFC 5321 §2.4), and so do values of open kinds.
 */
function normalised(kind: PiiKind, written: string): string {
  if (kind === 'secret') return written
  const value = comparableValue(written, BY_CHARACTERS.has(kind))
  if (BY_CHARACTERS.has(kind)) return value.replace(/[^0-9A-Za-z+]/g, '').toUpperCase()
  if (kind === 'ip_address') return value.toLowerCase()
  return kind === 'email' ? value.replace(/@[^@]*$/, (domain) => domain.toLowerCase()) : value
}

/** Returns the first characters of a hash, and as many more as one of them takes to be a letter. */
function characters(hash: Buffer, length: number): string {
  let text = ''
  let hasLetter = false
  let bits = 0
  let held = 0
  for (const byte of hash) {
    held = ((held & 31) << 8) | byte
    for (bits += 8; bits >= BITS_A_CHARACTER; ) {
      bits -= BITS_A_CHARACTER
      const character = ALPHABET[(held >> bits) & 31]!
      text += character
      hasLetter ||= character > '9'
      if (text.length >= length && hasLetter) return text
    }
  }
  return text
}

/** A value with its hash. */
interface Named {
  readonly label: string
  readonly hash: Buffer
}

const formOf = ({ label, hash }: Named, length: number): string => `[${label}_${characters(hash, length)}]`

/** Pseudonyms of one call. */
export class Pseudonyms {
  readonly #readKey: () => string
  #key: KeyObject | null = null
  readonly #parent: Pseudonyms | null
  readonly #named = new Map<string, Named>()
  /** The value of each form; null for a form that several values would have. */
  readonly #owners = new Map<string, Named | null>()

  /** @param key asked with the first value; a call has one key, however often the file changes */
  constructor(key: () => string, parent: Pseudonyms | null = null) {
    this.#parent = parent
    this.#readKey = key
  }

  /**
   * Takes note of a value, before any is named. Values with the same first characters then get
   * longer names, in any order.
   */
  expect(kind: PiiKind, value: string): void {
    const count = this.#named.size
    const named = this.#nameOf(kind, value)
    if (this.#named.size > count) this.#claim(named, 0)
  }

  /** Returns the pseudonym of a value. */
  for(kind: PiiKind, value: string): string {
    const named = this.#nameOf(kind, value)
    for (const length of LENGTHS) {
      const form = formOf(named, length)
      const owner = this.#ownerOf(form)
      if (owner === named) return form
      if (owner !== undefined) continue
      this.#owners.set(form, named)
      return form
    }
    return formOf(named, MAXIMUM_CHARACTERS)
  }

  /** Returns pseudonyms for one text of an answer: values that are new there are named alone. */
  fork(): Pseudonyms {
    return new Pseudonyms(this.#readKey, this)
  }

  #claim(named: Named, level: number): void {
    const length = LENGTHS[level]
    if (length === undefined) return
    const form = formOf(named, length)
    const owner = this.#owners.get(form)
    if (owner === undefined) {
      this.#owners.set(form, named)
      return
    }
    this.#owners.set(form, null)
    if (owner !== null) this.#claim(owner, level + 1)
    this.#claim(named, level + 1)
  }

  #nameOf(kind: PiiKind, value: string): Named {
    const text = normalised(kind, value)
    const label = labelOfKind(kind)
    const name = `${label} ${text}`
    const known = this.#find(name)
    if (known !== undefined) return known
    const named = { label, hash: createHmac('sha256', this.#keyOfCall()).update(text).digest() }
    this.#named.set(name, named)
    return named
  }

  /** A key object, because Node prepares a key in text anew for each hash. */
  #keyOfCall(): KeyObject {
    this.#key ??=
      this.#parent === null ? createSecretKey(Buffer.from(this.#readKey())) : this.#parent.#keyOfCall()
    return this.#key
  }

  #find(name: string): Named | undefined {
    const known = this.#named.get(name)
    return known !== undefined || this.#parent === null ? known : this.#parent.#find(name)
  }

  #ownerOf(form: string): Named | null | undefined {
    const owner = this.#owners.get(form)
    return owner !== undefined || this.#parent === null ? owner : this.#parent.#ownerOf(form)
  }
}
