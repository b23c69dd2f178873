// Makes training sentences out of the phrase tables: attacks, and innocent sentences with the same words.

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

/** The templates sentences are made from: each is a family of sentences that resemble each other. */
export interface Families {
  readonly direct: readonly string[]
  /** The same in other words: asking for what stands above, declaring rules void. */
  readonly asking: readonly string[]
  readonly indirect: readonly string[]
  /** Demands that a document makes on the answer. */
  readonly response: readonly string[]
  /** What a document tells the assistant that reads it. */
  readonly errands: readonly string[]
  /** Errands as they are written, one by one. */
  readonly writtenErrands: readonly string[]
  readonly benign: readonly string[]
  /** Innocent neighbours of `asking`. */
  readonly harmless: readonly string[]
  /** What documents tell people; innocent. */
  readonly orders: readonly string[]
  /** What people type first; innocent. */
  readonly everyday: readonly string[]
  /** How they go on; innocent. */
  readonly steering: readonly string[]
  readonly languages: readonly LanguageFamilies[]
  /** `asking` and `harmless` in other languages. */
  readonly askingLanguages: readonly MoreOfLanguage[]
  /** Orders as they are written, sentence by sentence. */
  readonly written: readonly string[]
  /** The same, each list in another language. */
  readonly writtenByLanguage: readonly (readonly string[])[]
  /** Errands and orders once more, in other languages. */
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

/** Every so-many-th family of each list (`held`), and the others: to see how the others generalise to it. */
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

/** Makes sentences of one kind out of the families. */
export type Maker = (families: Families, random: Random) => string

/** One of the items; the same for the same state of the generator. */
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

/** An attack that asks for the prompt, or does away with the rules, in other words. */
export const askingAttack: Maker = ({ asking }, random) =>
  disturb(expand(pick(asking, random), random), random)

export const harmlessRequest: Maker = ({ harmless }, random) =>
  disturb(expand(pick(harmless, random), random), random)

/** As askingAttack, in one of the languages. */
export const foreignAsking: Maker = ({ askingLanguages }, random) => {
  const { attack } = pick(askingLanguages, random)
  return attack.length === 0 ? '' : expand(pick(attack, random), random)
}

/** One or two sentences as of harmlessRequest, in one of the languages. */
export const foreignHarmless: Maker = ({ askingLanguages }, random) => {
  const { benign } = pick(askingLanguages, random)
  if (benign.length === 0) return ''
  return Array.from({ length: 1 + Math.floor(random() * 2) }, () =>
    expand(pick(benign, random), random),
  ).join(' ')
}

export const indirectAttack: Maker = ({ indirect }, random) =>
  disturb(expand(pick(indirect, random), random), random)

/** A demand that a document makes on the answer. */
export const responseAttack: Maker = ({ response }, random) =>
  disturb(expand(pick(response, random), random), random)

/** An instruction to the assistant that reads a document. */
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

/** So many errands are written ones, sometimes with something before or behind them. */
const WRITTEN_ERRAND_SHARE = 0.3
const ERRAND_OPENINGS: readonly string[] = ['', '', '', '[Note|Hint|PS|Important|Info][:| -]', '<machine>:']

/** A command to people. */
export const order: Maker = ({ orders }, random) => disturb(expand(pick(orders, random), random), random)

/** An errand in one of the languages. */
export const foreignErrand: Maker = ({ errandLanguages }, random) => {
  const { errands } = pick(errandLanguages, random)
  return errands.length === 0 ? '' : expand(pick(errands, random), random)
}

/** A document full of commands to people, of 3 to 14 sentences; all in one language. */
export const orderDocument: Maker = ({ orders, written }, random) => {
  const share = pick(WRITTEN_SHARES, random)
  const sentences = Array.from({ length: 3 + Math.floor(random() * 12) }, () =>
    random() < share ? pick(written, random) : capital(expand(pick(orders, random), random)),
  )
  return (
    capital(expand(pick(ORDER_TITLES, random), random)) + pick(TITLE_ENDS, random) + joined(sentences, random)
  )
}

/** So many sentences of a document are written ones. */
const WRITTEN_SHARES: readonly number[] = [0, 0.5, 1]

/** As orderDocument, in one of the languages. */
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

/** So many documents in other languages are of written sentences. */
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

/** So many attacks are taken whole where a language has whole ones. */
const WHOLE_SHARE = 0.45

/** An attack in one of the languages, sometimes behind or before an innocent sentence. */
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

/** One to three innocent sentences in one of the languages. */
export const foreignBenign: Maker = ({ languages }, random) => {
  const language = pick(languages, random)
  const sentences = 1 + Math.floor(random() * 3)
  return Array.from({ length: sentences }, () => expand(pick(language.benign, random), random)).join(' ')
}

/** Case and closing marks vary as they do among people, in both classes alike. */
function disturb(text: string, random: Random): string {
  const shape = random()
  let varied = text
  if (shape < 0.45) varied = text.charAt(0).toUpperCase() + text.slice(1)
  else if (shape < 0.5) varied = text.toUpperCase()
  else if (shape < 0.65) varied = text.toLowerCase()
  const last = varied.at(-1) ?? ''
  return /[\p{L}\p{N}]/u.test(last) ? varied + pick(['', '.', '!', '', '.'], random) : varied
}
