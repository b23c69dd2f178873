// Reads the phrase files of this folder and makes sentences from their templates. In a template
// `[a|b]` is a choice and may be empty, `<name>` takes from a list of slots.txt, and `⟦ ⟧ ¦` are
// brackets and the bar.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Random = () => number

/** Lists of templates by the heading of their section. */
export type Phrases = ReadonlyMap<string, readonly string[]>

const FOLDER = join(import.meta.dirname, 'texts')
const EXPANSIONS_MAX = 6

/** A small generator of numbers in [0, 1), the same on every machine (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random() * items.length)] as T
}

/** Reads one file: `## heading`, then one template a line, in which `\n` is a line end. */
export function readPhrases(name: string): Phrases {
  const sections = new Map<string, string[]>()
  let section: string[] = []
  for (const line of readFileSync(join(FOLDER, `${name}.txt`), 'utf8').split('\n')) {
    if (line.startsWith('## ')) {
      section = sections.get(line.slice(3)) ?? []
      sections.set(line.slice(3), section)
    } else if (line !== '' && !line.startsWith('# '))
      section.push(line.replace(/\\([nt#\\])/g, (_, code: string) => ESCAPES[code] as string))
  }
  return sections
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '#': '#', '\\': '\\' }

/** Names of the files of languages, such as `de`. */
export function languageNames(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => /^[a-z]{2}(-[a-z]+)?\.txt$/.test(name))
    .map((name) => name.replace('.txt', ''))
    .sort()
}

const slots = readPhrases('slots')

/** Resolves `[a|b]`, innermost first, and `<slot>`. */
export function expand(template: string, random: Random): string {
  let text = template
  for (let depth = 0; depth < EXPANSIONS_MAX; depth++) {
    const next = text
      .replace(/<([a-z]+)>/g, (whole, name: string) => {
        const choices = slots.get(name)
        return choices === undefined ? whole : pick(choices, random)
      })
      .replace(/\[([^[\]]*\|[^[\]]*)\]/g, (_, choices: string) => pick(choices.split('|'), random))
    if (next === text) break
    text = next
  }
  return text.replaceAll('⟦', '[').replaceAll('⟧', ']').replaceAll('¦', '|').replace(/ {2,}/g, ' ').trim()
}
