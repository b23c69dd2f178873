// Makes certificates for tests (RFC 5280).

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { TlsMaterial } from '../../src/core/certificate.ts'

/** Encodes a value in DER (X.690 §8.1): tag, length, contents. */
function der(tag: number, ...contents: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(contents.map((one) => Buffer.from(one)))
  const { length } = body
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), body])
}

const SEQUENCE = 0x30
const sequence = (...items: Buffer[]): Buffer => der(SEQUENCE, ...items)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
/** UTCTime until 2049. */
const time = (timeMs: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(timeMs).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))

type Hash = 'sha256' | 'sha1' | 'md5'
const NULL = der(0x05)
const ALGORITHMS: Readonly<Record<string, Buffer>> = {
  'ec sha256': sequence(oid('2a8648ce3d040302')),
  'ec sha1': sequence(oid('2a8648ce3d0401')),
  'rsa sha256': sequence(oid('2a864886f70d01010b'), NULL),
  'rsa sha1': sequence(oid('2a864886f70d010105'), NULL),
  'rsa md5': sequence(oid('2a864886f70d010104'), NULL),
}
const COMMON_NAME = oid('550403')
const SUBJECT_ALTERNATIVES = oid('551d11')
const BASIC_CONSTRAINTS = oid('551d13')
const [VERSION_3, YES] = [der(0xa0, der(0x02, [2])), der(0x01, [0xff])]
export const DAY_MS = 86_400_000

/** Tags of subject alternative names. */
const NAME_TAGS = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const
export type AlternativeName = readonly [kind: keyof typeof NAME_TAGS, name: string | number[]]

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** A certificate with its key, PEM. */
export interface TestCertificate {
  readonly certificate: string
  readonly key: string
  readonly subject: string
  readonly privateKey: KeyObject
}

export interface CertificateTerms {
  readonly subject?: string
  readonly names?: readonly AlternativeName[]
  /** Bytes of the extension of names in place of `names`. */
  readonly rawNames?: Buffer
  /** Signs the certificate; it signs itself without one. */
  readonly issuer?: Pick<TestCertificate, 'subject' | 'privateKey'>
  readonly isAuthority?: boolean
  readonly fromMs?: number
  readonly untilMs?: number
  readonly keys?: KeyPair
  readonly hash?: Hash
}

export const ecKeys = (namedCurve = 'P-256'): KeyPair => generateKeyPairSync('ec', { namedCurve })
export const rsaKeys = (modulusLength: number): KeyPair => generateKeyPairSync('rsa', { modulusLength })

const LOCAL: readonly AlternativeName[] = [
  ['dns', 'localhost'],
  ['ip', [127, 0, 0, 1]],
]

/** Makes a certificate: EC P-256 for localhost and 127.0.0.1, valid for a day, by default. */
export function makeCertificate(terms: CertificateTerms = {}): TestCertificate {
  const { subject = 'localhost', names = LOCAL, isAuthority = false, hash = 'sha256' } = terms
  const { keys = ecKeys(), fromMs = Date.now() - DAY_MS, untilMs = Date.now() + DAY_MS } = terms
  const signer = terms.issuer ?? { subject, privateKey: keys.privateKey }
  const nameOf = (text: string) => sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))))
  const alternatives = names.map(([kind, name]) =>
    der(NAME_TAGS[kind], typeof name === 'string' ? Buffer.from(name, 'latin1') : name),
  )
  const extensions = sequence(
    sequence(SUBJECT_ALTERNATIVES, der(0x04, terms.rawNames ?? sequence(...alternatives))),
    sequence(BASIC_CONSTRAINTS, YES, der(0x04, sequence(...(isAuthority ? [YES] : [])))),
  )
  const algorithm = ALGORITHMS[`${signer.privateKey.asymmetricKeyType} ${hash}`]!
  const content = sequence(
    VERSION_3,
    der(0x02, [1], randomBytes(8)),
    algorithm,
    nameOf(signer.subject),
    sequence(time(fromMs), time(untilMs)),
    nameOf(subject),
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const bytes = sequence(content, algorithm, der(0x03, [0], sign(hash, content, signer.privateKey)))
  const lines = bytes
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    subject,
    privateKey: keys.privateKey,
  }
}

/** What a listener serves a certificate with. */
export const servedWith = (
  { certificate, key }: Pick<TestCertificate, 'certificate' | 'key'>,
  more: Partial<TlsMaterial> = {},
): TlsMaterial => ({ certificate, key, clientCa: null, minVersion: '1.2', ...more })

/** A certificate that is its own authority, for localhost and 127.0.0.1, valid for a day. */
export const selfSigned = (): TestCertificate => makeCertificate({ isAuthority: true })
