import fc from 'fast-check'
import t from 'tap'
import { createApiKey } from '../../../src/core/apikey.ts'
import { type BuiltInKind, type Finding, PII_KINDS } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { DEFAULT_KINDS, kindSet } from '../../../src/detect/pii/kinds.ts'

const found = (text: string) =>
  detect(text).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)
const KEY = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL\n'.repeat(3)}-----END RSA PRIVATE KEY-----`
const OWN = createApiKey(Buffer.alloc(32, 9))

/** «…» encloses an expected finding. */
const POSITIVE: Partial<Record<BuiltInKind, string[]>> = {
  email: [
    'Write to «alice@example.com».',
    'mailto:«bob.smith+tag@mail.example.co.uk»',
    '<«a@b.co»>',
    'Schreib an «jürgen@müller.de» bitte',
    '连接«li@example.cn»谢谢',
    'ALICE: «ALICE@EXAMPLE.COM»,',
    'user="«x_y%z@sub-domain.example.museum»"',
  ],
  credit_card: [
    'card «4111 1111 1111 1111»',
    '«5555-5555-5555-4444»',
    'Amex «378282246310005» ok',
    '«3782 822463 10005»',
    '«6011111111111117»',
    '«30569309025904»',
    '«3530111333300000»',
  ],
  us_ssn: ['SSN «123-45-6789»', 'my social security number is «123456789»', 'ssn: «123 45 6789»'],
  iban: [
    '«DE89 3704 0044 0532 0130 00»',
    'IBAN «GB29NWBK60161331926819»',
    '«fr14 2004 1010 0505 0001 3m02 606»',
    'to «NL91ABNA0417164300», please',
  ],
  ip_address: [
    'host «192.168.12.7»',
    '«10.0.0.1»:8080',
    'from «2001:db8::ff00:42:8329» on',
    '«fe80::1ff:fe23:4567:890a»',
    '17,«192.168.103.48»,up',
    'id,ip\n1,«84.168.44.57»',
    'x-forwarded-for: «84.168.44.57»,«91.20.3.4»',
    '«84.168.44.57/24»,«91.20.3.4/24»',
  ],
  phone: [
    'call «+1 415 555 2671»',
    '«+49 1512 3453635»',
    '«+33 6 12 34 56 78»',
    '«(415) 555-2671»',
    '«415-555-2671»',
    'Reach us on «+1 604-751-8802» (24/7).',
    'Tel. «030 1234567»',
    'mobile: «07400 123456»',
    '«+86 138 1234 5678»',
    '«(415) 555-2671 x123»',
    'phone «4155552671»',
    'the office line is «415.899.4552»',
  ],
  mac_address: ['«00:1A:2B:3C:4D:5E»', '«00-1a-2b-3c-4d-5e»', '«CF-53-A1-41-dc-64»', '«0012.3456.789a»'],
  secret: [
    '«sk-proj-abcDEF123456abcDEF123456abcDEF12»',
    'AKIA: «AKIAIOSFODNN7ABCDE12»',
    '«ghp_abcdefghijklmnopqrstuvwxyz0123456789»',
    '«xoxb-123456789012-abcdefghijkl»',
    '«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U»',
    `«${OWN}»`,
    `«${KEY}»`,
    'glpat-x «glpat-abc123DEF456ghi789jk»',
    `<p>«${KEY.replaceAll('\n', '<br>')}»</p>`,
  ],
}

