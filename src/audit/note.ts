// Signed notes with Ed25519 keys (https://c2sp.org/signed-note): a text, a blank line, and one line
// for each signature, by its author or by a witness (https://c2sp.org/tlog-cosignature). Does not
// interpret the text. Keys and notes may be hostile.

import { isUtf8 } from 'node:buffer'
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/** Types of signatures in use (signed-note, "Signature types"). */
const ED25519 = 0x01
const COSIGNATURE = 0x04
const KEY_HASH_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** Length of the time before the signature of a witness: seconds, big-endian. */
const TIME_BYTES = 8
/** U+2014 and a space begin every signature line. */
const SIGNATURE_MARK = '\u2014 '
/** DER of a SubjectPublicKeyInfo for Ed25519 up to the key itself (RFC 8410 §4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
/** Longest note to read, bytes; ours take about 400. */
export const MAXIMUM_NOTE_BYTES = 16_384
/** Maximum signatures on a note, those of witnesses included. */
const MAXIMUM_SIGNATURES = 32
/** Forbidden in texts: control characters other than the line feed. */
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/
const KEY_NAME = /^[^\s+]+$/u
const SIGNATURE_LINE = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u
const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u

/** A name and a public key whose signatures are accepted. */
export interface Verifier {
  readonly name: string
  readonly key: KeyObject
  /** `name+hash+base64`, the verifier key form. */
  readonly text: string
  /** Whether it signs as a witness, with a time. */
  readonly isCosigner: boolean
}

/** A private key and the verifier that accepts its signatures. */
export interface Signer {
  readonly key: KeyObject
  readonly verifier: Verifier
}

export interface OpenedNote {
  /** The text, with its final line feed. */
  readonly text: string
  /** Verifier keys with a valid signature on the note; may be empty. */
  readonly verified: readonly string[]
}

/** @throws TypeError when `key` is not an Ed25519 key, or the name contains white space or `+` */
export const verifierOf = (name: string, key: KeyObject): Verifier => typedVerifier(ED25519, name, key)

/** Returns the verifier of a witness's signatures. @throws TypeError as `verifierOf` */
export const cosignerOf = (name: string, key: KeyObject): Verifier => typedVerifier(COSIGNATURE, name, key)

function typedVerifier(type: number, name: string, key: KeyObject): Verifier {
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key')
  if (!KEY_NAME.test(name)) throw new TypeError('the name of a key must not contain white space or +')
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  const typed = Buffer.concat([Buffer.of(type), rawKey(publicKey)])
  const text = `${name}+${keyHash(name, typed).toString('hex')}+${typed.toString('base64')}`
  return { name, key: publicKey, text, isCosigner: type === COSIGNATURE }
}

/**
 * @param pem an Ed25519 private key, PKCS#8
 * @throws TypeError or the parser's error for anything else
 */
export function readSigner(name: string, pem: string): Signer {
  const key = createPrivateKey(pem)
  return { key, verifier: verifierOf(name, key) }
}

/** Returns why `readSigner` does not read a private key; null for one that it reads. */
export function whyNotSigner(pem: string): string | null {
  try {
    readSigner('any', pem)
    return null
  } catch {
    return 'is not an Ed25519 private key in PEM (PKCS#8); create one with: openssl genpkey -algorithm ed25519'
  }
}

/**
 * Reads a public key: a verifier key, or PEM (SPKI), which has no name.
 * @param name the name for a key without one
 * @throws TypeError or the parser's error for anything else
 */
export function readVerifier(text: string, name: string): Verifier {
  const trimmed = text.trim()
  if (trimmed.startsWith('-----BEGIN')) return verifierOf(name, createPublicKey(trimmed))
  const [, named, digest, base64] = VERIFIER_KEY.exec(trimmed) ?? []
  if (named === undefined || digest === undefined || base64 === undefined) {
    throw new TypeError('neither PEM nor a verifier key (name+hash+base64)')
  }
  const typed = Buffer.from(base64, 'base64')
  const [type] = typed
  if (typed.length !== 1 + PUBLIC_KEY_BYTES || (type !== ED25519 && type !== COSIGNATURE))
    throw new TypeError('not an Ed25519 key')
  if (keyHash(named, typed).toString('hex') !== digest) throw new TypeError('the key does not match its hash')
  const der = Buffer.concat([SPKI_PREFIX, typed.subarray(1)])
  return typedVerifier(type, named, createPublicKey({ key: der, format: 'der', type: 'spki' }))
}

/**
 * Returns the text with one signature.
 * @throws TypeError when the text does not end in a line feed, or contains control characters or
 * lone surrogates
 */
