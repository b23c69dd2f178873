import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createApiKey, hashApiKey, keyPrefix, parseApiKey } from '../../src/core/apikey.ts'

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

t.test('a key is the prefix, 43 characters of randomness and 6 of checksum', async (t) => {
  t.equal(
    createApiKey(new Uint8Array(32)).slice(0, -6),
    'sgate_live_0000000000000000000000000000000000000000000',
  )
  fc.assert(
    fc.property(bytes32, (bytes) => {
      const key = createApiKey(bytes)
      return /^sgate_live_[0-9A-Za-z]{49}$/.test(key) && parseApiKey(key)
    }),
  )
})

t.test('the largest number fits, and different randomness gives different keys', async (t) => {
  t.ok(parseApiKey(createApiKey(new Uint8Array(32).fill(255))))
  fc.assert(
    fc.property(bytes32, bytes32, (a, b) => {
      fc.pre(Buffer.compare(a, b) !== 0)
      return createApiKey(a) !== createApiKey(b)
    }),
  )
})

t.test('the checksum is the CRC-32 of everything before it', async (t) => {
  // CRC-32 of the 54 characters computed bit by bit (ISO 3309), so that the library is not its own witness.
  const key = createApiKey(new Uint8Array(32).fill(7))
  let crc = 0xffffffff
  for (const byte of Buffer.from(key.slice(0, 54))) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let rest = (crc ^ 0xffffffff) >>> 0
  let expected = ''
  for (let digit = 0; digit < 6; digit++) {
    expected = alphabet[rest % 62] + expected
    rest = Math.floor(rest / 62)
  }
  t.equal(key.slice(54), expected)
})

t.test('a typo or two swapped characters are seen without a lookup', async () => {
  const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
  fc.assert(
    fc.property(
      bytes32,
      fc.integer({ min: 11, max: 59 }),
      fc.constantFrom(...alphabet),
      (bytes, place, other) => {
        const key = createApiKey(bytes)
        fc.pre(key[place] !== other)
        return !parseApiKey(key.slice(0, place) + other + key.slice(place + 1))
      },
    ),
  )
  fc.assert(
    fc.property(bytes32, fc.integer({ min: 11, max: 58 }), (bytes, place) => {
      const key = createApiKey(bytes)
      fc.pre(key[place] !== key[place + 1])
      return !parseApiKey(`${key.slice(0, place)}${key[place + 1]}${key[place]}${key.slice(place + 2)}`)
    }),
  )
})

t.test('anything else is refused', async (t) => {
  const key = createApiKey(randomBytes(32))
  const bad = [
    '',
    'sgate_live_',
    ` ${key}`,
    `${key}\n`,
    key.slice(1),
    `${key}0`,
    key.replace('live', 'LIVE'),
    'é'.repeat(60),
  ]
  for (const text of bad) t.equal(parseApiKey(text), false, JSON.stringify(text))
  fc.assert(fc.property(fc.string({ maxLength: 80 }), (text) => !parseApiKey(text)))
  t.equal(parseApiKey('x'.repeat(10_000_000)), false)
})

t.test(
  'what is stored is the SHA-256 of the whole key, what is shown the four characters before the checksum',
  async (t) => {
    const key = createApiKey(new Uint8Array(32).fill(200))
    t.equal(hashApiKey(key), createHash('sha256').update(key).digest('hex'))
    t.equal(keyPrefix(key), `sgate_live_…${key.slice(-10, -6)}`)
  },
)

t.test('a key is never made from less than 256 bits', async (t) => {
  t.throws(() => createApiKey(new Uint8Array(31)), RangeError)
})