const NEGATIVE = [
  'https://b.s3.amazonaws.com/a.png?X-Amz-Credential=AKIAIOSFODNN7ABCDE12%2F20250101%2Feu-west-1%2Fs3%2Faws4_request',
  'version 1.2.3.4 of it',
  'Upgrade to version 3.5.32 or 8.19.72.80',
  'release 10.0.0.1',
  'OID 1.3.6.1.4.1',
  'at 127.0.0.1:80',
  '999.1.1.1',
  'std::vector',
  '12:30:45',
  'order 4155552671',
  'invoice 123456789',
  'ISBN 978-3-16-148410-0',
  'tracking 4111111111111111',
  '4111 1111 1111 1112',
  '1111111111111111',
  '000-12-3456',
  '666-12-3456',
  '123-00-4567',
  '1,234,567.89',
  '2024-01-31',
  '1700000000000',
  'a@b',
  'git@github.com:x/y.git',
  'hero@2x.png',
  '@decorator',
  'DE00 3704 1144 0532 0130 00',
  'sk-xxxxxxxxxxxxxxxxxxxxxxxx',
  'FF:FF:FF:FF:FF:FF',
  'ff:ff',
  'line 4155552671',
  'pi is 3.14159265358979',
  '550e8400-e29b-41d4-a716-446655440000',
  'sgate_live_not',
  'commit da39a3ee5e6b4b0d3255bfef95601890afd80709',
]

t.test('each default kind is found in its usual notations', async (t) => {
  for (const [kind, texts] of Object.entries(POSITIVE)) {
    for (const marked of texts) {
      const expected = [...marked.matchAll(/«([^»]*)»/g)].map(([, value]) => `${kind} ${value}`)
      t.same(found(marked.replace(/[«»]/g, '')), expected, marked.slice(0, 60))
    }
  }
})

t.test('a value is found after an escaped line end or tab', async (t) => {
  for (const value of [
    'alice@example.com',
    '4111 1111 1111 1111',
    '123-45-6789',
    'DE89 3704 0044 0532 0130 00',
    '+1 415 555 2671',
    '192.168.12.7',
    'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  ])
    for (const written of ['\\n', '\\t', '\\r\\n', '\\\\n', '\\n\\n'])
      t.same(
        detect(`{"t":"a${written}${value}${written}b"}`).map(({ start, end }) => [start, end]),
        [[7 + written.length, 7 + written.length + value.length]],
        written + value,
      )
})

t.test('numbers and names that only look like a value are not found', async (t) => {
  for (const text of NEGATIVE) t.same(found(text), [], text)
})

t.test('only the enabled kinds are found', async (t) => {
  const text = 'alice@example.com and 192.168.12.7'
  t.same(
    detect(text, kindSet(['ip_address'])).map(({ kind }) => kind),
    ['ip_address'],
  )
  t.same(detect(text, kindSet([])), [])
})

const VALUES = Object.values(POSITIVE)
  .flat()
  .map((text) => text.replace(/[«»]/g, ''))
const WORDS = [
  'the',
  'Plan',
  'is',
  'ready',
  'for',
  '10.5',
  '日本語テキスト',
  'über',
  '—',
  '.',
  '\n',
  '(',
  'v1.2.3',
  '😀',
  '{"a":"',
  '\\n',
  'iban',
  'call',
  "Mitchell's",
  'Dr. Elena Ruiz',
  'KEY=value',
  '\t',
  '@',
  ':',
  '+',
  '1',
  '-----BEGIN ',
]
const sentence = fc
  .array(
    fc.tuple(
      fc.constantFrom(...VALUES, ...WORDS, ...WORDS),
      fc.constantFrom(' ', ' ', '', '\n', '\\n', '\\'),
    ),
    {
      maxLength: 30,
    },
  )
  .map((parts) => parts.flat().join(''))

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 })
const kinds = fc.constantFrom(DEFAULT_KINDS, kindSet(PII_KINDS))

t.test('a stream finds what the whole text has and releases only what is final', async (t) => {
  fc.assert(
    fc.property(sentence, sizes, kinds, (text, sizes, kinds) => {
      const detector = new StreamDetector(kinds)
      const findings: Finding[] = []
      let at = 0
      for (let i = 0; at < text.length; i++) {
        const size = sizes[i % sizes.length] ?? 1
        const released = detector.safe
        const now = detector.push(text.slice(at, at + size))
        if (now.some(({ start }) => start < released)) return false
        findings.push(...now)
        at += size
      }
      findings.push(...detector.finish())
      t.same(findings, detect(text, kinds))
      return findings.every(({ start, end }, i) => end > start && start >= (findings[i - 1]?.end ?? 0))
    }),
    { numRuns: 500 },
  )
})