export function signNote(text: string, { key, verifier }: Signer): string {
  if (!isText(text)) throw new TypeError('not the text of a note')
  const signature = sign(null, Buffer.from(text), key)
  const signed = Buffer.concat([hashOf(verifier), signature]).toString('base64')
  return `${text}\n${SIGNATURE_MARK}${verifier.name} ${signed}\n`
}

/**
 * Returns the note with the signature of a witness after the others.
 * @param cosigner signs with the verifier of `cosignerOf`
 * @param seconds Unix time
 * @throws TypeError when the note is malformed, or has no room for one more signature
 */
export function cosignNote(note: string, { key, verifier }: Signer, seconds: number): string {
  const opened = openNote(note, [])
  if ('fault' in opened) throw new TypeError(opened.fault)
  const time = Buffer.alloc(TIME_BYTES)
  time.writeBigUInt64BE(BigInt(seconds))
  const signature = sign(null, cosignedMessage(time, opened.text), key)
  const signed = Buffer.concat([hashOf(verifier), time, signature]).toString('base64')
  const cosigned = `${note}${SIGNATURE_MARK}${verifier.name} ${signed}\n`
  const checked = openNote(cosigned, [verifier])
  if ('fault' in checked) throw new TypeError(checked.fault)
  return cosigned
}

/** Returns what a witness signs (tlog-cosignature, "cosignature/v1"). */
const cosignedMessage = (time: Buffer, text: string): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${time.readBigUInt64BE()}\n${text}`)

/**
 * Opens a note. Accepts any bytes. Ignores signatures by others than `verifiers`; the caller
 * decides who must have signed. An invalid signature under the name and key hash of one of them is
 * a fault.
 * @param verifiers those that are trusted, or what returns those that may sign under a name
 */
export function openNote(
  note: string | Uint8Array,
  verifiers: readonly Verifier[] | ((name: string) => readonly Verifier[]),
): OpenedNote | { readonly fault: string } {
  const bytes = typeof note === 'string' ? Buffer.from(note) : note
  if (bytes.length > MAXIMUM_NOTE_BYTES) return { fault: 'the note is too long' }
  if (!isUtf8(bytes)) return { fault: 'the note is not UTF-8' }
  const whole = Buffer.from(bytes).toString('utf8')
  const blank = whole.lastIndexOf('\n\n')
  if (blank < 0 || !whole.endsWith('\n')) return { fault: 'the note has no signatures' }
  const text = whole.slice(0, blank + 1)
  const lines = whole.slice(blank + 2, -1).split('\n')
  if (!isText(text)) return { fault: 'the text of the note is malformed' }
  if (lines.length > MAXIMUM_SIGNATURES) return { fault: 'the note has too many signatures' }
  const verified = new Set<string>()
  for (const line of lines) {
    const [, name, base64] = SIGNATURE_LINE.exec(line) ?? []
    if (name === undefined || base64 === undefined) return { fault: 'a signature line is malformed' }
    const signed = Buffer.from(base64, 'base64')
    // The decoder ignores unused bits, which could hide a change.
    if (signed.toString('base64') !== base64) return { fault: 'a signature line is malformed' }
    const digest = signed.subarray(0, KEY_HASH_BYTES)
    // Two keys may share a short hash.
    const trusted = typeof verifiers === 'function' ? verifiers(name) : verifiers
    const candidates = trusted.filter((one) => one.name === name && hashOf(one).equals(digest))
    if (candidates.length === 0) continue
    const verifier = candidates.find((one) => isSignedBy(one, text, signed.subarray(KEY_HASH_BYTES)))
    if (verifier === undefined) return { fault: `the signature of ${name} is not valid` }
    verified.add(verifier.text)
  }
  return { text, verified: [...verified] }
}

/** @param signed what follows the key hash */
function isSignedBy({ key, isCosigner }: Verifier, text: string, signed: Buffer): boolean {
  const time = signed.subarray(0, isCosigner ? TIME_BYTES : 0)
  const signature = signed.subarray(time.length)
  if (signature.length !== SIGNATURE_BYTES) return false
  return verify(null, isCosigner ? cosignedMessage(time, text) : Buffer.from(text), key, signature)
}

/** Returns the first four bytes of SHA-256(name ‖ line feed ‖ type ‖ key). */
function keyHash(name: string, typed: Uint8Array): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), typed])
  return hash('sha256', bytes, 'buffer').subarray(0, KEY_HASH_BYTES)
}

function hashOf({ name, text }: Verifier): Buffer {
  return Buffer.from(text.slice(name.length + 1, name.length + 1 + 2 * KEY_HASH_BYTES), 'hex')
}

function rawKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length)
}

const isText = (text: string): boolean => text.endsWith('\n') && text.isWellFormed() && !CONTROL.test(text)
