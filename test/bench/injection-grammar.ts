// Makes training sentences out of the phrase tables: attacks, and innocent sentences with the same words.

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
import { EVERYDAY, EVERYDAY_SLOTS } from './injection-everyday-data.ts'
import { LANGUAGES, type Language } from './injection-languages-data.ts'
import { MORE_OF_LANGUAGES } from './injection-languages-more-data.ts'
import type { Random } from './injection-learn.ts'
import { NEIGHBOURS } from './injection-neighbours-data.ts'

/** The templates sentences are made from: each is a family of sentences that resemble each other. */
export interface Families {
  readonly direct: readonly string[]
  readonly indirect: readonly string[]
  /** Demands that a document makes on the answer. */
  readonly response: readonly string[]
  readonly benign: readonly string[]
  /** What people type first; innocent. */
  readonly everyday: readonly string[]
  readonly languages: readonly LanguageFamilies[]
}

/** Parts of attacks, whole attacks, and innocent sentences of one language. */
interface LanguageFamilies extends Language {
  readonly attack: readonly string[]
}

export const ALL_FAMILIES: Families = {
  direct: [...DIRECT, ...MORE_DIRECT],
  indirect: [...INDIRECT, ...MORE_INDIRECT],
  response: [...RESPONSE, ...MORE_RESPONSE],
  benign: [...BENIGN, ...NEIGHBOURS],
  everyday: EVERYDAY,
  languages: LANGUAGES.map((language) => {
    const more = MORE_OF_LANGUAGES.find(({ name }) => name === language.name)
    return {
      ...language,
      attack: more?.attack ?? [],
      benign: [...language.benign, ...(more?.benign ?? [])],
    }
  }),
}

/** Every so-many-th family of each list (`held`), and the others: to see how the others generalise to it. */
export function splitFamilies(
  fold: number,
  folds: number,
): { readonly kept: Families; readonly held: Families } {
  const part = (held: boolean): Families => {
    const take = (list: readonly string[]) => list.filter((_, index) => (index % folds === fold) === held)
    const { direct, indirect, response, benign, everyday, languages } = ALL_FAMILIES
    return {
      direct: take(direct),
      indirect: take(indirect),
      response: take(response),
      benign: take(benign),
      everyday: take(everyday),
      languages: languages.map((language) => ({
        name: language.name,
        override: take(language.override),
        reveal: take(language.reveal),
        persona: take(language.persona),
        hijack: take(language.hijack),
        attack: take(language.attack),
        benign: take(language.benign),
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

/** Resolves `[a|b]` (innermost first) and `<slot>`. */
export function expand(template: string, random: Random): string {
  let text = template
  for (let depth = 0; depth < 4; depth++) {
    const next = text
      .replace(/<([a-z]+)>/g, (whole, name: string) => {
        const choices =
          name === 'hidden' ? HIDDEN : (SLOTS[name] ?? RESPONSE_SLOTS[name] ?? EVERYDAY_SLOTS[name])
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

export const indirectAttack: Maker = ({ indirect }, random) =>
  disturb(expand(pick(indirect, random), random), random)

/** A demand that a document makes on the answer. */
export const responseAttack: Maker = ({ response }, random) =>
  disturb(expand(pick(response, random), random), random)

export const benignSentence: Maker = ({ benign }, random) =>
  disturb(expand(pick(benign, random), random), random)

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
