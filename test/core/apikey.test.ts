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

t.test('every 256-bit number has a key, and different numbers have different keys', async (t) => {
  t.ok(parseApiKey(createApiKey(new Uint8Array(32).fill(255))))
  fc.assert(
    fc.property(bytes32, bytes32, (a, b) => {
      fc.pre(Buffer.compare(a, b) !== 0)
      return createApiKey(a) !== createApiKey(b)
    }),
  )
})

t.test('the checksum is the CRC-32 of everything before it', async (t) => {
  // CRC-32 of the 54 characters bit by bit (ISO 3309), independent of zlib.
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

t.test('the checksum detects a wrong character and two swapped ones', async () => {
  const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
  fc.assert(
    fc.property(
      bytes32,
      fc.integer({ min: 11, max: 59 }),
      fc.constantFrom(...alphabet),
      (bytes, index, other) => {
        const key = createApiKey(bytes)
        fc.pre(key[index] !== other)
        return !parseApiKey(key.slice(0, index) + other + key.slice(index + 1))
      },
    ),
  )
  fc.assert(
    fc.property(bytes32, fc.integer({ min: 11, max: 58 }), (bytes, index) => {
      const key = createApiKey(bytes)
      fc.pre(key[index] !== key[index + 1])
      return !parseApiKey(`${key.slice(0, index)}${key[index + 1]}${key[index]}${key.slice(index + 2)}`)
    }),
  )
})

t.test('text of any other format is rejected', async (t) => {
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

t.test('a key is stored as its SHA-256 and shown by four characters', async (t) => {
  const key = createApiKey(new Uint8Array(32).fill(200))
  t.equal(hashApiKey(key), createHash('sha256').update(key).digest('hex'))
  t.equal(keyPrefix(key), `sgate_live_…${key.slice(-10, -6)}`)
})

t.test('fewer than 256 random bits are rejected', async (t) => {
  t.throws(() => createApiKey(new Uint8Array(31)), RangeError)
})
