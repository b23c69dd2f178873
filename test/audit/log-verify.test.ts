// The faults that the verifier must find, and those it cannot find without a checkpoint kept
// elsewhere.

import { createHash, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { cosignCheckpoint, hubCosigner, originOf } from '../../src/audit/checkpoint.ts'
import {
  checkpointLine,
  type DumpedEntry,
  entryLine,
  MAXIMUM_LINE_BYTES,
  readLine,
} from '../../src/audit/dump.ts'
import { type LogVerdict, LogVerifier } from '../../src/audit/log-verify.ts'
import { readSigner, signNote } from '../../src/audit/note.ts'
import { LogSurvey, type TrustedKey } from '../../src/audit/survey.ts'
import { bootDraft, requestDraft } from './drafts.ts'
import { anyEdits, edited } from './edits.ts'
import { anyStep, LOG, newSigner, type Step, TestLog } from './logs.ts'

interface Options {
  readonly kept?: readonly string[]
  readonly keys?: readonly TrustedKey[]
}

/** Verifies an export like the command line. */
function verifyDump(dump: string | Buffer, { kept = [], keys = [] }: Options = {}): LogVerdict {
  const survey = new LogSurvey({ keys, checkpoints: [] })
  for (const note of kept) survey.addCheckpoint(note, 'kept')
  const lines: Buffer[] = []
  const bytes = Buffer.from(dump)
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start)
    lines.push(bytes.subarray(start, end < 0 ? bytes.length : end))
    start = end < 0 ? bytes.length : end + 1
  }
  const read = lines.map(readLine)
  for (const line of read) {
    if (typeof line === 'string') break
    if ('entry' in line) survey.addEntry(line.entry.bytes)
    else if ('checkpoint' in line) survey.addCheckpoint(line.checkpoint, null)
  }
  const verifier = new LogVerifier(survey)
  for (const line of read) {
    if (typeof line === 'string') return verifier.finish(line)
    if ('entry' in line && !verifier.push(line.entry, null)) break
  }
  return verifier.finish()
}

const dumpOf = (records: readonly DumpedEntry[], notes: readonly string[] = []) =>
  records.map(entryLine).join('') + notes.map(checkpointLine).join('')

/** Recomputes the hash of a changed entry, like an attacker who knows the format. */
function resealed(
  record: DumpedEntry,
  prev: string | null,
  change: Record<string, unknown> = {},
): DumpedEntry {
  const entry = { ...JSON.parse(record.bytes.toString()), ...change, ...(prev === null ? {} : { prev }) }
  const sorted = Object.fromEntries(Object.entries(entry).sort(([one], [other]) => (one < other ? -1 : 1)))
  const bytes = Buffer.from(JSON.stringify(sorted))
  const digest = createHash('sha256').update('sidegate-audit/v1/entry\n').update(bytes).digest('hex')
  return { bytes, hash: `sha256:${digest}` }
}

function rewritten(
  records: readonly DumpedEntry[],
  from: number,
  change: Record<string, unknown>,
): DumpedEntry[] {
  const result = records.slice(0, from)
  for (const [index, record] of records.slice(from).entries()) {
    result.push(resealed(record, result.at(-1)?.hash ?? null, index === 0 ? change : {}))
  }
  return result
}

const signer = newSigner()
const anySteps = fc.array(anyStep, { minLength: 3, maxLength: 25 })
const entries = (count: number): Step[] =>
  Array.from({ length: count }, () => ({ kind: 'entry' as const, draft: requestDraft() }))

t.test('an honest log verifies after any prunes, erasures and signatures', async (t) => {
  const beginnings = new Set<string>()
  fc.assert(
    fc.property(anySteps, (steps) => {
      const log = TestLog.of(steps, signer)
      const last = log.checkpoint()
      const verdict = verifyDump(log.dump, { kept: [last], keys: [signer.verifier] })
      beginnings.add(verdict.beginning)
      t.strictSame(verdict.findings, [])
      t.equal(verdict.coveredSeq, log.size - 1)
      t.equal(verdict.head?.hash, log.records.at(-1)?.hash)
      t.notSame(verdict.root, null)
    }),
  )
  t.strictSame(beginnings, new Set(['genesis', 'prune']))
})

