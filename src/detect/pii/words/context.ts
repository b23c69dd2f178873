// Finds the words before a number that indicate what it is. Reads the text forward, each word once;
// every number asks how far before it the nearest word of each class ends.

import { ASCII_END, isAsciiLower, isAsciiUpper, LESS_THAN, LINE_FEED, SLASH } from '../../../core/ascii.ts'
import { codeAt, isLetter, isUnspaced } from '../code-unit-classes.ts'
import { CONTEXT_CHARACTERS } from '../engine/segmenter.ts'
import { isInOtherName, isInsideToken, labelStart } from './label-reach.ts'

const CLASSES = ['phone', 'number', 'other', 'label', 'card', 'ssn', 'version'] as const

/**
 * `phone card ssn`: the number is one. `number`: it may be one.
 * `other`: it is a number of something else (order, invoice, serial, account).
 * `label`: like `other`, if the word directly precedes (`line 12`, but not `the office line is`).
 * `version`: it is a version or a section number.
 */
type WordClass = (typeof CLASSES)[number]

/** Whole words. */
const WORDS: Readonly<Record<WordClass, string>> = {
  phone:
    'tel tels cell call calls called ring dial text sms fax faks φαξ факс handy gsm whats whatsapp signal telegram viber reach ' +
    'reached contact answering pager landline hotline voicemail mob mobil mobile mobiel mobiele móvil movil celular office ' +
    'home tlf tél telp handphone cels cel soita soittakaa volejte zavolejte zavolej fono fonos fijo festnetz llámame llámeme bel belt llama llame liga ligue bellen portable fixe appel appelez joindre joignable ruf ruft anrufen rufen erreichen erreichbar bereiken bereikbaar тел моб ' +
    'телефон звоните позвоните телефону τηλ κιν sđt đt thoại gọi puh tlm tālr cp sel ' +
    'هاتف الهاتف هاتفي هاتفه جوال الجوال جوالي موبايل الموبايل موبايلي تليفون تلفون فاكس الفاكس واتساب اتصل ' +
    'تلفن موبایل همراه فون موبائل ফোন মোবাইল फोन फ़ोन मोबाइल टेलीफोन טלפון הטלפון נייד הנייד פלאפון הפלאפון טל טל׳ פקס הפקס וואטסאפ ph phone phones ' +
    'fon telef helpline toll tollfree msisdn direct',
  number:
    'number numbers nummer numero número numéro numer номер رقم رقمي شماره नंबर संख्या מספר unter numeroni numerosta numeroon nomor numarası numara numaram numaranız číslo číslom numărul számom αριθμός số nomor nr no',
  label: 'line lines row rows page pages step part item room table figure',
  other:
    'order orders invoice tracking ticket case id ids isbn issn doi serial sn sku imei imsi iccid vin account acct ' +
    'ref reference pid uid gid column size bytes byte kb mb gb ms sec seconds epoch timestamp ' +
    'build commit revision rev hash sha version zip postcode postal plz transaction txn receipt booking batch ' +
    'model product barcode ean upc gtin asin lot policy claim badge code pin otp amount total price sum ' +
    'population won yen usd eur gbp dollars euros meter meters km version released rfc issue pr bug chapter ' +
    'section extension routing aba swift bic customer kunde pedido commande facture factura rechnung ' +
    'ordine fattura заказ счет счёт nr° parcel shipment key seed offset address index count error errno exit status ' +
    'node host thread process session request trace span event job run test patent license licence passport member ' +
    'membership employee student user userid loan contract score iban vat tax ein ssn dob date time year years ' +
    'isan arxiv pmid orcid took stack frame function syscall pointer timeout duration checksum ' +
    'permit mrn apn docket donor seal teile cod codul poliçe poliçesi обява बुकिंग الشحنة الطلب الفاتورة מק ' +
    'contador conta leitura leituras viite viitteen viitenumero nip regon krs partia partii konto konta ičo dič šarže ' +
    'contain contains container containers contained containing deposit charge siret siren dossier colis lot réf expediente lote albarán cif piva lotto pratica cnpj protocolo boleto nota ' +
    'kvk btw orgnr cvr lasku tilaus cui awb vkn fatura kargo takip огрн кпп трек ттн єдрпоу накладная накладна договор ' +
    'αφμ resi pesanan faktur npwp طلب فاتورة شحنة سفارش فاکتور הזמנה חשבונית משלוח ऑर्डर बिल',
  card:
    'card cards visa mastercard amex maestro discover diners jcb unionpay credit debit cc pan kreditkarte karte carte ' +
    'tarjeta carta cartão cartao kaart karta kort kortti kartı kart карта карты creditcard kreditkort',
  ssn: 'ssn ssns ss social soc',
  version:
    'v ver fw version versions vers release released releases build section sections chapter paragraph clause upgrade ' +
    'upgraded update updated bump firmware driver oid asn snmp python node npm chrome firefox safari edge kernel ' +
    'kapitel abschnitt ziffer punkt chapitre article capítulo artículo apartado cláusula capitolo articolo seção artigo ' +
    'hoofdstuk rozdział kapitola článek fejezet bölüm madde пункт раздел глава статья розділ κεφάλαιο ενότητα versio ' +
    'versjon versi versiunea verzija versija نسخه версия версии версию версія версії версію wersja wersji versión versão versione versie sürüm sürümü sürümünü verze verzió έκδοση ' +
    'גרסה إصدار الإصدار संस्करण phiên прошивка прошивки',
}

