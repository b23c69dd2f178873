// Makes certificates for tests: self-signed, EC P-256, for localhost and 127.0.0.1 (RFC 5280).

import { generateKeyPairSync, sign } from 'node:crypto'

/** Encodes a value in DER (X.690 §8.1): tag, length, contents. */
function der(tag: number, ...contents: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(contents.map((one) => Buffer.from(one)))
  const { length } = body
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), body])
}

const SEQUENCE = 0x30
const sequence = (...items: Buffer[]): Buffer => der(SEQUENCE, ...items)
const oid = (...bytes: number[]): Buffer => der(0x06, bytes)
const time = (date: Date): Buffer =>
  der(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))

const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const COMMON_NAME = oid(0x55, 0x04, 0x03)
const SUBJECT_ALTERNATIVES = oid(0x55, 0x1d, 0x11)
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13)
const [VERSION_3, YES] = [der(0xa0, der(0x02, [2])), der(0x01, [0xff])]
const DAY_MS = 86_400_000

/** A certificate that is its own authority, valid for a day, and its key; both PEM. */
export function selfSigned(): { readonly certificate: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from('localhost')))))
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, [127, 0, 0, 1]))
  const extensions = sequence(
    sequence(SUBJECT_ALTERNATIVES, der(0x04, names)),
    sequence(BASIC_CONSTRAINTS, YES, der(0x04, sequence(YES))),
  )
  const content = sequence(
    VERSION_3,
    der(0x02, [1]),
    ECDSA_SHA256,
    name,
    sequence(time(new Date(Date.now() - DAY_MS)), time(new Date(Date.now() + DAY_MS))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = sign('sha256', content, privateKey)
  const bytes = sequence(content, ECDSA_SHA256, der(0x03, [0], signature))
  const lines = bytes
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
