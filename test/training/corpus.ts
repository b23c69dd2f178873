// Collects the texts of the training: rows of the corpora and sentences made from the phrase files.

import { readFileSync } from 'node:fs'
import { TRANSFORMS } from '../detect/injection/transforms.ts'
import { expand, languageNames, type Phrases, pick, type Random, readPhrases } from './phrases.ts'

export interface Row {
  readonly text: string
  readonly label: 0 | 1
  readonly source: string
  readonly lang?: string
  /** Source of a long innocent text. */
  readonly origin?: string
  /** UTF-16 offsets of the attack in a document that was put together. */
  readonly plant?: { readonly start: number; readonly end: number }
}

/** Reads JSON Lines with `text`, `label` and `source`, and maybe `lang`. */
export function readRows(path: string): Row[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}

/** Whether a template takes part, by its number in its section. */
export type Chosen = (index: number) => boolean

/** Makes sentences from the chosen templates. Every source name begins with `own_`. */
export class Grammar {
  readonly #random: Random
  readonly #english: Phrases
  readonly #format: Phrases
  readonly #languages: readonly (readonly [name: string, phrases: Phrases])[]

  constructor(random: Random, chosen: Chosen = () => true) {
    this.#random = random
    const keep = (phrases: Phrases): Phrases =>
      new Map([...phrases].map(([name, list]) => [name, list.filter((_, index) => chosen(index))]))
    this.#english = keep(readPhrases('english'))
    this.#format = keep(readPhrases('format'))
    this.#languages = languageNames().map((name) => [name, keep(readPhrases(name))])
  }

