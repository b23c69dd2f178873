// Signed notes and checkpoints: keys, signatures, hostile input.

import { createHash, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  type Checkpoint,
  formatCheckpoint,
  openCheckpoint,
  originOf,
  readCheckpoint,
  signCheckpoint,
} from '../../src/audit/checkpoint.ts'
import {
  cosignerOf,
  cosignNote,
  MAXIMUM_NOTE_BYTES,
  openNote,
  readSigner,
  readVerifier,
  signNote,
  verifierOf,
} from '../../src/audit/note.ts'

const LOG = '01980000-0000-7000-8000-0000000000ff'
const pemOf = (key: KeyObject, type: 'pkcs8' | 'spki') =>
  String(key.export({ format: 'pem', type: type as 'spki' }))
const pair = generateKeyPairSync('ed25519')
const signer = readSigner(originOf(LOG), pemOf(pair.privateKey, 'pkcs8'))
const stranger = readSigner(originOf(LOG), pemOf(generateKeyPairSync('ed25519').privateKey, 'pkcs8'))
const CHECKPOINT: Checkpoint = {
  log: LOG,
  size: 8124,
  root: Buffer.alloc(32, 5),
  head: `sha256:${'ab'.repeat(32)}`,
  time: '2026-03-01T00:00:00.000Z',
}

t.test('the example of the specification opens and is signed alike', async (t) => {
  // Key and note of https://pkg.go.dev/golang.org/x/mod/sumdb/note, the format's first
  // implementation.
  const verifier = readVerifier('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW', '')
  const text =
    'If you think cryptography is the answer to your problem,\nthen you don’t know what your problem is.\n'
  const note = `${text.replace('’', "'")}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`
  t.match(openNote(note, [verifier]), { verified: [verifier.text] })
})

t.test('a public key is read from PEM or from a verifier key', async (t) => {
  const { text } = signer.verifier
  const typed = Buffer.concat([
    Buffer.of(1),
    Buffer.from(pair.publicKey.export({ format: 'jwk' }).x as string, 'base64url'),
  ])
  const digest = createHash('sha256')
    .update(`${originOf(LOG)}\n`)
    .update(typed)
    .digest('hex')
    .slice(0, 8)
  t.equal(text, `${originOf(LOG)}+${digest}+${typed.toString('base64')}`)
  t.equal(readVerifier(`${text}\n`, 'other').text, text)
  t.equal(readVerifier(pemOf(pair.publicKey, 'spki'), originOf(LOG)).text, text)
  const { publicKey } = generateKeyPairSync('x25519')
  for (const bad of [
    '',
    'x',
    text.replace('+', '+0'),
    text.replace(LOG, 'someone'),
    `${text}AAAA`,
    pemOf(publicKey, 'spki'),
    '-----BEGIN PUBLIC KEY-----',
  ]) {
    t.throws(() => readVerifier(bad, 'name'))
  }
  t.throws(() => readSigner('a name', pemOf(pair.privateKey, 'pkcs8')), TypeError)
})

t.test('a signed note opens with the keys of its signers', async (t) => {
  const note = signNote('hello\n\nworld\n', signer)
  t.strictSame(openNote(note, [signer.verifier]), {
    text: 'hello\n\nworld\n',
    verified: [signer.verifier.text],
  })
  t.strictSame(openNote(note, [stranger.verifier]), { text: 'hello\n\nworld\n', verified: [] })
  const witness = readSigner('witness.example', pemOf(generateKeyPairSync('ed25519').privateKey, 'pkcs8'))
  const witnessed = note + signNote('hello\n\nworld\n', witness).split('\n\n').at(-1)
  t.match(openNote(witnessed, [signer.verifier, witness.verifier]), {
    verified: [signer.verifier.text, witness.verifier.text],
  })
  for (const text of ['no line feed', 'tab\t\n', 'lone \ud800\n'])
    t.throws(() => signNote(text, signer), TypeError)
})

