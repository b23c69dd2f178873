// Searches for texts that are slow to scan: repeats, mutates and crosses units and keeps the
// slowest.

/** Units that were slow once, or may be. */
export const UNITS: readonly string[] = [
  '1-', '4 ', '1.', '1:', '1/', 'a@', 'a.', 'ab:', '+1 ', '1 a ', 'GB29', 'sk-a1', 'eyJhbGciOi.', '-----BEGIN ',
  'passport 12 ', 'born 1 ', '12345678A ', 'AB 12 ', 'cpf 111.111.111-11 ', 'id 123456789 ', 'tel 12345 67 ',
  '1BoatSLRHtKNngkdXEeobR76b53LETtpyT ', 'a1@b.c ', '//a:b1', '日1', '(1)', '1-1.', '0x', '1,2;', '4111 ',
  '44z 143 4(41-(1(19 743 1144 4:4F日44 4-443 54 4 33 ', '028 028 (00 028 6807 2 )01- 41(-1-80 0 )0 ', '44) 4)) ',
  '28 028 (00 0\n', '1/11-144) 4)', 'getUser2ById3 setItem4 ', '\ufeffgetUser2ById3 ', '-----BEGIN x1 y2 ',
  '4539  5787  ', '\\.1', '=28415=29', '4=20', '%25', '&nbsp;1', '１　', 'name,dob\na,1990-05-12\n', 'DE75 5121\n',
] // biome-ignore format: a list of fragments

/** Parts of values and of similar texts. */
const PIECES: readonly string[] = [
  '12/05/1990', '1990-05-12', '5 May 1990', '12.05.90 ', '19900512', '1990年5月12日', 'May 5, 1990',
  'DE89 3704 0044 ', 'GB82WEST', 'FR14 2004 1010 0505 0001 3M02 606', 'DE00 ', 'TR33 0006 1005 1978 6457 8413 27',
  'deadbeef', 'DEADBEEF01 ', '0xdeadbeef', 'da39a3ee5e6b4b0d ', '4f:a0:', '00-1a-', '0012.3456.', 'ff ',
  'TWFueSBoYW5kcw==', 'aGVsbG8/', 'eyJ', 'AKIAIOSF', 'ghp_a1', 'sk-ant-', 'xoxb-1', '-----BEGIN PRIVATE KEY-----\n',
  '2001:db8::', 'fe80::1%', '::ffff:1.2.3.4', '1::2', ':1:2:3:4', '10.0.0.1', '1.2.3.4.5', '255.255.', '/24 ', 'v1.2.3 ',
  'JIRA-1234 ', 'INV-2019-8210 ', '#4155552671 ', 'RR7045891', 'ISBN 978-3-', 'order ', 'invoice ', 'line ', 'ref ',
  'tel ', 'phone ', 'call ', 'number ', 'my number is ', 'mobile: ', ' office', ' ext 12', ' x12', 'tel. 030/',
  'card ', 'visa ', 'ssn ', 'social security ', 'passport no ', 'license ', 'driver license ', 'dl# ', 'born ', 'dob ',
  'geboren am ', 'id ', 'tax id ', 'national id ', 'cpf ', 'steuer-id ', 'nino ', 'nhs ', 'sin ', 'bsn ', 'cnic ',
  '电话', '身份证', '生年月日', '护照', '订单', '日', '한', 'ไ', 'é', 'Ж', 'тел ', 'ß', '\u00a0', '\u202f', '\ufeff', '\u00ad', '\ufe0f', '\u200b', '–', '😀',
  '(555) 123-', '555-123-', '+49 ', '0049', '00', '01 23 45 ', '138', '0532 123 ', '+1 (', ')', '(', '--', '..', '//',
  '4111 1111 ', '4111111111111111 ', '3782 822463 10005', '536-22-', '123 45 ', '529.982.', '1 85 12 75 ', '756.1234.',
  '9434765919 ', '2-2-2-2-2', '1.1.1 ', '12345678', '123456789', '1234567890', '12345678901', '1 ', '22 ', '333 ', '4444 ',
  'a@b.co', '@', 'a.b.c.', 'x@', '//u:p', 'https://', 'npm i a@1', '_', '=', '"', '{"a":"', '\\n', '\n', '\t', ', ', ';',
  'the ', 'is ', 'a ', 'A ', 'May ', 'of ', 'AB', 'X1', 'Z', 'camelCase', 'word', 'SAP', '$', '%', '€', '1,234', '3.14',
  '%2B', '%40', '%252B', '%C2%A0', '&#49;', '&nbsp;', '&amp;', '=20', '=\n', '=40a', '=C3=9F', '\\u0031', '\\/', 'a=1+',
  'name,dob\n', 'a,1990-05-12\n', '| dob |\n', "INTO t (dob) VALUES ('", ' geboren', '日生',
] // biome-ignore format: a list of fragments