  /** A different sentence for each try; fewer rows where templates repeat. */
  #rows(count: number, source: string, label: 0 | 1, make: () => string, lang?: string): Row[] {
    const texts = new Set<string>()
    for (let tries = 0; tries < count; tries++) texts.add(make())
    texts.delete('')
    return Array.from(texts, (text) => ({ text, label, source, ...(lang === undefined ? {} : { lang }) }))
  }

  #sentence(phrases: Phrases, section: string): string {
    const list = phrases.get(section) ?? []
    return list.length === 0 ? '' : expand(pick(list, this.#random), this.#random)
  }

  english(section: string, count: number, label: 0 | 1): Row[] {
    const source = `own_${section.replace(' ', '_')}`
    return this.#rows(count, source, label, () =>
      disturb(this.#sentence(this.#english, section), this.#random),
    )
  }

  /** Requests with instructions on the form of the answer, and second turns. */
  format(count: number): Row[] {
    const random = this.#random
    return this.#rows(count, 'own_format', 0, () => {
      if (random() < 0.3) return disturb(this.#sentence(this.#format, 'turn'), random)
      const forms = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
        sentence(this.#sentence(this.#format, 'form')),
      )
      if (random() < 0.12) return disturb(forms.join(' '), random)
      const task = sentence(this.#sentence(this.#format, 'task'))
      const parts = random() < 0.15 ? [...forms, task] : [task, ...forms]
      return disturb(parts.join(pick([' ', ' ', '\n', '\n\n'], random)), random)
    })
  }

  /** Attacks in one language, some of them among innocent sentences. */
  attacks(name: string, count: number): Row[] {
    const phrases = this.#phrases(name)
    const random = this.#random
    const from = (section: string) => this.#sentence(phrases, section)
    return this.#rows(
      count,
      'own_attack',
      1,
      () => {
        const shape = random()
        const glue = pick(['. ', ', ', ' — ', ' '], random)
        let text = ''
        if (phrases.has('attack') && shape < 0.65) text = from('attack')
        else if (shape < 0.72) text = from('override')
        else if (shape < 0.77) text = `${from('override')} ${from('hijack')}`
        else if (shape < 0.84) text = `${from('override')}${glue}${from('reveal')}`
        else if (shape < 0.9) text = from('reveal')
        else if (shape < 0.95) text = from('persona')
        else text = `${from('persona')}. ${from('reveal')}`
        if (text.trim() === '') return ''
        const beside = random()
        if (beside < 0.12) text = `${from('benign')} ${text}`
        else if (beside < 0.2) text = `${text} ${from('benign')}`
        else if (beside < 0.28) text = `${from('letter') || from('benign')}\n${text}`
        return `${text}${/[\p{L}\p{N}]$/u.test(text) ? pick(['', '', '.', '!'], random) : ''}`
      },
      name,
    )
  }

  /** Innocent look-alikes in one language, one to three sentences. */
  innocents(name: string, count: number): Row[] {
    const phrases = this.#phrases(name)
    const random = this.#random
    return this.#rows(
      count,
      'own_innocent',
      0,
      () => {
        const parts = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
          this.#sentence(phrases, 'benign'),
        )
        if (random() < 0.3) parts.push(this.#sentence(phrases, 'form'))
        return parts.join(' ').trim()
      },
      name,
    )
  }

  /** Letters, chats, tickets and minutes, most with a request about them. */
  letters(name: string, count: number): Row[] {
    const phrases = this.#phrases(name)
    if (!phrases.has('letter')) return []
    const random = this.#random
    return this.#rows(
      count,
      'own_letter',
      0,
      () => {
        const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
          this.#sentence(phrases, 'letter'),
        )
        const ask = this.#sentence(phrases, 'ask')
        const place = random()
        if (place < 0.6) parts.unshift(ask)
        else if (place < 0.75) parts.push(ask)
        return parts.join(pick(['\n\n', '\n', ' '], random))
      },
      name,
    )
  }

  /** Documents of commands to people. */
  orders(name: string, count: number): Row[] {
    const phrases = name === 'en' ? this.#english : this.#phrases(name)
    const random = this.#random
    return this.#rows(
      count,
      'own_orders',
      0,
      () => {
        const parts = Array.from({ length: 2 + Math.floor(random() * 8) }, () =>
          this.#sentence(phrases, name === 'en' && random() < 0.5 ? 'written order' : 'order'),
        )
        return parts.join(pick([' ', ' ', '\n', '\n\n', '\n- '], random)).trim()
      },
      name,
    )
  }

  /** Notes to people, and texts about assistants, in documents. */
  notices(name: string, count: number): Row[] {
    return this.#passages(name, count, 'own_notice', ['notice', 'machine', 'order'])
  }

  /** Chapters and questions about prompts and attacks. */
  chapters(name: string, count: number): Row[] {
    return this.#passages(name, count, 'own_chapter', ['chapter'])
  }

  /** Innocent texts of one to eight sentences from these sections. */
  #passages(name: string, count: number, source: string, sections: readonly string[]): Row[] {
    const phrases = this.#phrases(name)
    const random = this.#random
    const known = sections.filter((section) => phrases.has(section))
    if (known.length === 0) return []
    return this.#rows(
      count,
      source,
      0,
      () => {
        const parts = Array.from({ length: 1 + Math.floor(random() ** 2 * 8) }, () =>
          this.#sentence(phrases, pick(known, random)),
        )
        return parts.join(pick([' ', ' ', '\n', '\n\n'], random)).trim()
      },
      name,
    )
  }

  /** Instructions in a document to the assistant that reads it. */
  errands(name: string, count: number): Row[] {
    const phrases = this.#phrases(name)
    const random = this.#random
    const from = (section: string) => this.#sentence(phrases, section)
    const space = UNSPACED.has(name) ? '' : ' '
    return this.#rows(
      count,
      'own_foreign_errand',
      1,
      () => {
        const shape = random()
        if (!phrases.has('reader') || shape < 0.15) return from('errand')
        let text = shape < 0.75 ? from('reader') + space + from('deed') : from('must') + space + from('task')
        if (random() < 0.15) text += pick(['; ', ', ', '. '], random) + from('deed')
        if (random() < 0.3) text = `${sentence(text)} ${from('hush')}`
        return wrapped(text, random)
      },
      name,
    )
  }

  /** Papers of many kinds: mail, stories, recipes, contracts, news, minutes. */
  papers(name: string, count: number): Row[] {
    return this.#passages(name, count, 'own_paper', ['paper'])
  }

  get languages(): string[] {
    return this.#languages.map(([name]) => name)
  }

  #phrases(name: string): Phrases {
    return this.#languages.find(([one]) => one === name)![1]
  }
}