t.test('a witness signs the text with a time, as tlog-cosignature says', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const witness = { key: privateKey, verifier: cosignerOf('witness.example/w1', publicKey) }
  const text = 'example.com/log\n5\nroot\n'
  const note = signNote(text, signer)
  const cosigned = cosignNote(note, witness, 1_679_315_147)
  t.ok(cosigned.startsWith(note))
  const [, base64 = ''] = /^\u2014 witness\.example\/w1 (.*)\n$/.exec(cosigned.slice(note.length)) ?? []
  const signature = Buffer.from(base64, 'base64')
  const typed = Buffer.concat([
    Buffer.of(4),
    Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url'),
  ])
  const id = createHash('sha256').update('witness.example/w1\n').update(typed).digest().subarray(0, 4)
  t.equal(witness.verifier.text, `witness.example/w1+${id.toString('hex')}+${typed.toString('base64')}`)
  t.same(signature.subarray(0, 4), id)
  t.equal(signature.readBigUInt64BE(4), 1_679_315_147n)
  const message = Buffer.from(`cosignature/v1\ntime 1679315147\n${text}`)
  t.ok(verify(null, message, publicKey, signature.subarray(12)))

  t.strictSame(openNote(cosigned, [signer.verifier, readVerifier(witness.verifier.text, '')]), {
    text,
    verified: [signer.verifier.text, witness.verifier.text],
  })
  t.match(openNote(cosigned, [signer.verifier]), { verified: [signer.verifier.text] })
  t.match(openNote(cosigned, [verifierOf('witness.example/w1', publicKey)]), { verified: [] }, 'another type')
  const later = Buffer.from(signature)
  later[11]! ^= 1
  t.strictSame(openNote(cosigned.replace(base64, later.toString('base64')), [witness.verifier]), {
    fault: 'the signature of witness.example/w1 is not valid',
  })
  t.throws(() => cosignNote('text\n', witness, 1), /the note has no signatures/)
})

t.test('any change to a note is detected', async () => {
  const note = Buffer.from(signNote(formatCheckpoint(CHECKPOINT), signer))
  fc.assert(
    fc.property(fc.nat(note.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(note)
      changed[at] = (changed[at] as number) ^ change
      const opened = openNote(changed, [signer.verifier])
      return 'fault' in opened || opened.verified.length === 0
    }),
  )
})

/** Replaces a base64 digit whose last two bits are unused. */
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const otherBits = (digit = 'A') => BASE64[BASE64.indexOf(digit) + 1]

t.test('malformed notes are refused', async (t) => {
  const note = signNote('text\n', signer)
  const cases: [string, string | Uint8Array][] = [
    ['the note has no signatures', 'text\n'],
    ['the note has no signatures', note.trimEnd()],
    ['the note is too long', 'a'.repeat(MAXIMUM_NOTE_BYTES + 1)],
    ['the note is not UTF-8', Buffer.from([0xff])],
    ['the text of the note is malformed', `te\u0000xt\n\n${note.split('\n\n')[1]}`],
    ['a signature line is malformed', `${note}junk\n`],
    ['a signature line is malformed', note.replace(/.=\n$/, (end) => `${otherBits(end[0])}=\n`)],
    ['the note has too many signatures', note + (note.split('\n\n')[1] as string).repeat(32)],
    [`the signature of ${originOf(LOG)} is not valid`, note.replace('text', 'test')],
  ]
  for (const [fault, bad] of cases) t.strictSame(openNote(bad, [signer.verifier]), { fault })
})

t.test('a checkpoint has exactly one valid text', async (t) => {
  const text = formatCheckpoint(CHECKPOINT)
  t.equal(
    text,
    `sidegate/${LOG}\n8124\n${Buffer.alloc(32, 5).toString('base64')}\nhead sha256:${'ab'.repeat(32)}\ntime 2026-03-01T00:00:00.000Z\n`,
  )
  t.strictSame(readCheckpoint(text), CHECKPOINT)
  const bare = { ...CHECKPOINT, head: null, time: null }
  t.strictSame(readCheckpoint(formatCheckpoint(bare)), bare)
  for (const bad of [
    '',
    text.trimEnd(),
    `${text}\n`,
    `${text}more\n`,
    text.replace('8124', '08124'),
    text.replace('8124', '9007199254740993'),
    text.replace('8124', '-1'),
    text.replace('sidegate/', 'other/'),
    text.replace(LOG, LOG.toUpperCase()),
    text.replace('=', ''),
    text.replace('head', 'Head'),
    text.replace('sha256:ab', 'sha256:a'),
  ]) {
    t.equal(readCheckpoint(bad), null)
  }
})

t.test('an opened checkpoint lists its signers', async (t) => {
  const note = signCheckpoint(CHECKPOINT, signer)
  const asked: string[] = []
  const opened = openCheckpoint(note, (origin, name) => {
    asked.push(origin, name)
    return [signer.verifier]
  })
  t.strictSame(opened, { ...CHECKPOINT, verified: [signer.verifier.text] })
  t.strictSame(asked, [originOf(LOG), originOf(LOG)])
  t.match(
    openCheckpoint(note, () => [stranger.verifier]),
    { verified: [] },
  )
  t.match(
    openCheckpoint(signNote('text\n', signer), () => []),
    {
      fault: 'the note is not a checkpoint of a usage log',
    },
  )
  t.match(
    openCheckpoint(note.replace('8124', '8125'), () => [signer.verifier]),
    { fault: /is not valid/ },
  )
})

t.test('opening a note never throws', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()), (bytes) => {
      return 'fault' in openCheckpoint(bytes, () => [signer.verifier])
    }),
  )
})