const anyAttack = fc.tuple(anySteps, fc.nat(), fc.nat())
/** Each changes a log of at least two entries; `at` is any index but the last. */
const ATTACKS: Record<string, (records: DumpedEntry[], at: number, byte: number) => DumpedEntry[]> = {
  'changes a byte': (records, at, byte) => {
    const record = records[at] as DumpedEntry
    const bytes = Buffer.from(record.bytes)
    // An export rewrites the last brace after the hash.
    const place = byte % (bytes.length - 1)
    bytes[place] = (bytes[place] as number) ^ 1
    return records.with(at, { ...record, bytes })
  },
  'changes an entry and its hash': (records, at) => {
    const record = records[at] as DumpedEntry
    return records.with(at, resealed(record, null, { ts: '2020-01-01T00:00:00.000Z' }))
  },
  'deletes an entry': (records, at) => records.toSpliced(at + (at === 0 ? 1 : 0), 1),
  'repeats an entry': (records, at) => records.toSpliced(at, 0, records[at] as DumpedEntry),
  'swaps two entries': (records, at) => {
    const [one, other] = records.slice(at, at + 2) as [DumpedEntry, DumpedEntry]
    return records.toSpliced(at, 2, other, one)
  },
}
for (const [name, attack] of Object.entries(ATTACKS)) {
  t.test(`an attacker who ${name} is found without any checkpoint`, async () => {
    fc.assert(
      fc.property(anyAttack, ([steps, place, byte]) => {
        const log = TestLog.of([...entries(3), ...steps, ...entries(3)], signer)
        const records = attack(log.records, place % (log.records.length - 2), byte)
        return !verifyDump(dumpOf(records)).ok
      }),
    )
  })
}

t.test('a log without its first entries and without a prune entry is unanchored', async (t) => {
  const log = TestLog.of(entries(9), signer)
  const note = log.checkpoint()
  const part = verifyDump(dumpOf(log.records.slice(4)), { kept: [note] })
  t.match(part, { ok: true, beginning: 'unanchored', firstSeq: 4, root: null, coveredSeq: 9 })
  t.match(part.limits, [/compared with its newest entry only/])
  log.prune(50)
  t.match(verifyDump(log.dump), { ok: true, beginning: 'prune', firstSeq: 5 })
  t.match(verifyDump(dumpOf(log.records.slice(1))), { beginning: 'unanchored', firstSeq: 6 })
})

t.test('rows that a prune has not removed yet are accepted', async (t) => {
  const log = TestLog.of(entries(20), signer)
  const before = log.records
  log.prune(40)
  const note = log.checkpoint()
  const left = [...before.filter(({ seq }) => seq >= 7 && seq < (log.records[0]?.seq ?? 0)), ...log.records]
  t.match(verifyDump(dumpOf(left), { kept: [note] }), {
    ok: true,
    beginning: 'prune',
    firstSeq: 7,
    limits: [],
  })
})

t.test('a prune entry that names other entries is found', async (t) => {
  const log = TestLog.of(entries(5), signer)
  const frontier = TestLog.of(
    [...entries(2), { kind: 'entry', draft: { type: 'stop', version: '1', actor: 'gateway' } }],
    signer,
  )
  const forged = {
    first_seq: 3,
    head: frontier.records[2]?.hash as string,
    reason: 'age' as const,
    actor: 'gateway',
  }
  log.add({
    type: 'prune',
    ...forged,
    frontier: [Buffer.alloc(32).toString('base64'), Buffer.alloc(32).toString('base64')],
  })
  t.match(verifyDump(log.dump).findings, [{ seq: 3, reason: /differ from those that a prune entry names/ }])
  t.match(verifyDump(dumpOf(log.records.slice(3)), { kept: [log.checkpoint()] }).findings, [
    { reason: /differ from those/ },
  ])
})