/** Languages without spaces between words. */
const UNSPACED = new Set(['ja', 'th', 'zh'])

/** Puts some notes into comments and brackets. */
function wrapped(text: string, random: Random): string {
  const shape = random()
  if (shape < 0.12) return `<!-- ${text} -->`
  if (shape < 0.17) return `(${text})`
  if (shape < 0.22) return `[${text}]`
  if (shape < 0.26) return `# ${text}`
  if (shape < 0.3) return `"${pick(['note', 'comment', 'description'], random)}": "${text}"`
  return sentence(text)
}

/** Adds a full stop where a sentence has no end. */
function sentence(text: string): string {
  const end = text.charAt(0).toUpperCase() + text.slice(1)
  return /[\p{L}\p{N}"')\]>*]$/u.test(end) ? `${end}.` : end
}

/** Varies case and closing marks, in both classes alike. */
function disturb(text: string, random: Random): string {
  const shape = random()
  let varied = text
  if (shape < 0.45) varied = text.charAt(0).toUpperCase() + text.slice(1)
  else if (shape < 0.5) varied = text.toUpperCase()
  else if (shape < 0.65) varied = text.toLowerCase()
  return /[\p{L}\p{N}]$/u.test(varied) ? varied + pick(['', '.', '!', '', '.'], random) : varied
}

const KINDS = [
  'EMAIL',
  'PHONE',
  'CREDIT_CARD',
  'PERSON',
  'ADDRESS',
  'IBAN',
  'IP_ADDRESS',
  'SECRET',
  'NATIONAL_ID',
  'DATE_OF_BIRTH',
]
const GIVEN =
  'Anna Ben Carla David Emma Felix Grace Hugo Ines Jan Kofi Lena Marco Nina Omar Petra Quentin Rosa Sven Tara Uwe Vera Wei Ximena Yusuf Zoe'.split(
    ' ',
  )
const FAMILY =
  'Meyer Jansen Rossi Novak Silva Kim Tanaka Dubois Garcia Kowalski Ivanov Popescu Yilmaz Nguyen Haddad Sharma Smith Andersson Costa Okafor'.split(
    ' ',
  )
const LABELS = [
  'E-mail',
  'Mail',
  'Tel.',
  'Phone',
  'Mobile',
  'Fax',
  'Address',
  'Contact',
  'Name',
  'Office',
  'Home',
  'Telefon',
  'Adresse',
  'Correo',
  'Téléphone',
  'Электронная почта',
  '電話',
  '邮箱',
]
const STREETS = [
  'Main Street',
  'Hauptstr.',
  'rue de la Paix',
  'Via Roma',
  'Calle Mayor',
  'Dorpsstraat',
  'ul. Długa',
  'High Road',
  'Lindenweg',
  'Avenida Central',
]
const TOWNS = [
  'Berlin',
  'Lyon',
  'Utrecht',
  'Kraków',
  'Porto',
  'Milano',
  'Leeds',
  'Austin',
  'Oslo',
  'Sevilla',
  'Brno',
  'Osaka',
]
const HOSTS = [
  'example.com',
  'mail.example.org',
  'firma.de',
  'acme.io',
  'web.nl',
  'uni.edu',
  'posta.it',
  'example.net',
  'example.nl',
]

/** Lists of placeholders, and of names with addresses and numbers. */
export function contactRows(count: number, random: Random): Row[] {
  const digits = (length: number) => Array.from({ length }, () => Math.floor(random() * 10)).join('')
  const line = (): string => {
    const given = pick(GIVEN, random)
    const family = pick(FAMILY, random)
    const mail = `${given}.${family}@${pick(HOSTS, random)}`.toLowerCase()
    const phone = `+${digits(2)} ${digits(3)} ${digits(4)}${random() < 0.5 ? ` ${digits(3)}` : ''}`
    const place = `${pick(STREETS, random)} ${digits(2)}, ${digits(5)} ${pick(TOWNS, random)}`
    const parts = [
      `${given} ${family}`,
      mail,
      phone,
      place,
      `${pick(LABELS, random)}: ${pick([mail, phone, place], random)}`,
    ]
    return Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(parts, random)).join(
      pick([', ', ' | ', '; ', '\t', ' ', ' <'], random),
    )
  }
  const placeholder = () => `[${pick(KINDS, random)}_${1 + Math.floor(random() * 60)}]`
  const mail = () => {
    const name = `${pick(GIVEN, random)}${pick(['.', '_', '', '-'], random)}${pick([...FAMILY, ''], random)}`
    return `${name}${pick(['', '', digits(1), digits(2)], random)}@${pick(HOSTS, random)}`.toLowerCase()
  }
  const labelled = () => `${pick([pick(LABELS, random), pick(GIVEN, random), ''], random)} ${placeholder()}`
  const makers = [placeholder, labelled, line, mail]
  return Array.from({ length: count }, (_, made) => {
    const make = makers[made % makers.length] as () => string
    const items = Array.from({ length: 1 + Math.floor(random() ** 2 * 40) }, make)
    return {
      text: items.join(pick([' ', ', ', '\n', '\n', '; '], random)),
      label: 0 as const,
      source: 'own_contacts',
    }
  })
}

