// Makes training sentences from the phrase tables: attacks, and innocent sentences with the same
// words.

import { ASKING, ASKING_SLOTS } from './injection-asking-data.ts'
import { MORE_DIRECT, MORE_INDIRECT, MORE_RESPONSE } from './injection-attacks-data.ts'
import {
  BENIGN,
  DIRECT,
  HIDDEN,
  INDIRECT,
  RESPONSE,
  RESPONSE_SLOTS,
  SLOTS,
} from './injection-english-data.ts'
import { ERRAND_SLOTS, ERRANDS } from './injection-errands-data.ts'
import { ERRAND_LANGUAGES, type ErrandLanguage } from './injection-errands-languages-data.ts'
import { WRITTEN_ERRANDS } from './injection-errands-more-data.ts'
import { EVERYDAY, EVERYDAY_SLOTS } from './injection-everyday-data.ts'
import { HARMLESS, HARMLESS_SLOTS } from './injection-harmless-data.ts'
import { ASKING_OF_LANGUAGES } from './injection-languages-asking-data.ts'
import { LANGUAGES, type Language } from './injection-languages-data.ts'
import { MORE_OF_LANGUAGES, type MoreOfLanguage } from './injection-languages-more-data.ts'
import type { Random } from './injection-learn.ts'
import { NEIGHBOURS } from './injection-neighbours-data.ts'
import { ORDER_SLOTS, ORDER_TITLES, ORDERS } from './injection-orders-data.ts'
import { WRITTEN_ORDERS, WRITTEN_ORDERS_BY_LANGUAGE } from './injection-orders-more-data.ts'
import { STEERING, STEERING_SLOTS } from './injection-steering-data.ts'

/** Templates of sentences. Each is a family of similar sentences. */
export interface Families {
  readonly direct: readonly string[]
  /** Attacks in other words: asking for the text above, declaring rules void. */
  readonly asking: readonly string[]
  readonly indirect: readonly string[]
  /** Demands of a document on the answer. */
  readonly response: readonly string[]
  /** Instructions of a document to the assistant that reads it. */
  readonly errands: readonly string[]
  /** The same, written one by one. */
  readonly writtenErrands: readonly string[]
  readonly benign: readonly string[]
  /** Innocent neighbours of `asking`. */
  readonly harmless: readonly string[]
  /** Innocent commands of documents to people. */
  readonly orders: readonly string[]
  /** Innocent first prompts. */
  readonly everyday: readonly string[]
  /** Innocent follow-ups. */
  readonly steering: readonly string[]
  readonly languages: readonly LanguageFamilies[]
  /** `asking` and `harmless` in other languages. */
  readonly askingLanguages: readonly MoreOfLanguage[]
  /** Commands to people, written sentence by sentence. */
  readonly written: readonly string[]
  /** The same, one language per list. */
  readonly writtenByLanguage: readonly (readonly string[])[]
  /** Instructions and commands in further languages. */
  readonly errandLanguages: readonly ErrandLanguage[]
}

/** Parts of attacks, whole attacks, and innocent sentences of one language. */
interface LanguageFamilies extends Language {
  readonly attack: readonly string[]
}

export const ALL_FAMILIES: Families = {
  direct: [...DIRECT, ...MORE_DIRECT],
  asking: ASKING,
  indirect: [...INDIRECT, ...MORE_INDIRECT],
  response: [...RESPONSE, ...MORE_RESPONSE],
  errands: ERRANDS,
  writtenErrands: WRITTEN_ERRANDS,
  benign: [...BENIGN, ...NEIGHBOURS],
  harmless: HARMLESS,
  orders: ORDERS,
  everyday: EVERYDAY,
  steering: STEERING,
  languages: LANGUAGES.map((language) => {
    const more = MORE_OF_LANGUAGES.find(({ name }) => name === language.name)
    return {
      ...language,
      attack: more?.attack ?? [],
      benign: [...language.benign, ...(more?.benign ?? [])],
    }
  }),
  askingLanguages: ASKING_OF_LANGUAGES,
  written: WRITTEN_ORDERS,
  writtenByLanguage: WRITTEN_ORDERS_BY_LANGUAGE,
  errandLanguages: ERRAND_LANGUAGES,
}

/**
 * Splits each list into every n-th family (`held`) and the others, to measure how the others
 * generalise.
 */