t.test('only a checkpoint kept elsewhere shows a truncated tail', async () => {
  fc.assert(
    fc.property(anySteps, fc.nat(), (steps, at) => {
      const log = TestLog.of([...steps, ...entries(4)], signer)
      const note = log.checkpoint()
      const cut = log.size - 1 - (at % 3)
      const records = log.records.filter(({ seq }) => seq < cut)
      const older = log.checkpoints.slice(0, -1).filter((kept) => Number(kept.split('\n')[1]) <= cut)
      const blind = verifyDump(dumpOf(records, older))
      const seeing = verifyDump(dumpOf(records, older), { kept: [note] })
      return blind.ok && !seeing.ok && seeing.findings[0]?.seq === cut && seeing.findings.length === 1
    }),
  )
})

t.test('a checkpoint kept elsewhere shows where a log was rewritten', async (t) => {
  const log = TestLog.of(entries(4), signer)
  const early = log.checkpoint()
  for (const step of entries(6)) log.step(step)
  const late = log.checkpoint()
  const records = rewritten(log.records, 7, { model: 'other' })
  t.equal(verifyDump(dumpOf(records)).ok, true, 'not visible without a checkpoint')
  const seeing = verifyDump(dumpOf(records), { kept: [late, early] })
  t.match(seeing, { ok: false, coveredSeq: 4, agreeing: { elsewhere: 1, beside: 0 } })
  t.match(seeing.findings, [{ seq: 5, reason: 'kept: entries 5 to 10 differ from those it covers' }])
})

t.test('entries that no checkpoint kept elsewhere covers are reported', async (t) => {
  const log = TestLog.of(entries(4), signer)
  const note = log.checkpoint()
  log.add()
  t.match(verifyDump(log.dump, { kept: [note] }), { ok: true, coveredSeq: 4, head: { seq: 5 } })
  t.match(verifyDump(log.dump), { ok: true, coveredSeq: null, agreeing: { beside: 1 } })
})

t.test('only signatures of trusted keys count', async (t) => {
  const log = TestLog.of(entries(2), signer)
  const note = log.checkpoint()
  const stranger = newSigner()
  const keys = [{ name: null, key: signer.verifier.key }]
  t.match(verifyDump(log.dump, { keys }), { ok: true, signaturesChecked: true, agreeing: { beside: 1 } })
  t.match(verifyDump(log.dump, { keys: [stranger.verifier] }).findings, [
    { reason: 'a checkpoint stored with the log: not signed by any given public key (size 3)' },
  ])
  const forged = signNote(note.slice(0, note.indexOf('\n\n') + 1), stranger)
  t.match(verifyDump(dumpOf(log.records), { kept: [forged], keys }).findings, [{ reason: /kept: .*not/ }])
  t.match(verifyDump(dumpOf(log.records), { kept: ['junk'] }).findings, [
    { reason: 'kept: the note has no signatures' },
  ])
})

t.test('a log may be signed by one key after another', async (t) => {
  const [first, second, stranger] = [newSigner(), newSigner(), newSigner()]
  const log = new TestLog(LOG, first)
  const run = (signer: typeof first, signedBy = signer) => {
    log.add(bootDraft(signer.verifier.text))
    log.signer = signedBy
    log.checkpoint()
    log.add()
    return log.checkpoint()
  }
  const early = run(first)
  const late = run(second)
  const [one, two, three] = [first, second, stranger].map(({ verifier }) => verifier)
  const found = (keys: TrustedKey[], kept: string[] = []) => {
    const { ok, findings } = verifyDump(log.dump, { keys, kept })
    t.equal(ok, findings.length === 0)
    return findings.map(({ reason }) => reason)
  }
  t.strictSame(found([one!, two!], [early, late]), [])
  t.strictSame(found([{ name: null, key: two!.key }, three!, one!]), [], 'in any order, among others')
  const remedy = (seq: number, key = '') =>
    `the boot entry at ${seq} names another signer: if it is the gateway's, give that key too: ${key}`
  t.strictSame(found([one!], [late]), [
    `a checkpoint stored with the log: not signed by any given public key (size 4 and 1 more); ${remedy(3, two!.text)}`,
    `kept: not signed by any given public key (size 5); ${remedy(3, two!.text)}`,
  ])
  t.match(found([{ name: null, key: two!.key }]), [remedy(1, one!.text)])
  t.match(found([three!]), [remedy(1), remedy(3)])

  run(second, stranger)
  t.strictSame(found([one!, two!]), [
    'a checkpoint stored with the log: not signed by any given public key (size 6 and 1 more)',
  ])
  t.strictSame(found([one!, two!, three!]), [
    'a checkpoint stored with the log: signed by a key that the boot entry at 3 does not name (size 6 and 1 more)',
  ])
  run(second, first)
  t.match(found([one!, two!, three!]), [/that the boot entry at 3 does not name \(size 6 and 3 more\)/])
})