const CHARACTERS = [...'0123456789aAfFxXzZ .:-/@+()_,#日\n']
const MAXIMUM_UNIT = 200
const MEASURED_CHARACTERS = 16_384
const ROUNDS = 3
const POOL = 32
/** New units between two selections: many, so that one family does not fill the pool. */
const NEWCOMERS = 8

/** Invisible characters, and what begins a private key: with them every segment is read. */
const HIDDEN: readonly (readonly [name: string, mark: string])[] = [
  ['byte order mark', '\ufeff'],
  ['soft hyphen', '\u00ad'],
  ['variation selector', '\ufe0f'],
  ['-----BEGIN', '-----BEGIN '],
]
/** Characters of the pieces in which an answer and a long text reach a stream. */
const PIECE_CHARACTERS = [4, 1024]

/** A way in which a text reaches the detector. */
export interface Path {
  readonly name: string
  readonly run: (text: string) => void
}

/**
 * The ways in which the gateway searches a text: with each mark of HIDDEN in it, and as a stream in
 * pieces.
 * @param stream takes the pieces of a text
 */
export const pathsOf = (run: (text: string) => void, stream: (pieces: readonly string[]) => void): Path[] => [
  ...HIDDEN.map(([name, mark]) => ({ name, run: (text: string) => run(hidden(text, mark)) })),
  ...PIECE_CHARACTERS.map((size) => ({
    name: `in pieces of ${size}`,
    run: (text: string) => stream(piecesOf(text, size)),
  })),
]

/** A text with a mark at its start and in its middle. */
const hidden = (text: string, mark: string): string => {
  const middle = text.length >> 1
  return mark + text.slice(0, middle) + mark + text.slice(middle)
}

function piecesOf(text: string, size: number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces
}

export interface SlowUnit {
  readonly unit: string
  /** Time for MEASURED_CHARACTERS, the best of all rounds. */
  timeMs: number
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!

function madeOfPieces(): string {
  const count = 1 + Math.floor(Math.random() * 6)
  return Array.from({ length: count }, () => (Math.random() < 0.7 ? pick(PIECES) : pick(CHARACTERS))).join('')
}

function changed(unit: string, pool: readonly SlowUnit[]): string {
  const at = Math.floor(Math.random() * (unit.length + 1))
  const way = Math.random()
  if (way < 0.1) return unit.slice(0, at) + unit.slice(at, at + 12) + unit.slice(at)
  if (way < 0.2) return unit.slice(0, at) + unit.slice(at + 1 + Math.floor(Math.random() * 12))
  if (way < 0.35) {
    const other = pick(pool).unit
    const from = Math.floor(Math.random() * other.length)
    return unit.slice(0, at) + other.slice(from, from + 40) + unit.slice(at)
  }
  const piece = way < 0.6 ? pick(PIECES) : pick(CHARACTERS)
  const drop = Math.random() < 0.5 ? Math.floor(Math.random() * 4) : 0
  return unit.slice(0, at) + piece + unit.slice(at + drop)
}

/**
 * Returns the slow units it found, the slowest first.
 * @param run the function to measure
 * @param fill repeats a unit to a number of characters
 * @param durationMs duration of the search
 */
export function findSlow(
  run: (text: string) => void,
  fill: (unit: string, characters: number) => string,
  durationMs: number,
): SlowUnit[] {
  const measure = (unit: string): number => {
    const text = fill(unit, MEASURED_CHARACTERS)
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now()
      run(text)
      least = Math.min(least, performance.now() - start)
    }
    return least
  }
  const known = new Set<string>()
  const pool: SlowUnit[] = []
  const enter = (unit: string): void => {
    if (unit === '' || known.has(unit)) return
    known.add(unit)
    pool.push({ unit, timeMs: measure(unit) })
  }
  // The first pass warms up the compiler.
  for (const unit of [...UNITS, ...PIECES]) measure(unit)
  for (const unit of [...UNITS, ...PIECES]) enter(unit)
  const started = performance.now()
  while (performance.now() - started < durationMs) {
    const parent = pick(pool)
    // Measure again: other load on the machine may have caused the time.
    parent.timeMs = Math.min(parent.timeMs, measure(parent.unit))
    enter((Math.random() < 0.1 ? madeOfPieces() : changed(parent.unit, pool)).slice(0, MAXIMUM_UNIT))
    if (pool.length < POOL + NEWCOMERS) continue
    pool.sort((a, b) => b.timeMs - a.timeMs)
    pool.length = POOL
  }
  return pool.sort((a, b) => b.timeMs - a.timeMs)
}
