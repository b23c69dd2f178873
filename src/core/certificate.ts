// Reads X.509 certificates (RFC 5280) and judges whether a listener may serve one with its key.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { Milliseconds } from './clock.ts'
import { isoTime } from './time.ts'

/** What a listener serves TLS with, PEM. */
export interface TlsMaterial {
  /** The certificate, and those that lead to its authority. */
  readonly certificate: string
  readonly key: string
  /** Authorities of client certificates; null when none are requested. */
  readonly clientCa: string | null
  readonly minVersion: TlsVersion
}

export type TlsVersion = '1.2' | '1.3'

/** Why a part of the material cannot be used, without repeating it. */
export interface TlsFault {
  readonly part: 'certificate' | 'key' | 'clientCa'
  readonly reason: string
}

const MINIMUM_RSA_BITS = 2048
const MINIMUM_CURVE_BITS = 256

/**
 * Returns every fault of the parts that are there. Null is a part that cannot be read, or that is
 * not wanted.
 */
export function findTlsFaults(
  { certificate, key, clientCa }: { readonly [Part in TlsFault['part']]: string | null },
  nowMs: Milliseconds,
): readonly TlsFault[] {
  const chain = certificate === null ? null : parseBundle(certificate)
  const secret = key === null ? null : parseKey(key)
  const [leaf] = chain ?? []
  const faults: TlsFault[] = []
  const add = (part: TlsFault['part'], reason: string | null) => {
    if (reason !== null) faults.push({ part, reason })
  }
  if (certificate !== null) add('certificate', chain === null ? NO_CERTIFICATE : whyNotChain(chain, nowMs))
  if (key !== null && secret === null)
    add('key', 'is not a private key in PEM without a passphrase; write one with: openssl pkey')
  if (leaf !== undefined && secret !== null && !leaf.checkPrivateKey(secret))
    add('key', 'is not the key of the certificate; mount the two that were issued together')
  if (clientCa !== null) add('clientCa', whyNotAuthorities(parseBundle(clientCa), nowMs))
  return faults
}

const NO_CERTIFICATE = 'holds no certificate in PEM, or one that cannot be read'

/** When the first certificate of a bundle is valid. @throws Error for a bundle without one */
export function validityOf(bundle: string): {
  readonly fromMs: Milliseconds
  readonly untilMs: Milliseconds
} {
  const { validFromDate, validToDate } = new X509Certificate(bundle)
  return { fromMs: validFromDate.getTime(), untilMs: validToDate.getTime() }
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a bundle, in order; null without any, or when one cannot be read. */
function parseBundle(bundle: string): readonly X509Certificate[] | null {
  try {
    const found = bundle.match(PEM_CERTIFICATE)?.map((pem) => new X509Certificate(pem)) ?? []
    return found.length === 0 ? null : found
  } catch {
    return null
  }
}

function parseKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem)
  } catch {
    return null
  }
}

function whyNotChain(chain: readonly X509Certificate[], nowMs: Milliseconds): string | null {
  const [leaf, ...others] = chain
  const { validFromDate, validToDate } = leaf!
  if (validToDate.getTime() <= nowMs) return `expired at ${isoTime(validToDate.getTime())}; renew it`
  if (validFromDate.getTime() > nowMs)
    return `is not valid before ${isoTime(validFromDate.getTime())}; check the clock, or wait`
  // A client has its own copy of a root and does not check the signature of one that is sent.
  const checked = [leaf!, ...others.filter((one) => one.subject !== one.issuer)]
  return firstOf(checked, (one) => whyWeakKey(one.publicKey) ?? whyWeakSignature(one))
}

function whyNotAuthorities(
  authorities: readonly X509Certificate[] | null,
  nowMs: Milliseconds,
): string | null {
  if (authorities === null) return NO_CERTIFICATE
  if (authorities.some(({ ca }) => !ca))
    return 'holds a certificate that is not an authority; list those that sign certificates of clients'
  const last = Math.max(...authorities.map(({ validToDate }) => validToDate.getTime()))
  if (last <= nowMs) return `expired at ${isoTime(last)}; renew it`
  return firstOf(authorities, ({ publicKey }) => whyWeakKey(publicKey))
}

const firstOf = <Item>(items: readonly Item[], find: (item: Item) => string | null): string | null =>
  items.map(find).find((reason) => reason !== null) ?? null