t.test("a witness's signature is valid for every run", async (t) => {
  const pair = generateKeyPairSync('ed25519')
  const pem = String(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const witness = readSigner('witness.example', pem)
  const log = new TestLog(LOG, signer)
  log.add(bootDraft(signer.verifier.text))
  const note = log.checkpoint()
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const witnessed = note + signNote(text, witness).slice(text.length + 1)
  const verdict = verifyDump(dumpOf(log.records), { kept: [witnessed], keys: [witness.verifier] })
  t.match(verdict, { ok: true, coveredSeq: 1 })
})

t.test('the signature of the hubs stands for that of the log, and convicts it offline', async (t) => {
  const hub = newSigner('01980000-0000-7000-8000-00000000000b')
  const log = new TestLog(LOG, signer)
  log.add(bootDraft(signer.verifier.text))
  for (const step of entries(3)) log.step(step)
  const cosigned = cosignCheckpoint(log.checkpoint(), hub, Date.UTC(2026, 2, 2))
  const hubPem = { name: null, key: hub.verifier.key } as const
  const cosigner = hubCosigner(hub.verifier)!
  for (const keys of [[hubPem], [hub.verifier], [cosigner], [cosigner, signer.verifier], [signer.verifier]])
    t.match(verifyDump(log.dump, { kept: [cosigned], keys }), { ok: true, coveredSeq: 4 })
  t.match(verifyDump(log.dump, { kept: [cosigned], keys: [newSigner().verifier] }), { ok: false })

  const cut = dumpOf(log.records.slice(0, 4))
  const past = dumpOf(rewritten(log.records, 2, { model: 'another' }))
  for (const keys of [[hubPem], [hub.verifier], [signer.verifier], []]) {
    t.match(verifyDump(cut, { kept: [cosigned], keys }), {
      findings: [{ seq: 4, reason: /covers 5 entries, and the log has only 4/ }],
    })
    t.match(verifyDump(past, { kept: [cosigned], keys }), {
      findings: [{ reason: /entries 0 to 4 differ from those it covers/ }],
    })
  }
})

t.test('a checkpoint with the signature of the hubs counts as kept elsewhere', async (t) => {
  const hub = newSigner('01980000-0000-7000-8000-00000000000b')
  const log = new TestLog(LOG, signer)
  log.add(bootDraft(signer.verifier.text))
  const dump = dumpOf(log.records, [cosignCheckpoint(log.checkpoint(), hub, 0)])
  t.match(verifyDump(dump, { keys: [hub.verifier] }), { ok: true, agreeing: { elsewhere: 1 }, coveredSeq: 1 })
  t.match(verifyDump(dump, { keys: [signer.verifier] }), {
    ok: true,
    agreeing: { beside: 1 },
    coveredSeq: null,
  })

  const bare = [{ name: null, key: signer.verifier.key }]
  const itself = dumpOf(log.records, [cosignCheckpoint(log.checkpoint(), signer, 0)])
  t.match(verifyDump(itself, { keys: bare }), { ok: true, coveredSeq: null }, 'no log is a witness of itself')
  const alone = itself.replace(/\\n\u2014 sidegate\/[^ ]+ [^ ]+?\\n/, '\\n')
  t.not(alone, itself)
  t.match(verifyDump(alone, { keys: bare }).findings, [
    { reason: /signed by a key that the boot entry at 1/ },
  ])
})

t.test('a checkpoint of another log is a finding', async (t) => {
  const other = new TestLog('01980000-0000-7000-8000-0000000000fe')
  const log = TestLog.of(entries(2), signer)
  t.match(verifyDump(log.dump, { kept: [other.checkpoint()] }).findings, [
    { reason: /belongs to log .*fe, not .*ff/ },
  ])
})

t.test('a checkpoint over pruned entries is a limit, not a finding', async (t) => {
  const log = TestLog.of(entries(2), signer)
  const note = log.checkpoint()
  for (const step of entries(9)) log.step(step)
  log.prune(30)
  const verdict = verifyDump(dumpOf(log.records), { kept: [note] })
  t.match(verdict, { ok: true, coveredSeq: null })
  t.match(verdict.limits, [/covers 3 entries, all before the first entry/])
})

t.test('an export without entries fails', async (t) => {
  t.match(verifyDump(''), {
    ok: false,
    log: null,
    head: null,
    findings: [{ seq: 0, reason: 'there are no entries' }],
  })
  t.match(verifyDump('\n'), { ok: false, findings: [{ seq: 0 }] })
})

t.test('a line has exactly one valid form', async (t) => {
  const log = TestLog.of(entries(1), signer)
  const line = entryLine(log.records[1] as DumpedEntry)
  t.equal(line.endsWith('"}\n'), true)
  const { hash, ...hashed } = JSON.parse(line)
  t.equal(hash, log.records[1]?.hash)
  t.strictSame(hashed, JSON.parse(String(log.records[1]?.bytes)))
  const genesisLine = entryLine(log.records[0] as DumpedEntry)
  for (const [name, bad] of Object.entries({
    spaces: line.replace(',"', ', "'),
    'a member twice': line.replace('{', '{"blocked":true,'),
    'another order': `{"hash":"${hash}",${line.slice(1).replace(/,"hash".*/, '}')}\n`,
    cut: line.slice(0, -20),
    empty: '\n',
    'a huge number': line.replace('"seq":1', `"seq":1${'0'.repeat(400)}`),
    deep: `${'['.repeat(100_000)}\n`,
    long: `${' '.repeat(MAXIMUM_LINE_BYTES + 1)}\n`,
    'a malformed checkpoint': '{"checkpoint":5}\n',
  })) {
    t.equal(verifyDump(genesisLine + bad).ok, false, name)
  }
})

t.test('any export gets a verdict', async () => {
  const log = TestLog.of(
    [...entries(3), { kind: 'checkpoint' }, ...entries(4), { kind: 'prune', keep: 60 }],
    signer,
  )
  log.checkpoint()
  const dump = Buffer.from(log.dump)
  const pieces = ['\n', '"', '{', '[[[[', '"type":"prune"', '1e999', '-1', '\u0000', '"seq":9007199254740993']
  fc.assert(
    fc.property(anyEdits(dump.length, pieces), fc.string(), (edits, note) => {
      return typeof verifyDump(edited(dump, edits), { kept: [note] }).ok === 'boolean'
    }),
    { numRuns: 500 },
  )
  const anyPrune = fc.record({
    type: fc.constant('prune'),
    first_seq: fc.anything(),
    head: fc.anything(),
    frontier: fc.anything(),
  })
  fc.assert(
    fc.property(
      fc.oneof(
        anyPrune,
        fc.json().map((text) => JSON.parse(text)),
      ),
      (entry) => {
        let text: string
        try {
          text = JSON.stringify(entry) ?? 'null'
        } catch {
          text = 'null'
        }
        const line = `${text.slice(0, -1)},"hash":"sha256:${'0'.repeat(64)}"}\n`
        return !verifyDump(line + dump).ok && !verifyDump(line).ok
      },
    ),
  )
})

t.test("a log's key signs under the log's own name", async (t) => {
  t.equal(signer.verifier.name, originOf(LOG))
})

t.test('a log with entries without an actor, as earlier releases sealed them, is intact', async (t) => {
  const log = TestLog.of([])
  const { actor: _, ...earlier } = { type: 'key_revoked', key_id: 'k', key_name: 'web', actor: '' } as const
  log.add(earlier as typeof earlier & { actor: string })
  log.add({ ...earlier, actor: 'vera' })
  log.checkpoint()
  t.notMatch(log.records[1]?.bytes.toString(), /"actor"/)
  t.match(verifyDump(log.dump), { ok: true, findings: [] })
})
