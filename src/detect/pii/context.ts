// Words before a number that say what it is. One walk back over a bounded window gives every class of word at once.

import { isLetter, isUnspaced } from './characters.ts'
import { CONTEXT_CHARACTERS } from './cuts.ts'

const CLASSES = ['phone', 'number', 'other', 'label', 'card', 'ssn', 'version'] as const

/**
 * `phone card ssn`: the number is one. `number`: it may be one. `other`: it is a number of something else (order,
 * invoice, serial, port); `label`: it is, when the word stands right before (`line 12`, but not `the office line is`).
 * `version`: it is a version or a place in a document.
 */
export type WordClass = (typeof CLASSES)[number]

/** Whole words. */
const WORDS: Readonly<Record<WordClass, string>> = {
  phone:
    'tel tels cell call calls called ring dial text sms fax handy gsm cep whats whatsapp signal telegram viber reach ' +
    'reached contact answering pager landline hotline voicemail mob mobil mobile móvil movil celular office ' +
    'home tlf llámame llámeme bel belt llama llame liga ligue portable fixe appel appelez joindre ruf ruft anrufen тел моб ' +
    'телефон звоните позвоните телефону هاتف جوال موبايل اتصل फोन मोबाइल טלפון נייד ph phone phones',
  number:
    'number numbers nummer numero número numéro numer номер رقم नंबर numarası numara numaram numaranız nr no',
  label: 'line lines row rows page pages step part item room table figure',
  other:
    'order orders invoice tracking ticket case id ids isbn issn doi serial sn sku imei imsi iccid vin account acct ' +
    'ref reference port pid uid gid column size bytes byte kb mb gb ms sec seconds epoch timestamp ' +
    'build commit revision rev hash sha version zip postcode postal plz transaction txn receipt booking batch ' +
    'model product barcode ean upc gtin asin lot policy claim badge bin code pin otp amount total price sum ' +
    'population won yen usd eur gbp dollars euros meter meters km version released rfc issue pr bug chapter ' +
    'section extension routing aba swift bic customer kunde pedido commande facture factura rechnung ' +
    'ordine fattura заказ счет счёт nr° parcel shipment key seed offset address index count error errno exit status ' +
    'node host thread process session request trace span event job run test patent license licence passport member ' +
    'membership employee student user userid loan contract score iban vat tax ein ssn dob date time year years ' +
    'isan arxiv pmid orcid took stack frame function syscall pointer timeout duration checksum',
  card:
    'card cards visa mastercard amex maestro discover diners jcb unionpay credit debit cc pan kreditkarte karte carte ' +
    'tarjeta carta cartão cartao kaart karta kort kortti kartı kart карта карты creditcard kreditkort',
  ssn: 'ssn ssns social soc',
  version:
    'v ver version versions vers release released releases build section sections chapter paragraph clause upgrade ' +
    'upgraded update updated bump firmware driver oid asn snmp python node npm chrome firefox safari edge kernel',
}

/** First five letters of longer words, compounds and inflections among them. */
const STEMS: Readonly<Partial<Record<WordClass, string>>> = {
  phone:
    'phone telef telép teléf telep telég mobil móvil celul cellu handy rufnu anruf durch fernsp gsmnu whats hotli conta ' +
    'kontak appel conta llama llám chiam ligar telem komór komor zadzw dzwoń ring ringa puhel telefo телеф мобил звони ' +
    'позво puheli τηλέφ κινητ telemóvel móbil sotto',
  other:
    'order invoi track seria beste rechn auftr kunde liefe sendu artik pedid comma factu ordin fattu zamów faktu ' +
    'bestä заказ siparis sipar transa refer ticke trans produ accou',
  card: 'kredi kreditk tarje cartã carte',
  ssn: 'sozia',
}

const STEM_LETTERS = 5

/** The same for scripts without spaces, where words are not told apart by looking at them. */
const UNSPACED_PHONE =
  /电话|電話|手机|手機|联系|聯繫|致电|致電|拨打|撥打|携帯|番号|传真|傳真|微信|號碼|号码|โทร|มือถือ|เบอร์|전화|연락처|휴대폰|핸드폰|번호/g
const UNSPACED_OTHER = /订单|訂單|单号|單號|编号|編號|注文|伝票|주문|송장|快递|运单|账号|帳號|학번/g

const bit = (wordClass: WordClass): number => 1 << CLASSES.indexOf(wordClass)

function classes(lists: Readonly<Partial<Record<WordClass, string>>>, letters: number): Map<string, number> {
  const map = new Map<string, number>()
  for (const wordClass of CLASSES) {
    for (const word of lists[wordClass]?.split(' ') ?? []) {
      const key = word.slice(0, letters)
      map.set(key, (map.get(key) ?? 0) | bit(wordClass))
    }
  }
  return map
}