/** First five letters of longer words, which covers compounds and inflections. */
const STEMS: Readonly<Partial<Record<WordClass, string>>> = {
  phone:
    'phone telef telép teléf télép telep telég mobil móvil celul cellu handy rufnu anruf durch fernsp gsmnu whats hotli conta ' +
    'kontak appel conta llama llám chiam ligar telem komór komor zadzw dzwoń ring ringa puhel telefo телеф мобил звони ' +
    'позво дзвон зател puheli τηλέφ τηλεφ κινητ telemóvel móbil sotto rückr selfo mobit telèf tālru',
  other:
    'order invoi track seria beste rechn auftr kunde liefe sendu artik pedid comma factu ordin fattu zamów faktu ' +
    'bestä заказ siparis sipar transa refer ticke trans produ accou vertr akten zähle référ przes objed zásil rende adósz coman sarja teile siege plomb παραγ τιμολ накла',
  card: 'kredi kreditk tarje cartã carte',
  ssn: 'sozia',
}

/** Words that link a word to its number: `order number is`, `Kunde mit der Nr.` */
const LINK_WORDS = new Set(
  (
    'number numbers no num nr n id ids code ref reference is was are be being the a an for of your my our his her their its ' +
    'this that these it on under with as at by to from and or new old nummer numero número numéro numer ist war lautet ' +
    'der die das den dem des für von mit im am unter ihr ihre meine mein est était de du la le les l d votre notre ma mon ' +
    'pour sous es el los las del su mi tu con y o é do da dos das seu sua meu minha com il di della dello suo sua per het van ' +
    'voor uw mijn är er en et ett till til af av og och på to jest pod dla'
  ).split(' '),
)
/** Where scripts start of which LINK_WORDS has no words. */
const BEYOND_LATIN = 0x370

/** Words that may follow one for a phone or a card inside a name: `phone_home`, `card-nr`. */
const NAME_ENDS = new Set(
  (
    'back free center centre line lines desk priv privat private privé privado privada work main primary secondary other personal ' +
    'business emergency day evening night daytime int intl international national local area code raw str string value field ' +
    'input formatted full s en n e mail email and or und y et o ou i dienstl gesch büro durchwahl wahl contato contacto company customer app moi me nous us lui mich ihn uns mi ons'
  ).split(' '),
)

const STEM_LETTERS = 5
/** A longer word belongs to a class only by its stem. */
const MAXIMUM_KNOWN_WORD = 16

/**
 * Words by class for signs and scripts without spaces, in which words have no visible boundaries.
 */
const UNSPACED: Readonly<Partial<Record<WordClass, string>>> = {
  phone:
    '📱 📞 📲 ☎ ☏ ✆ 电话 電話 手机 手機 座机 热线 熱線 客服 专线 專線 联系 聯繫 致电 致電 拨打 撥打 携帯 連絡先 传真 傳真 微信 ファックス ファクス ' +
    'โทร มือถือ เบอร์ แฟกซ์ 전화 연락처 휴대폰 핸드폰 팩스',
  number: '番号 號碼 号码 번호',
  other:
    '订单 訂單 单号 單號 编号 編號 注文 伝票 주문 송장 快递 运单 账号 帳號 학번 发票 發票 追跡 請求 领收 会員 会员 流水 货号 型番 品番 접수 사건 ' +
    '계약 회원 운송 관리 상품 พัสดุ สั่งซื้อ ใบแจ้ง',
  version: '第 제 升级 升級 版本 バージョン 버전 固件 ファームウェア 펌웨어 เวอร์ชัน',
}

