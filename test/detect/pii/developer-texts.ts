// Makes texts as developers send them, without personal data, the same for the same seed. In them
// stand words that are labels elsewhere: phone, call, card, cc, ci, born.

import { DEVELOPER_LINES } from './developer-lines.ts'

/** Words of programs that are no labels of values. */
const WORDS =
  'user config build index cache handler worker queue request parser token buffer stream node table column entry offset total ' +
  'count pages batch client server session render layout widget event service proxy router schema model record item order ' +
  'invoice report target source deploy filter module plugin window panel vector matrix kernel driver socket thread'
/** Words of programs that are labels of values elsewhere. */
const LABELS =
  'phone call card contact mobile cell home office text tel fax signal reach direct ring number dial sms telephone pager ' +
  'contacts calls cards visa credit debit social birth nato passport license identity document tax born run sin nid ci cc'
const FILES =
  'phone.ts call.go tel.py card.tsx mobile.css contact.html callcodes.ts telephone.rs cell.c office.cc fax.java ssn.rb sin.c nid.sql ' +
  'ci.yml run.sh identity.kt passport.js license.txt index.ts main.go parser.py signal.h ring.cpp home.vue text.md cc.mk rg.toml'
const SUBJECTS =
  'git: fix call|phone: parse extensions|Fix call|detect: tell a card from a call|Add phone|test: cover mobile|Update contact|' +
  'refactor home office|ui: drop text|Revert "add ssn"|chore: bump ci|fix cell|feat(tel): dial|Remove fax|docs: passport|Merge tax'
const OCTAL = '01234567'
const DIGITS = '0123456789'
const HEX = '0123456789abcdef'
const STROKES = '12345'
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const BASE64_CHARACTERS = 60

/** A generator of numbers in [0, 1), the same for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const capitalised = (word: string): string => word.replace(/^./, (first) => first.toUpperCase())

const HOLE = /\{(net|netb|[wWpPfcdhHolb])(\d*)\}/g

class Filler {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = seeded(seed)
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!
  }

  /** A line with its holes filled. */
  fill(line: string): string {
    return line.replace(HOLE, (_, hole: string, count: string) => this.#valueOf(hole, Number(count)))
  }

  #valueOf(hole: string, count: number): string {
    if (hole === 'w') return this.pick(WORDS.split(' '))
    if (hole === 'W') return capitalised(this.pick(WORDS.split(' ')))
    if (hole === 'p') return this.pick(LABELS.split(' '))
    if (hole === 'P') return capitalised(this.pick(LABELS.split(' ')))
    if (hole === 'f') return this.pick(FILES.split(' '))
    if (hole === 'c') return this.pick(SUBJECTS.split('|'))
    if (hole === 'net')
      return this.pick(['10.{d2}.0.0/16', '172.16.{d2}.0/24', '192.168.{d2}.0/24']).replace(HOLE, () =>
        this.#digits(2),
      )
    if (hole === 'netb')
      return this.pick(['10.{d2}.0.0', '172.16.{d2}.0', '192.168.{d2}.0']).replace(HOLE, () =>
        this.#digits(2),
      )
    if (hole === 'd') return this.#digits(count)
    const alphabet = { h: HEX, H: HEX.toUpperCase(), o: OCTAL, l: STROKES, b: BASE64 }[hole] ?? DIGITS
    const characters = hole === 'b' && count === 0 ? BASE64_CHARACTERS : count
    return Array.from({ length: characters }, () => this.pick([...alphabet])).join('')
  }

  /** A number without leading zeros. */
  #digits(count: number): string {
    const rest = Array.from({ length: count - 1 }, () => this.pick([...DIGITS])).join('')
    return this.pick([...DIGITS.slice(1)]) + rest
  }
}

/** One text of each kind. */
export function* developerTexts(
  characters: number,
  seed: number,
): Generator<{ readonly kind: string; readonly text: string }> {
  for (const [index, [kind, { head = '', lines }]] of Object.entries(DEVELOPER_LINES).entries()) {
    const filler = new Filler(seed * 1000 + index)
    const parts = [filler.fill(head)]
    for (let length = 0; length < characters; ) {
      const line = `${filler.fill(filler.pick(lines))}\n`
      parts.push(line)
      length += line.length
    }
    yield { kind, text: parts.join('') }
  }
}
