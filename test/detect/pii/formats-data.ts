// Values of personal data, and the formats in which people paste them: serialised, encoded, in
// tables, with invisible or wide characters.

import type { Finding, PiiKind } from '../../../src/core/finding.ts'

/** A value with the name it has in data and the words before it in prose. */
export interface Sample {
  readonly name: string
  readonly kind: PiiKind
  readonly value: string
  readonly key: string
  readonly words: string
}

const sample = (name: string, kind: PiiKind, value: string, key: string, words: string): Sample => ({
  name,
  kind,
  value,
  key,
  words,
})

export const SAMPLES: readonly Sample[] = [
  sample('email', 'email', 'marta.oliveira@northwind-mail.org', 'email', 'e-mail'),
  sample('phone +', 'phone', '+14155550187', 'phone', 'phone'),
  sample('phone national', 'phone', '030 901820 44', 'phone', 'phone number'),
  sample('phone US', 'phone', '(415) 555-0187', 'phone', 'phone'),
  sample('card spaced', 'credit_card', '4539 5787 6362 1486', 'card_number', 'card number'),
  sample('card plain', 'credit_card', '4539578763621486', 'card_number', 'card number'),
  sample('ssn', 'us_ssn', '536-22-8471', 'ssn', 'SSN'),
  sample('iban plain', 'iban', 'DE75512108001245126199', 'iban', 'IBAN'),
  sample('iban spaced', 'iban', 'DE75 5121 0800 1245 1261 99', 'iban', 'IBAN'),
  sample('ipv4', 'ip_address', '85.214.132.117', 'client_ip', 'IP address'),
  sample('ipv6', 'ip_address', '2a01:4f8:c17:b0f::2', 'client_ip', 'IP address'),
  sample('mac', 'mac_address', '3c:22:fb:7a:91:0e', 'mac', 'MAC address'),
  sample('token', 'secret', 'ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'token', 'token'),
  sample('cpf', 'national_id', '529.982.247-25', 'cpf', 'CPF'),
  sample('nino', 'national_id', 'AB 12 34 56 C', 'nino', 'NINO'),
  sample('birth', 'date_of_birth', '1987-04-23', 'dob', 'date of birth'),
  sample('passport', 'passport', 'K4729163', 'passport', 'passport number'),
]

/** A text with a value in it. Offsets are UTF-16 code units. */
export interface Formatted {
  readonly text: string
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

type Format = (sample: Sample) => Formatted

const around = (before: string, written: string, after: string): Formatted => ({
  text: before + written + after,
  start: before.length,
  end: before.length + written.length,
})

const percent = (text: string, isKept: (one: string) => boolean): string =>
  [...text]
    .map((one) =>
      isKept(one)
        ? one
        : Array.from(new TextEncoder().encode(one), (byte) => `%${hex(byte, 2).toUpperCase()}`).join(''),
    )
    .join('')
const hex = (code: number, length: number): string => code.toString(16).padStart(length, '0')
const isUnreserved = (one: string): boolean => /[\w.~-]/.test(one)
const never = (): boolean => false
const form = (text: string): string =>
  percent(text, (one) => isUnreserved(one) || one === ' ').replaceAll(' ', '+')
const entities = (text: string, write: (one: string) => string, which = /[^A-Za-z0-9]/): string =>
  [...text].map((one) => (which.test(one) ? write(one) : one)).join('')
const NAMES: Readonly<Record<string, string>> = {
  ' ': 'nbsp',
  '@': 'commat',
  '+': 'plus',
  ':': 'colon',
  '.': 'period',
  '(': 'lpar',
  ')': 'rpar',
  '-': 'hyphen',
  _: 'lowbar',
}
const named = (text: string): string => entities(text, (one) => `&${NAMES[one]!};`)
const printable = (text: string): string =>
  text.replace(/[@+() ]/g, (one) => `=${hex(one.charCodeAt(0), 2).toUpperCase()}`)
const middle = (text: string): number => Math.ceil(text.length / 2)
const split = (text: string, mark: string): string =>
  text.slice(0, middle(text)) + mark + text.slice(middle(text))
const between = (text: string, hidden: string): string => [...text].join(hidden)
const wide = (text: string, which: RegExp): string =>
  text.replace(which, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0))
const nested = (text: string, times: number): string => {
  let quoted = text
  for (let time = 0; time < times; time++) quoted = JSON.stringify(quoted)
  return quoted
}
/** The value inside `{"key":"value"}` in so many strings of JSON. */
function inJson({ key, value }: Sample, times: number, write = (text: string) => text): Formatted {
  const [before, after] = nested(JSON.stringify({ [key]: '\u0001', ok: true }), times).split(/\\*u0001/)
  return around(before!, write(value), after!)
}
const prose = ({ words }: Sample, written: string): Formatted =>
  around(`My ${words} is `, written, ' thanks.')
const spaced =
  (space: string): Format =>
  (one) =>
    prose(one, one.value.replaceAll(' ', space))
const dashed =
  (dash: string): Format =>
  (one) =>
    prose(one, one.value.replaceAll('-', dash))
const escaped =
  (slashes: string, which: RegExp) =>
  (text: string): string =>
    text.replace(which, (one) => `${slashes}u${hex(one === ' ' ? 0xa0 : one.charCodeAt(0), 4)}`)
const SIGNS = /[@+ :]/g

export const FORMATS: readonly (readonly [name: string, format: Format])[] = [
  ['plain', ({ words, value }) => around(`My ${words}: `, value, '')],
  ['sentence', (one) => prose(one, one.value)],
  ['quoted', ({ words, value }) => around(`${words} "`, value, '"')],
  ['brackets', ({ words, value }) => around(`Customer (${words}: `, value, ') called.')],
  ['JSON', (one) => inJson(one, 0)],
  ['JSON in a string', (one) => inJson(one, 1)],
  ['JSON in three strings', (one) => inJson(one, 3)],
  ['JSON with escaped signs', (one) => inJson(one, 0, escaped('\\', SIGNS))],
  ['nested JSON with escaped signs', (one) => inJson(one, 1, escaped('\\\\', SIGNS))],
  ['JSON thrice nested with escaped signs', (one) => inJson(one, 2, escaped('\\\\\\\\', SIGNS))],
  [
    'JavaScript with hexadecimal escapes',
    ({ key, value }) =>
      around(
        `${key} = '`,
        value.replace(/[@+: ]/g, (one) => `\\x${hex(one.charCodeAt(0), 2)}`),
        `';`,
      ),
  ],
  ['YAML', ({ key, value }) => around(`user:\n  id: 7\n  ${key}: `, value, '\n  active: true\n')],
  ['environment', ({ key, value }) => around(`DEBUG=1\nUSER_${key.toUpperCase()}=`, value, '\nMODE=test\n')],
  ['XML attribute', ({ key, value }) => around(`<user ${key}="`, value, '" active="true"/>')],
  ['XML text', ({ key, value }) => around(`<user><${key}>`, value, `</${key}></user>`)],
  ['HTML cells', ({ words, value }) => around(`<tr><td>${words}</td><td>`, value, '</td></tr>')],
  [
    'decimal entities',
    ({ words, value }) =>
      around(
        `<p>${words}: `,
        entities(value, (one) => `&#${one.charCodeAt(0)};`),
        '</p>',
      ),
  ],
  [
    'hexadecimal entities',
    ({ words, value }) =>
      around(
        `<p>${words}: `,
        entities(value, (one) => `&#x${hex(one.charCodeAt(0), 2)};`),
        '</p>',
      ),
  ],
  [
    'entities for everything',
    ({ words, value }) =>
      around(
        `<p>${words}: `,
        entities(value, (one) => `&#${one.charCodeAt(0)};`, /./),
        '</p>',
      ),
  ],
  ['named entities', ({ words, value }) => around(`<p>${words}: `, named(value), '</p>')],
  [
    'no-break entities',
    ({ words, value }) => around(`<td>${words}&nbsp;`, value.replaceAll(' ', '&nbsp;'), '</td>'),
  ],
  [
    'escaped entities',
    ({ words, value }) => around(`${words}: `, named(value).replaceAll('&', '&amp;'), '.'),
  ],
  ['query string', ({ key, value }) => around(`GET /users?id=7&${key}=`, form(value), '&page=2')],
  ['form body', ({ key, value }) => around(`${key}=`, form(value), '&submit=Send')],
  [
    'percent-encoded query',
    ({ key, value }) => around(`https://crm.test/find?${key}=`, percent(value, isUnreserved), '&x=1'),
  ],
  [
    'percent-encoded path',
    ({ key, value }) => around(`/lookup/${key}/`, percent(value, isUnreserved), '/details'),
  ],
  ['percent-encoded whole', ({ key, value }) => around(`?${key}=`, percent(value, never), '&x=1')],
  [
    'percent-encoded twice',
    ({ key, value }) =>
      around(
        `next=%2Ffind%3F${key}%3D`,
        percent(percent(value, isUnreserved), (one) => one !== '%'),
        '%26a%3D1',
      ),
  ],
  [
    'percent-encoded JSON',
    ({ key, value }) => around(`?q=%7B%22${key}%22%3A%22`, percent(value, isUnreserved), '%22%7D'),
  ],
  [
    'quoted-printable',
    ({ words, value }) =>
      around(`Content-Transfer-Encoding: quoted-printable\n\nMy ${words} is =\n`, printable(value), '=20\n'),
  ],
  [
    'soft line break',
    ({ words, value }) =>
      around(
        `Sehr geehrte Damen und Herren, Gr=C3=BC=C3=9Fe. ${words}: `,
        split(value, '=\r\n'),
        ' bitte notieren.',
      ),
  ],
  ['comma CSV', ({ key, value }) => around(`name,${key},city\nMarta Oliveira,`, value, ',Porto\n')],
  [
    'later rows of comma CSV',
    ({ key, value }) =>
      around(`name,${key},city\nJo Unknown,,Lisbon\nAna Unknown,,Faro\nMarta Oliveira,`, value, ',Porto\n'),
  ],
  [
    'quoted CSV',
    ({ key, value }) =>
      around(`"name","${key}","city"\n"Jo","","Faro"\n"Marta Oliveira","`, value, '","Porto"\n'),
  ],
  [
    'semicolon CSV',
    ({ key, value }) => around(`name;${key};city\nJo;;Faro\nMarta Oliveira;`, value, ';Porto\n'),
  ],
  ['TSV', ({ key, value }) => around(`name\t${key}\tcity\nJo\t\tFaro\nMarta Oliveira\t`, value, '\tPorto\n')],
  [
    'Markdown table',
    ({ words, value }) =>
      around(
        `| Name | ${words} | City |\n|---|---|---|\n| Jo | – | Faro |\n| Marta Oliveira | `,
        value,
        ' | Porto |\n',
      ),
  ],
  ['Markdown bold', ({ words, value }) => around(`- **${words}:** **`, value, '**')],
  ['Markdown code', ({ words, value }) => around(`Her ${words} is \``, value, '`.')],
  ['Markdown link', ({ words, value }) => around(`[${words} `, value, '](https://crm.test/7)')],
  ['Markdown escapes', ({ words, value }) => around(`${words}: `, value.replace(/[-.+()_]/g, '\\$&'), '')],
  [
    'log line',
    ({ key, value }) =>
      around(`2026-03-01T10:22:31.114Z INFO [api] request done ${key}=`, value, ' status=200 took=17'),
  ],
  ['log fields', ({ key, value }) => around(`level=info msg="user created" ${key}="`, value, '" id=12')],
  [
    'SQL insert',
    ({ key, value }) =>
      around(
        `INSERT INTO users (name, ${key}, city) VALUES ('Jo', NULL, 'Faro'), ('Marta Oliveira', '`,
        value,
        `', 'Porto');`,
      ),
  ],
  ['SQL condition', ({ key, value }) => around(`SELECT id FROM users WHERE ${key} = '`, value, `' LIMIT 1`)],
  ['zero-width characters', (one) => prose(one, between(one.value, '\u200b'))],
  ['soft hyphens', (one) => prose(one, between(one.value, '\u00ad'))],
  ['annotation characters', (one) => prose(one, between(one.value, '\ufff9'))],
  ['format characters of two units', (one) => prose(one, between(one.value, '\u{1bca0}'))],
  ['no-break spaces', spaced('\u00a0')],
  ['narrow spaces', spaced('\u202f')],
  ['figure spaces', spaced('\u2007')],
  ['ideographic spaces', spaced('\u3000')],
  ['wide digits', (one) => prose(one, wide(one.value, /\d/g))],
  ['wide characters', (one) => prose(one, wide(one.value, /[!-~]/g))],
  ['no-break hyphens', dashed('\u2011')],
  ['en dashes', dashed('\u2013')],
  ['minus signs', dashed('\u2212')],
  ['line end before', ({ words, value }) => around(`${words}:\n`, value, '\n')],
  ['wrapped', (one) => prose(one, one.value.replace(' ', '\n'))],
]

/** Reports whether a finding of the kind has all letters and digits of the value. */
export const isFoundIn = (
  { text, start, end }: Formatted,
  kind: PiiKind,
  findings: readonly Finding[],
): boolean =>
  findings.some(
    (found) =>
      found.kind === kind &&
      found.start < end &&
      found.end > start &&
      !ALPHANUMERIC.test(text.slice(start, Math.max(start, found.start))) &&
      !ALPHANUMERIC.test(text.slice(Math.min(end, found.end), end)),
  )

const ALPHANUMERIC = /[\p{L}\p{N}]/u
