// Signed notes with Ed25519 keys (https://c2sp.org/signed-note): a text, a blank line, and one line
// for each signature. Does not interpret the text. Keys and notes may be hostile.

import { isUtf8 } from 'node:buffer'
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/** The only signature type in use (signed-note, "Signature types"). */
const ED25519 = 0x01
const KEY_HASH_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
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
export function verifierOf(name: string, key: KeyObject): Verifier {
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key')
  if (!KEY_NAME.test(name)) throw new TypeError('the name of a key must not contain white space or +')
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  const typed = Buffer.concat([Buffer.of(ED25519), rawKey(publicKey)])
  const text = `${name}+${keyHash(name, typed).toString('hex')}+${typed.toString('base64')}`
  return { name, key: publicKey, text }
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
  if (typed.length !== 1 + PUBLIC_KEY_BYTES || typed[0] !== ED25519) throw new TypeError('not an Ed25519 key')
  if (keyHash(named, typed).toString('hex') !== digest) throw new TypeError('the key does not match its hash')
  const der = Buffer.concat([SPKI_PREFIX, typed.subarray(1)])
  return verifierOf(named, createPublicKey({ key: der, format: 'der', type: 'spki' }))
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
 * Opens a note. Accepts any bytes. Ignores signatures by others than `verifiers`; the caller
 * decides who must have signed. An invalid signature under the name and key hash of one of them is
 * a fault.
 */
export function openNote(
  note: string | Uint8Array,
  verifiers: readonly Verifier[],
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
    const candidates = verifiers.filter((one) => one.name === name && hashOf(one).equals(digest))
    if (candidates.length === 0) continue
    const signature = signed.subarray(KEY_HASH_BYTES)
    const isBy = ({ key }: Verifier) =>
      signature.length === SIGNATURE_BYTES && verify(null, Buffer.from(text), key, signature)
    const verifier = candidates.find(isBy)
    if (verifier === undefined) return { fault: `the signature of ${name} is not valid` }
    verified.add(verifier.text)
  }
  return { text, verified: [...verified] }
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
