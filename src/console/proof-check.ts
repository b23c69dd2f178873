// Checks a receipt in the browser, without trusting the gateway: entry, hash, Merkle path, signed
// checkpoint. The formats are those of src/audit/README.md; no code is shared with the gateway.

const ENTRY_DOMAIN = 'sidegate-audit/v1/entry\n'
/** First byte of what is hashed (RFC 6962 §2.1). */
const LEAF = 0x00
const NODE = 0x01
/** Signature type of Ed25519 (c2sp.org/signed-note). */
const ED25519 = 0x01
const HASH = /^sha256:([0-9a-f]{64})$/
const SIGNATURE_LINE = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u
const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u
/** A tree of 2^53 entries has 53 levels. */
const MAXIMUM_PATH = 53

/** An answer of `GET /api/v1/audit/checkpoint`. */
export interface CheckpointAnswer {
  /** The signed note. */
  readonly checkpoint: string
  readonly log: string
  readonly size: number
  readonly root: string
  readonly head: string | null
  readonly created_at: string
  /** A verifier key: `name+hash+base64`. */
  readonly public_key: string
}

/** A receipt document: `GET /api/v1/audit/receipts/{id}`. */
export interface ReceiptDocument {
  /** The sealed entry, exactly as it was hashed; null for a receipt that holds only its hash. */
  readonly entry: string | null
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  readonly proof: {
    readonly seq: number
    readonly size: number
    readonly leaf_hash: string
    readonly root: string
    readonly proof: readonly string[]
  }
  readonly checkpoint: CheckpointAnswer
}

/** One step of the check. */
export interface ProofStep {
  readonly title: string
  readonly ok: boolean
  /** What was computed or compared. */
  readonly detail: string
}

/**
 * Checks a receipt step by step, and stops after the first that fails. Never throws: malformed
 * parts fail their step.
 * @param trustedKey the verifier key to trust; the document's own proves only consistency
 */
export async function checkReceipt(document: ReceiptDocument, trustedKey: string): Promise<ProofStep[]> {
  const steps: ProofStep[] = []
  for (const [title, check] of STEPS) {
    let result: { readonly ok: boolean; readonly detail: string }
    try {
      result = await check(document, trustedKey)
    } catch {
      result = { ok: false, detail: 'This part of the receipt is malformed.' }
    }
    steps.push({ title, ...result })
    if (!result.ok) break
  }
  return steps
}

type Check = (
  document: ReceiptDocument,
  trustedKey: string,
) => Promise<{ readonly ok: boolean; readonly detail: string }>

const STEPS: readonly (readonly [string, Check])[] = [
  ['The entry has the hash that the receipt names', checkEntry],
  ['The hash is the leaf of the proof', checkLeaf],
  ['The path from the leaf ends in the root', checkPath],
  ['The checkpoint holds this root', checkRoot],
  ['The signature of the checkpoint is valid', checkSignature],
]

async function checkEntry({ entry, hash, proof }: ReceiptDocument) {
  if (entry === null) return { ok: true, detail: `entry ${proof.seq}: the receipt holds its hash only` }
  const computed = `sha256:${toHex(await sha256(encode(ENTRY_DOMAIN), encode(entry)))}`
  const { seq } = JSON.parse(entry) as { seq: number }
  return { ok: computed === hash && seq === proof.seq, detail: `entry ${seq}: ${computed}` }
}

async function checkLeaf({ hash, proof }: ReceiptDocument) {
  const [, hex = ''] = HASH.exec(hash) ?? []
  const leaf = toBase64(await sha256(Uint8Array.of(LEAF), fromHex(hex)))
  return { ok: leaf === proof.leaf_hash, detail: leaf }
}

/** RFC 9162 §2.1.3.2. */
async function checkPath({ proof: { seq, size, leaf_hash, root, proof } }: ReceiptDocument) {
  const isSound = Number.isSafeInteger(seq) && Number.isSafeInteger(size) && seq >= 0 && seq < size
  if (!isSound || proof.length > MAXIMUM_PATH)
    return { ok: false, detail: 'The numbers of the proof do not fit.' }
  let node = fromBase64(leaf_hash)
  let at = seq
  let last = size - 1
  for (const text of proof) {
    if (last === 0) return { ok: false, detail: 'The proof is longer than the path.' }
    const sibling = fromBase64(text)
    const isLeft = at % 2 === 1 || at === last
    node = await (isLeft ? hashNode(sibling, node) : hashNode(node, sibling))
    while (isLeft && at % 2 === 0 && at !== 0) {
      at = Math.floor(at / 2)
      last = Math.floor(last / 2)
    }
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  const reached = toBase64(node)
  return { ok: last === 0 && reached === root, detail: `${proof.length} steps to ${reached}` }
}

async function checkRoot({ proof, checkpoint }: ReceiptDocument) {
  const [origin = '', size = '', root = ''] = checkpoint.checkpoint.split('\n')
  return {
    ok: size === String(proof.size) && root === proof.root,
    detail: `${origin}, ${size} entries`,
  }
}

/** c2sp.org/signed-note: the text, a blank line, a line for each signature. */
async function checkSignature({ checkpoint: { checkpoint: note } }: ReceiptDocument, trustedKey: string) {
  const [, name, keyHash, typed = ''] = VERIFIER_KEY.exec(trustedKey.trim()) ?? []
  const key = fromBase64(typed)
  if (name === undefined || key[0] !== ED25519 || note.split('\n', 1)[0] !== name)
    return { ok: false, detail: 'The key is not one of this log.' }
  const nameAndKey = await sha256(encode(`${name}\n`), key)
  if (toHex(nameAndKey.slice(0, 4)) !== keyHash) return { ok: false, detail: 'The key is malformed.' }
  const end = note.lastIndexOf('\n\n')
  const text = encode(note.slice(0, end + 1))
  const publicKey = await crypto.subtle.importKey('raw', key.slice(1), 'Ed25519', false, ['verify'])
  for (const line of note.slice(end + 2).split('\n')) {
    const [, signer, base64 = ''] = SIGNATURE_LINE.exec(line) ?? []
    const signed = fromBase64(base64)
    if (signer !== name || toHex(signed.slice(0, 4)) !== keyHash) continue
    const ok = await crypto.subtle.verify('Ed25519', publicKey, signed.slice(4), text)
    return { ok, detail: `Ed25519 key ${keyHash} of ${name}` }
  }
  return { ok: false, detail: 'No signature by this key is on the checkpoint.' }
}

type Bytes = Uint8Array<ArrayBuffer>

const encode = (text: string): Bytes => new TextEncoder().encode(text)

async function sha256(...parts: Bytes[]): Promise<Bytes> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole))
}

const hashNode = (left: Bytes, right: Bytes): Promise<Bytes> => sha256(Uint8Array.of(NODE), left, right)

const toHex = (bytes: Bytes): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const fromHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const toBase64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes))

/** @throws Error for any form but the canonical one, whose unused bits could hide a change */
function fromBase64(text: string): Bytes {
  const bytes = Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0))
  if (toBase64(bytes) !== text) throw new Error('not canonical base64')
  return bytes
}