export function splitFamilies(
  fold: number,
  folds: number,
): { readonly kept: Families; readonly held: Families } {
  const part = (held: boolean): Families => {
    const take = (list: readonly string[]) => list.filter((_, index) => (index % folds === fold) === held)
    const { direct, indirect, response, errands, benign, orders, everyday, languages } = ALL_FAMILIES
    return {
      direct: take(direct),
      indirect: take(indirect),
      response: take(response),
      errands: take(errands),
      writtenErrands: take(ALL_FAMILIES.writtenErrands),
      benign: take(benign),
      asking: take(ALL_FAMILIES.asking),
      harmless: take(ALL_FAMILIES.harmless),
      orders: take(orders),
      everyday: take(everyday),
      steering: take(ALL_FAMILIES.steering),
      languages: languages.map((language) => ({
        name: language.name,
        override: take(language.override),
        reveal: take(language.reveal),
        persona: take(language.persona),
        hijack: take(language.hijack),
        attack: take(language.attack),
        benign: take(language.benign),
      })),
      askingLanguages: ALL_FAMILIES.askingLanguages.map(({ name, attack, benign }) => ({
        name,
        attack: take(attack),
        benign: take(benign),
      })),
      written: take(ALL_FAMILIES.written),
      writtenByLanguage: ALL_FAMILIES.writtenByLanguage.map(take),
      errandLanguages: ALL_FAMILIES.errandLanguages.map((language) => ({
        name: language.name,
        orders: take(language.orders),
        errands: take(language.errands),
      })),
    }
  }
  return { kept: part(false), held: part(true) }
}

/** Makes sentences of one kind from the families. */
export type Maker = (families: Families, random: Random) => string

/** Picks an item; the same for the same state of the generator. */
export function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random() * items.length)] as T
}

const ALL_SLOTS: Readonly<Record<string, readonly string[]>> = {
  ...ORDER_SLOTS,
  ...ERRAND_SLOTS,
  ...EVERYDAY_SLOTS,
  ...STEERING_SLOTS,
  ...RESPONSE_SLOTS,
  ...ASKING_SLOTS,
  ...HARMLESS_SLOTS,
  ...SLOTS,
}

/** Resolves `[a|b]` (innermost first) and `<slot>`. */
export function expand(template: string, random: Random): string {
  let text = template
  for (let depth = 0; depth < 6; depth++) {
    const next = text
      .replace(/<([a-z]+)>/g, (whole, name: string) => {
        const choices = name === 'hidden' ? HIDDEN : ALL_SLOTS[name]
        return choices === undefined ? whole : pick(choices, random)
      })
      .replace(/\[([^[\]]*\|[^[\]]*)\]/g, (_, choices: string) => pick(choices.split('|'), random))
    if (next === text) break
    text = next
  }
  return text.replaceAll('⟦', '[').replaceAll('⟧', ']').replaceAll('¦', '|').replace(/ {2,}/g, ' ').trim()
}

export const directAttack: Maker = ({ direct }, random) =>
  disturb(expand(pick(direct, random), random), random)

/** Makes an attack that asks for the prompt, or declares the rules void, in other words. */
export const askingAttack: Maker = ({ asking }, random) =>
  disturb(expand(pick(asking, random), random), random)

export const harmlessRequest: Maker = ({ harmless }, random) =>
  disturb(expand(pick(harmless, random), random), random)

/** Like askingAttack, in one of the languages. */
export const foreignAsking: Maker = ({ askingLanguages }, random) => {
  const { attack } = pick(askingLanguages, random)
  return attack.length === 0 ? '' : expand(pick(attack, random), random)
}

/** Makes one or two sentences like those of harmlessRequest, in one of the languages. */
export const foreignHarmless: Maker = ({ askingLanguages }, random) => {
  const { benign } = pick(askingLanguages, random)
  if (benign.length === 0) return ''
  return Array.from({ length: 1 + Math.floor(random() * 2) }, () =>
    expand(pick(benign, random), random),
  ).join(' ')
}

export const indirectAttack: Maker = ({ indirect }, random) =>
  disturb(expand(pick(indirect, random), random), random)

/** Makes a demand of a document on the answer. */
export const responseAttack: Maker = ({ response }, random) =>
  disturb(expand(pick(response, random), random), random)

/** Makes an instruction to the assistant that reads a document. */
export const errand: Maker = ({ errands, writtenErrands }, random) => {
  if (random() >= WRITTEN_ERRAND_SHARE) return disturb(expand(pick(errands, random), random), random)
  const before = expand(pick(ERRAND_OPENINGS, random), random)
  const after = random() < 0.3 ? expand('<quiet>', random) : ''
  const text = `${before} ${pick(writtenErrands, random)}`.trim()
  return disturb(
    after === '' ? text : `${text.replace(/\.$/, '')}${after.startsWith('.') ? '' : ' '}${after}.`,
    random,
  )
}