const BY_WORD = classes(WORDS, CONTEXT_CHARACTERS)
const BY_STEM = classes(STEMS, STEM_LETTERS)

const NEWLINE = 0x0a
/** Further away than any word counts. */
const NOWHERE = CONTEXT_CHARACTERS + 1

const isCapital = (code: number): boolean => code >= 0x41 && code <= 0x5a
const isSmall = (code: number): boolean => code >= 0x61 && code <= 0x7a

/** How far before one place in a text the nearest word of each class ends. */
export class Context {
  readonly at: number
  readonly #distances = new Uint8Array(CLASSES.length).fill(NOWHERE)
  /** The window holds a line feed: nothing stands between it and the place. */
  readonly #crossesLine: boolean

  /** @param earlier of a place before in the same text, to go on from: in tables, numbers follow each other closely */
  constructor(text: string, at: number, earlier: Context | null = null) {
    this.at = at
    const base = earlier?.reaches(text, at) === true ? earlier : null
    const from = base?.at ?? lineStart(text, at)
    let unspaced = false
    for (let end = at; end > from; ) {
      const code = text.charCodeAt(end - 1)
      if (isUnspaced(code)) unspaced = true
      if (!isLetter(code)) {
        end--
        continue
      }
      const start = wordStart(text, from, end)
      this.#note(classesOf(text.slice(start, end)), at - end)
      end = start
    }
    if (unspaced) this.#noteUnspaced(text.slice(from, at))
    if (base !== null) this.#inherit(base, at - from)
    this.#crossesLine = base === null ? text.slice(from, at).includes('\n') : base.#crossesLine
  }

  /** Whether the window of a later place is this one, moved on: near, on the same line, with nothing that cuts it off. */
  reaches(text: string, at: number): boolean {
    if (at <= this.at || at - this.at > CONTEXT_CHARACTERS) return false
    for (let i = this.at; i < at; i++) {
      const code = text.charCodeAt(i)
      if (code === NEWLINE || (this.#crossesLine && (isLetter(code) || isUnspaced(code)))) return false
    }
    return true
  }

  #inherit(earlier: Context, further: number): void {
    for (let i = 0; i < this.#distances.length; i++) {
      const distance = (earlier.#distances[i] ?? NOWHERE) + further
      if (distance < (this.#distances[i] ?? 0)) this.#distances[i] = distance
    }
  }

  /** Characters between the end of the nearest such word and the place; more than 64 for none. */
  distance(wordClass: WordClass): number {
    return this.#distances[CLASSES.indexOf(wordClass)] ?? NOWHERE
  }

  /** No word of any class stands before. */
  get isSilent(): boolean {
    return this.#distances.every((distance) => distance >= NOWHERE)
  }

  /** Whether a word of the class stands within so many characters before. */
  has(wordClass: WordClass, withinCharacters: number): boolean {
    return this.distance(wordClass) <= withinCharacters
  }

  #note(found: number, distance: number): void {
    for (let i = 0; found >> i !== 0; i++) {
      if (((found >> i) & 1) === 1 && distance < (this.#distances[i] ?? 0)) this.#distances[i] = distance
    }
  }

  #noteUnspaced(window: string): void {
    for (const { index, 0: word } of window.matchAll(UNSPACED_PHONE))
      this.#note(bit('phone'), window.length - index - word.length)
    for (const { index, 0: word } of window.matchAll(UNSPACED_OTHER))
      this.#note(bit('other'), window.length - index - word.length)
  }
}

/** Begin of the window: of the line, or of the line before when nothing stands between. */
function lineStart(text: string, at: number): number {
  const limit = Math.max(0, at - CONTEXT_CHARACTERS)
  let empty = true
  for (let i = at; i > limit; i--) {
    const code = text.charCodeAt(i - 1)
    if (code === NEWLINE && !empty) return i
    if (isLetter(code) || isUnspaced(code)) empty = false
  }
  return limit
}

/** A word begins behind anything but a letter, and at the hump of camelCase. */
function wordStart(text: string, from: number, end: number): number {
  let start = end - 1
  while (start > from && isLetter(text.charCodeAt(start - 1))) {
    if (isCapital(text.charCodeAt(start)) && isSmall(text.charCodeAt(start - 1))) break
    start--
  }
  return start
}

function classesOf(word: string): number {
  const lower = word.toLowerCase()
  return (
    BY_WORD.get(lower) ?? (lower.length > STEM_LETTERS ? (BY_STEM.get(lower.slice(0, STEM_LETTERS)) ?? 0) : 0)
  )
}