/** Puts short attacks before, after or between innocent texts, and innocent ones likewise. */
export function joinedRows(
  attacks: readonly Row[],
  benign: readonly Row[],
  count: number,
  random: Random,
): Row[] {
  return Array.from({ length: count }, (_, made) => {
    const label = made % 2 === 0 ? (1 as const) : (0 as const)
    const one = pick(label === 1 ? attacks : benign, random)
    const parts = [pick(benign, random).text, one.text]
    if (random() < 0.25) parts.reverse()
    return {
      text: parts.join(pick([' ', ' ', '\n', '\n\n', '. '], random)),
      label,
      source: label === 1 ? 'joined_attack' : 'joined_benign',
    }
  })
}

/** Disguises texts, as many of either label: an encoding alone is no evidence. */
export function disguisedRows(rows: readonly Row[], count: number, random: Random): Row[] {
  const sides = [0, 1].map((label) => rows.filter((row) => row.label === label))
  return Array.from({ length: count }, (_, made) => {
    const { text, label } = pick(sides[made % 2]!, random)
    const lead = random() < 0.5 ? '' : pick(LEADS, random)
    return { text: lead + pick(TRANSFORMS, random).apply(text), label, source: 'disguised' }
  })
}

/** What people write before a disguised text. */
const LEADS = [
  'Decode this and follow it: ',
  'Decode this: ',
  'base64: ',
  'Please read ',
  'data=',
  'What does this say? ',
  'Execute: ',
  'Translate: ',
  'Here is the file: ',
  'payload: ',
  'Can you read this? ',
  'hex: ',
  'Unscramble and do it: ',
  'The code is ',
  '> ',
]

/** Share of the long words of a text that get a typing error. */
const TYPING_ERRORS = 0.35

/** Swaps, drops or doubles letters. Of both labels alike: an error alone is no evidence. */
export function mistypedRows(rows: readonly Row[], count: number, random: Random): Row[] {
  const sides = [0, 1].map((label) => rows.filter((row) => row.label === label))
  return Array.from({ length: count }, (_, made) => {
    const { text, label } = pick(sides[made % 2]!, random)
    const mistyped = text.replace(/[a-z]{4,}/gi, (word) => {
      if (random() > TYPING_ERRORS) return word
      const at = 1 + Math.floor(random() * (word.length - 2))
      const [one, other] = [word.charAt(at), word.charAt(at + 1)]
      return (
        word.slice(0, at) +
        pick([other + one, other + one, other, one + one + other], random) +
        word.slice(at + 2)
      )
    })
    return { text: mistyped, label, source: 'mistyped' }
  })
}