/** Share of instructions that are written ones, sometimes with text around them. */
const WRITTEN_ERRAND_SHARE = 0.3
const ERRAND_OPENINGS: readonly string[] = ['', '', '', '[Note|Hint|PS|Important|Info][:| -]', '<machine>:']

/** Makes a command to people. */
export const order: Maker = ({ orders }, random) => disturb(expand(pick(orders, random), random), random)

/** Makes an instruction in one of the languages. */
export const foreignErrand: Maker = ({ errandLanguages }, random) => {
  const { errands } = pick(errandLanguages, random)
  return errands.length === 0 ? '' : expand(pick(errands, random), random)
}

/** Makes a document of 3 to 14 commands to people, in one language. */
export const orderDocument: Maker = ({ orders, written }, random) => {
  const share = pick(WRITTEN_SHARES, random)
  const sentences = Array.from({ length: 3 + Math.floor(random() * 12) }, () =>
    random() < share ? pick(written, random) : capital(expand(pick(orders, random), random)),
  )
  return (
    capital(expand(pick(ORDER_TITLES, random), random)) + pick(TITLE_ENDS, random) + joined(sentences, random)
  )
}

/** Share of sentences of a document that are written ones. */
const WRITTEN_SHARES: readonly number[] = [0, 0.5, 1]

/** Like orderDocument, in one of the languages. */
export const foreignOrders: Maker = ({ errandLanguages, writtenByLanguage }, random) => {
  if (random() < FOREIGN_WRITTEN_SHARE) {
    const sentences = pick(writtenByLanguage, random)
    return joined(
      Array.from({ length: 2 + Math.floor(random() * 7) }, () => pick(sentences, random)),
      random,
    )
  }
  const { orders } = pick(errandLanguages, random)
  if (orders.length === 0) return ''
  return joined(
    Array.from({ length: 2 + Math.floor(random() * 8) }, () => expand(pick(orders, random), random)),
    random,
  )
}

/** Share of documents in other languages with written sentences. */
const FOREIGN_WRITTEN_SHARE = 0.4

const TITLE_ENDS: readonly string[] = [' ', '\n', '\n\n']

function joined(sentences: readonly string[], random: Random): string {
  return sentences.join(pick([' ', ' ', ' ', '\n', '\n\n', '\n- '], random))
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export const benignSentence: Maker = ({ benign }, random) =>
  disturb(expand(pick(benign, random), random), random)

export const steeringRequest: Maker = ({ steering }, random) =>
  disturb(expand(pick(steering, random), random), random)

export const everydayRequest: Maker = ({ everyday }, random) =>
  disturb(expand(pick(everyday, random), random), random)

/** Share of attacks taken whole if a language has whole ones. */
const WHOLE_SHARE = 0.45

/** Makes an attack in one of the languages, sometimes next to an innocent sentence. */
export const foreignAttack: Maker = ({ languages }, random) => {
  const language = pick(languages, random)
  const from = (list: readonly string[]) => (list.length === 0 ? '' : expand(pick(list, random), random))
  const shape = random()
  let text: string
  if (language.attack.length > 0 && random() < WHOLE_SHARE) text = from(language.attack)
  else if (shape < 0.25) text = from(language.override)
  else if (shape < 0.4) text = `${from(language.override)} ${from(language.hijack)}`
  else if (shape < 0.55)
    text = `${from(language.override)}${pick(['. ', ', ', ' — '], random)}${from(language.reveal)}`
  else if (shape < 0.75) text = from(language.reveal)
  else if (shape < 0.84) text = from(language.persona)
  else if (shape < 0.92)
    text = `${from(language.override)}${pick([', ', '. ', ' '], random)}${from(language.persona)}`
  else text = `${from(language.persona)}. ${from(language.reveal)}`
  if (random() < 0.2) text = `${from(language.benign)} ${text}`
  return `${text}${pick(['', '', '.', '!', '!!!'], random)}`
}

/** Makes one to three innocent sentences in one of the languages. */
export const foreignBenign: Maker = ({ languages }, random) => {
  const language = pick(languages, random)
  const sentences = 1 + Math.floor(random() * 3)
  return Array.from({ length: sentences }, () => expand(pick(language.benign, random), random)).join(' ')
}

/** Varies case and closing marks, in both classes alike. */
function disturb(text: string, random: Random): string {
  const shape = random()
  let varied = text
  if (shape < 0.45) varied = text.charAt(0).toUpperCase() + text.slice(1)
  else if (shape < 0.5) varied = text.toUpperCase()
  else if (shape < 0.65) varied = text.toLowerCase()
  const last = varied.at(-1) ?? ''
  return /[\p{L}\p{N}]/u.test(last) ? varied + pick(['', '.', '!', '', '.'], random) : varied
}
