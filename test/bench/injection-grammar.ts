// Makes training sentences out of the phrase tables: attacks, and innocent sentences with the same words.

import {
  BENIGN,
  DIRECT,
  HIDDEN,
  INDIRECT,
  RESPONSE,
  RESPONSE_SLOTS,
  SLOTS,
} from './injection-english-data.ts'
import { LANGUAGES } from './injection-languages-data.ts'
import type { Random } from './injection-learn.ts'

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
        const choices = name === 'hidden' ? HIDDEN : (SLOTS[name] ?? RESPONSE_SLOTS[name])
        return choices === undefined ? whole : pick(choices, random)
      })
      .replace(/\[([^[\]]*\|[^[\]]*)\]/g, (_, choices: string) => pick(choices.split('|'), random))
    if (next === text) break
    text = next
  }
  return text.replaceAll('⟦', '[').replaceAll('⟧', ']').replaceAll('¦', '|').replace(/ {2,}/g, ' ').trim()
}

export function directAttack(random: Random): string {
  return disturb(expand(pick(DIRECT, random), random), random)
}

export function indirectAttack(random: Random): string {
  return disturb(expand(pick(INDIRECT, random), random), random)
}

/** A demand that a document makes on the answer. */
export function responseAttack(random: Random): string {
  return disturb(expand(pick(RESPONSE, random), random), random)
}

export function benignSentence(random: Random): string {
  return disturb(expand(pick(BENIGN, random), random), random)
}

/** An attack in one of the languages, sometimes behind or before an innocent sentence. */
export function foreignAttack(random: Random): string {
  const language = pick(LANGUAGES, random)
  const from = (list: readonly string[]) => expand(pick(list, random), random)
  const shape = random()
  let text: string
  if (shape < 0.25) text = from(language.override)
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
export function foreignBenign(random: Random): string {
  const language = pick(LANGUAGES, random)
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