/** Below 112 bits of strength (NIST SP 800-57 part 1 §5.6.1) a key is weak. */
export function whyWeakKey({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): string | null {
  switch (type) {
    case 'rsa':
    case 'rsa-pss': {
      const bits = details?.modulusLength ?? 0
      if (bits >= MINIMUM_RSA_BITS) return null
      return `has an RSA key of ${bits} bits; use at least ${MINIMUM_RSA_BITS}`
    }
    case 'ec': {
      const curve = details?.namedCurve ?? 'without a name'
      // The names have the size: prime256v1, secp384r1.
      if (Number(/\d{3}/.exec(curve)?.[0] ?? 0) >= MINIMUM_CURVE_BITS) return null
      return `has an EC key on the curve ${curve}; use one of at least ${MINIMUM_CURVE_BITS} bits`
    }
    case 'ed25519':
    case 'ed448':
      return null
    default:
      return `has a key of type ${type}; use RSA, EC or Ed25519`
  }
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex')
/** Object identifiers of signatures by MD2, MD4, MD5 and SHA-1 (RFC 3279 §2.2). */
const WEAK_SIGNATURES = new Map([
  ...['2a864886f70d010102', '2a864886f70d010103', '2a864886f70d010104'].map((oid) => [oid, 'MD5'] as const),
  ...['2a864886f70d010105', '2a8648ce380403', '2a8648ce3d0401'].map((oid) => [oid, 'SHA-1'] as const),
])
/** RSASSA-PSS, whose hash is a parameter and SHA-1 by default (RFC 4055 §3.1). */
const PSS = '2a864886f70d01010a'
/** The arc of SHA-2 and SHA-3. */
const STRONG_HASHES = hex('6086480165030402')

function whyWeakSignature({ raw }: X509Certificate): string | null {
  const [certificate] = elementsOf(raw)
  const algorithm = elementsOf(certificate!.content)[1]!.content
  const oid = elementsOf(algorithm)[0]!.content.toString('hex')
  const weak = oid === PSS && !algorithm.includes(STRONG_HASHES) ? 'SHA-1' : WEAK_SIGNATURES.get(oid)
  return weak === undefined ? null : `is signed with ${weak}; have one issued with SHA-256`
}

const SUBJECT_ALTERNATIVES = hex('551d11')
/** Tags of DER (RFC 5280 §4.1, §4.2.1.6). */
const [EXTENSIONS, DNS, URI] = [0xa3, 0x82, 0x86]
/** An IA5String without spaces and control characters. */
const VISIBLE = /^[\x21-\x7e]+$/

/**
 * The names of a client certificate: its URI and DNS subject alternative names, as `clientName`
 * writes them. Read from the bytes, because the text form of such a list is ambiguous.
 */
export function clientNamesOf({ raw }: Pick<X509Certificate, 'raw'>): readonly string[] {
  try {
    const [certificate] = elementsOf(raw)
    const [content] = elementsOf(certificate!.content)
    const [list] = elementsOf(content!.content).filter(({ tag }) => tag === EXTENSIONS)
    const [extensions] = list === undefined ? [] : elementsOf(list.content)
    return elementsOf(extensions?.content ?? Buffer.alloc(0)).flatMap(({ content: extension }) => {
      const parts = elementsOf(extension)
      if (!parts[0]!.content.equals(SUBJECT_ALTERNATIVES)) return []
      return elementsOf(elementsOf(parts.at(-1)!.content)[0]!.content).flatMap(({ tag, content: name }) => {
        const kind = tag === URI ? 'URI' : 'DNS'
        const text = name.toString('latin1')
        return (tag === URI || tag === DNS) && VISIBLE.test(text) ? [`${kind}:${text}`] : []
      })
    })
  } catch {
    // An extension that is not DER names nobody.
    return []
  }
}

/** Writes a declared name with its kind, so that neither kind can pass for the other. */
export const clientName = (san: string): string => `${san.includes(':') ? 'URI' : 'DNS'}:${san}`

interface DerElement {
  readonly tag: number
  readonly content: Buffer
}

/** The elements that lie side by side in DER (X.690 §8.1). @throws RangeError for other bytes */
function elementsOf(der: Buffer): readonly DerElement[] {
  const found: DerElement[] = []
  for (let at = 0; at < der.length; ) {
    const tag = der.readUInt8(at)
    const first = der.readUInt8(at + 1)
    const more = first < 0x80 ? 0 : first & 0x7f
    const start = at + 2 + more
    const length = more === 0 ? first : der.readUIntBE(at + 2, more)
    if (start + length > der.length) throw new RangeError('an element is cut off')
    found.push({ tag, content: der.subarray(start, start + length) })
    at = start + length
  }
  return found
}