t.test('a capitalised word with a sign inside is one word for every chunk size', async (t) => {
  const withNames = kindSet(['person', 'secret'])
  for (const text of [
    "the verses from Elizabeth Mitchell's Cautionary Tales. Is",
    '-----BEGIN PRIVATE KEY-----Copyright(c 2011MIIEpAIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyz',
  ]) {
    const whole = detect(text, withNames)
    t.equal(whole.length, 1, text)
    for (let size = 1; size < text.length; size++) {
      const detector = new StreamDetector(withNames)
      const findings: Finding[] = []
      for (let at = 0; at < text.length; at += size)
        findings.push(...detector.push(text.slice(at, at + size)))
      t.same([...findings, ...detector.finish()], whole, `${text}, chunks of ${size}`)
    }
  }
})

t.test('a stream finds what the whole text has across forced cuts', async (t) => {
  const piece = fc.constantFrom(
    'FR14 2004 1010 0505 0001 3M02 606{"a":"',
    ...VALUES.map((value) => `${value}"`),
  )
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 3 }),
      fc.nat(12),
      fc.integer({ min: 1, max: 9 }),
      (pieces, shift, size) => {
        const text = '1'.repeat(shift) + pieces.join('').repeat(60).slice(0, 3000)
        const detector = new StreamDetector()
        const findings: Finding[] = []
        for (let at = 0; at < text.length; at += size)
          findings.push(...detector.push(text.slice(at, at + size)))
        findings.push(...detector.finish())
        t.same(findings, detect(text))
      },
    ),
    { numRuns: 25 },
  )
})

t.test('a stream never holds back more than one segment', async (t) => {
  for (const text of [
    'x'.repeat(50_000),
    '4'.repeat(50_000),
    `-----BEGIN ${'A'.repeat(50_000)}`,
    '-----BEGIN PRIVATE KEY-----\nAAAA\n'.repeat(2000),
  ]) {
    const detector = new StreamDetector()
    let most = 0
    for (let at = 0; at < text.length; at += 50) {
      detector.push(text.slice(at, at + 50))
      most = Math.max(most, Math.min(text.length, at + 50) - detector.safe)
    }
    t.ok(most <= 16_384 + 50, `${text.slice(0, 20)}: ${most}`)
  }
})

t.test('time grows linearly with the text', async (t) => {
  // CPU time of this thread: the time that other processes take does not count.
  const timeMs = (text: string) =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const start = process.threadCpuUsage()
        detect(text)
        const { user, system } = process.threadCpuUsage(start)
        return (user + system) / 1000
      }),
    )
  for (const unit of [
    '4 ',
    '1-',
    'a.',
    'a@',
    '1.',
    'ab:',
    '+1 ',
    'GB29',
    '-----BEGIN ',
    'sk-a1',
    'eyJhbGciOi.',
    '4111 ',
    'getUser2ById3 setItem4 ',
    '\ufeffgetUser2ById3 setItem4 ',
    '-----BEGIN setItem4 ',
    '1:',
    '日1',
    'passport 12 ',
    'cpf 111.111.111-11 ',
    '1BoatSLRHtKNngkdXEeobR76b53LETtpyT ',
    '//a:b1',
  ]) {
    const small = timeMs(unit.repeat(20_000 / unit.length))
    const large = timeMs(unit.repeat(200_000 / unit.length))
    t.ok(
      large < 40 * Math.max(small, 1),
      `${unit}: ${small.toFixed(1)} ms, ten times that text ${large.toFixed(1)} ms`,
    )
  }
})