/** Code units that may start a phone symbol. */
const isSign = (code: number): boolean => (code >= 0x260e && code <= 0x2706) || code === 0xd83d

function bits(lists: Readonly<Partial<Record<WordClass, string>>>, letters: number): Map<string, number> {
  const map = new Map<string, number>()
  for (const [index, wordClass] of CLASSES.entries()) {
    for (const word of lists[wordClass]?.split(' ') ?? []) {
      const key = word.slice(0, letters)
      map.set(key, (map.get(key) ?? 0) | (1 << index))
    }
  }
  return map
}

const BY_WORD = bits(WORDS, CONTEXT_CHARACTERS)
const BY_STEM = bits(STEMS, STEM_LETTERS)
/** Words by their first character. */
const UNSPACED_WORDS = Map.groupBy(bits(UNSPACED, CONTEXT_CHARACTERS), ([word]) => word.charCodeAt(0))

const CARD = CLASSES.indexOf('card')
/** The name of a field and its sign, before its value. */
const NAME_BEFORE = /\w["'`]?\s{0,2}[:=]\s{0,2}["'`]?$/

/** A distance beyond any that counts. */
const NOWHERE = CONTEXT_CHARACTERS + 1
/** An offset far from every number. */
const NEVER = -NOWHERE

/**
 * Distances in characters from an offset back to the end of the nearest word of each class; more
 * than 64 if there is none.
 * A word counts if it starts less than 64 characters before the offset and on the line of the last
 * word before it. Offsets ascend, except for steps back over punctuation.
 */
export class ContextWords {
  readonly #text: string
  /** The text has been read up to here. */
  #read = 0
  #at = 0
  /** Start and end of the last word of each class. */
  readonly #starts = [NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER]
  readonly #ends = [NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER]
  /** Start of the last word of any class. */
  #lastStart = NEVER
  /** A line feed follows the last word. */
  #lineEnded = false
  /** The last offset whose label was sought, and where that label may start. */
  #labelledAt = -1
  #labelStart = 0
  /** The last offset whose phone word was sought, and the distance. */
  #phoneAt = -1
  #phone = NOWHERE

  constructor(text: string) {
    this.#text = text
  }

  /** Moves the view to an offset; returns itself. */
  before(at: number): this {
    if (at > this.#read) this.#readTo(at)
    this.#at = at
    return this
  }

  get phone(): number {
    if (this.#phoneAt !== this.#at) {
      this.#phoneAt = this.#at
      this.#phone = this.#labelDistance(0)
    }
    return this.#phone
  }

  get number(): number {
    return this.#labelDistance(1)
  }

  get other(): number {
    return this.#distance(2)
  }

  get label(): number {
    return this.#distance(3)
  }

  get card(): number {
    return this.#labelDistance(4)
  }

  get ssn(): number {
    return this.#labelDistance(5)
  }

  get version(): number {
    return this.#distance(6)
  }

  /** Reports whether no word of any class precedes. */
  get isEmpty(): boolean {
    return this.#at - this.#lastStart >= CONTEXT_CHARACTERS
  }

  #distance(index: number): number {
    const start = this.#starts[index] ?? NEVER
    return this.#at - start < CONTEXT_CHARACTERS ? this.#at - (this.#ends[index] ?? NEVER) : NOWHERE
  }

  /** The distance of a word that may be a label of what follows; see `labelStart`. */
  #labelDistance(index: number): number {
    const distance = this.#distance(index)
    if (distance === NOWHERE) return NOWHERE
    const at = this.#at
    const least = at - CONTEXT_CHARACTERS
    if (this.#labelledAt !== at) {
      this.#labelledAt = at
      this.#labelStart = labelStart(this.#text, at, least, mayBeInLabel)
    }
    const start = this.#starts[index] ?? NEVER
    const end = this.#ends[index] ?? NEVER
    // A card proves itself, so its word may be further away on the line.
    if (start < this.#labelStart && (index !== CARD || this.#isOtherField(end))) return NOWHERE
    if (isInOtherName(this.#text, start, end, at, least, mayEndName)) return NOWHERE
    return index > 1 && isInsideToken(this.#text, start, end) ? NOWHERE : distance
  }

  /** Reports whether the value has a name of its own, or is on another line than the word. */
  #isOtherField(end: number): boolean {
    const between = this.#text.slice(end, this.#at)
    return between.includes('\n') || NAME_BEFORE.test(between)
  }

  #readTo(end: number): void {
    const text = this.#text
    // If this is inside a word, the word starts too far away to count.
    let at = Math.max(this.#read, end - CONTEXT_CHARACTERS)
    while (at < end) {
      const code = text.charCodeAt(at)
      if (isLetter(code)) at = this.#readWord(at, end)
      else {
        if (code === LINE_FEED) this.#lineEnded = true
        else if (isUnspaced(code) || isSign(code)) this.#readUnspaced(at, end)
        at++
      }
    }
    this.#read = end
  }

  /** A word ends before anything but a letter, and before the next hump of camelCase. */
  #readWord(start: number, limit: number): number {
    const text = this.#text
    let end = start + 1
    let before = text.charCodeAt(start)
    for (; end < limit; end++) {
      const code = text.charCodeAt(end)
      if (!isLetter(code) || (isAsciiUpper(code) && isAsciiLower(before))) break
      before = code
    }
    if (!isTagName(text, start)) this.#beginLine()
    const found = classesOf(text, start, end)
    if (found !== 0) this.#record(found, start, end)
    return end
  }

  #readUnspaced(at: number, limit: number): void {
    this.#beginLine()
    for (const [word, found] of UNSPACED_WORDS.get(this.#text.charCodeAt(at)) ?? []) {
      if (at + word.length <= limit && this.#text.startsWith(word, at))
        this.#record(found, at, at + word.length)
    }
  }

  /** Words of earlier lines no longer count. */
  #beginLine(): void {
    if (!this.#lineEnded) return
    this.#lineEnded = false
    this.#starts.fill(NEVER)
    this.#lastStart = NEVER
  }

  #record(found: number, start: number, end: number): void {
    for (let i = 0; found >> i !== 0; i++) {
      if (((found >> i) & 1) === 0) continue
      this.#starts[i] = start
      this.#ends[i] = end
    }
    this.#lastStart = start
  }
}

/** `<dd>`, `</dt>` */
const isTagName = (text: string, start: number): boolean => {
  const before = codeAt(text, start - 1)
  return before === LESS_THAN || (before === SLASH && codeAt(text, start - 2) === LESS_THAN)
}

/**
 * By two first letters: one bit for each length of the words that start with them, the lowest bit
 * for stems.
 */
const BEGINNINGS = new Int32Array(1024)
const beginningOf = (first: number, second: number): number => ((first & 31) << 5) | (second & 31)
for (const word of BY_WORD.keys())
  BEGINNINGS[beginningOf(word.charCodeAt(0), word.charCodeAt(1))]! |= 1 << word.length
for (const stem of BY_STEM.keys()) BEGINNINGS[beginningOf(stem.charCodeAt(0), stem.charCodeAt(1))]! |= 1

/** Rules out most words by their first letters and length. */
function mayBeKnown(text: string, start: number, length: number): boolean {
  const first = text.charCodeAt(start)
  const second = length > 1 ? text.charCodeAt(start + 1) : 0
  if (first >= ASCII_END || second >= ASCII_END) return true
  const lengths = BEGINNINGS[beginningOf(first, second)] ?? 0
  return length > STEM_LETTERS ? (lengths & ((1 << length) | 1)) !== 0 : (lengths & (1 << length)) !== 0
}

/** Words for a phone, a number, a card, and a social security number. */
const LABELS = 0b110011

/** Reports whether a part may follow a label inside a name. */
const mayEndName = (part: string): boolean =>
  NAME_ENDS.has(part) || (classesOf(part, 0, part.length) & LABELS) !== 0

const mayBeInLabel = (part: string): boolean => mayEndName(part) || LINK_WORDS.has(part)

/** Reports whether a text consists of link words only. Words not in Latin letters count as such. */
export const areLinkWords = (between: string): boolean =>
  between
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .every((word) => word === '' || LINK_WORDS.has(word) || word.charCodeAt(0) >= BEYOND_LATIN)

function classesOf(text: string, start: number, end: number): number {
  const length = end - start
  if (!mayBeKnown(text, start, length)) return 0
  if (length <= MAXIMUM_KNOWN_WORD) {
    const found = BY_WORD.get(text.slice(start, end).toLowerCase())
    if (found !== undefined) return found
  }
  if (length <= STEM_LETTERS) return 0
  return BY_STEM.get(text.slice(start, start + STEM_LETTERS).toLowerCase()) ?? 0
}
