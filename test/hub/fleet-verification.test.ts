// Verifies the logs of a fleet in their database: whole, tampered with, rewritten and lost.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cosignCheckpoint, originOf, signCheckpoint } from '../../src/audit/checkpoint.ts'
import { readSigner } from '../../src/audit/note.ts'
import { type AuditorEvidence, NO_EVIDENCE, type TrustedKey } from '../../src/audit/survey.ts'
import { verdictText } from '../../src/cli/audit-verify.ts'
import { verifyLogs } from '../../src/hub/fleet-verification.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { FleetWitness } from '../../src/ledger/fleet-witness.ts'
import { LedgerCheckpoints } from '../../src/ledger/ledger-checkpoints.ts'
import { LogLines } from '../../src/ledger/log-lines.ts'
import { StoredLogs } from '../../src/ledger/stored-logs.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { ExportSource } from '../../src/store/verification/exportfile.ts'
import { verifyLog } from '../../src/store/verification/verification.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openDatabase, partsOn } from '../ledger/fixture.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { logId, ShippedLog } from '../ledger/shipped.ts'
import { statementsOfGuide } from './guide.ts'
import { tamperingWith } from './tampering.ts'

t.setTimeout(120_000)

/** Three logs of two sidecars; one of them began before the hub knew it. */
const { owner, hub } = await fleetDatabase()
const hubs = openDatabase(t, hub)
const { log: hubLog, keys } = partsOn(hubs)
const hubLogId = await hubLog.open()
const signer = readSigner(originOf(hubLogId), newSigningKey())
const checkpoints = new LedgerCheckpoints(hubs)
const database = openDatabase(t, owner)
const tampered = tamperingWith(database)

const one = new ShippedLog(logId(1), 'uid-1').addCalls(300)
const two = new ShippedLog(logId(2), 'uid-2').addCalls(20)
const late = new ShippedLog(logId(3), 'uid-2').addCalls(300).prune(280).addCalls(10)
await database.rows(
  `insert into sidecar (id, cluster, namespace, name, version, features, max_stale_seconds, acked_rev,
     last_seen_at, state) values ('uid-1', null, 'payments', 'api-0', '1', '{}', 60, 0, now(), 'connected')`,
)
for (const log of [one, two, late]) {
  await hubs.transaction((queries) => log.ship(queries))
  const note = log.checkpoint()
  const [, size, root] = note.split('\n')
  const kept = { log: log.id, size: Number(size), root: Buffer.from(root!, 'base64'), head: null, time: null }
  await checkpoints.save(kept, cosignCheckpoint(note, signer, Date.now()))
}
await new FleetWitness(hubLog).seal()
const overHubs = await checkpoints.describe(Date.now())
/** Of the hubs' log, kept elsewhere: it covers what the hubs have witnessed. */
const anchor = signCheckpoint(overHubs, signer)
await keys.create('later', 'vera', {})

const everyKey: TrustedKey[] = [
  signer.verifier,
  one.signer.verifier,
  two.signer.verifier,
  late.signer.verifier,
]
const withAnchor: AuditorEvidence = { keys: [], checkpoints: [{ note: anchor, source: 'anchor.txt' }] }

async function verify(queries: Queries, evidence: AuditorEvidence = NO_EVIDENCE) {
  const verdicts = await verifyLogs(new StoredLogs(queries), evidence, () => {})
  const ofLog = (log: string) => verdicts.find(({ verdict }) => verdict.log === log)
  const reasons = (log: string) => ofLog(log)!.verdict.findings.map(({ seq, reason }) => `${seq}: ${reason}`)
  const failed = verdicts.filter(({ verdict }) => !verdict.ok).map(({ verdict }) => verdict.log)
  return { verdicts, ofLog, reasons, failed }
}

t.test('an intact fleet passes, and its logs are named', async (t) => {
  const { verdicts, failed } = await verify(database)
  t.same(failed, [])
  t.match(verdicts, [
    { sidecar: null, name: null, verdict: { log: hubLogId } },
    { sidecar: 'uid-1', name: 'api-0', state: 'open', verdict: { log: one.id, entries: 302 } },
    { sidecar: 'uid-2', name: null, verdict: { log: two.id, agreeing: { elsewhere: 0, beside: 2 } } },
    { sidecar: 'uid-2', verdict: { log: late.id, firstSeq: 280, beginning: 'prune', coveredSeq: null } },
  ])
})

const [SETTING, QUERY] = statementsOfGuide()
/** Runs the statement of the auditor's guide in a transaction. */
async function findWithPsql(queries: Queries): Promise<object[]> {
  await queries.rows(SETTING.replace('set ', 'set local '))
  return queries.rows(QUERY)
}

t.test('psql alone finds nothing in an intact fleet, and reads each partition', async (t) => {
  await tampered('select 1', async (queries) => {
    t.same(await findWithPsql(queries), [])
    const plan = JSON.stringify(await queries.rows(`explain ${QUERY}`))
    const parts = await queries.rows<{ part: string }>(
      "select inhrelid::regclass::text as part from pg_inherits where inhparent = 'entry'::regclass",
    )
    t.equal(parts.length, 3)
    for (const { part } of parts) t.match(plan, part)
  })
})

t.test('psql alone reads logs with an escaped NUL, and finds what was changed in them', async (t) => {
  const log = new ShippedLog(logId(6), 'uid-1').add(requestDraft({ key_name: 'a\0b \\u0000' })).addCalls(2)
  await tampered('select 1', async (queries) => {
    await log.ship(queries)
    t.same(await findWithPsql(queries), [])
    const changed = `update entry set body = convert_to('{"seq":"\\u0000', 'UTF8') where log_id = $1 and seq = 3`
    await queries.rows(changed, [log.id])
    t.match(await findWithPsql(queries), [{ log_id: log.id, seq: 3, wrong_hash: true }])
  })
})

t.test('psql alone finds what was taken from a log, and a beginning that is none', async (t) => {
  const [first] = late.sealed.slice(280)
  for (const [statement, seen] of [
    [`delete from entry where log_id = '${two.id}' and seq = 9`, { log_id: two.id, seq: 10, gap: true }],
    [`delete from entry where log_id = '${late.id}' and seq = 280`, { log_id: late.id, seq: 281, gap: true }],
    [
      `insert into log_cut values ('${late.id}', 280, sha256('x'), '{}')`,
      { log_id: late.id, seq: 280, broken_chain: true },
    ],
  ] as const)
    await tampered(statement, async (queries) => {
      t.match(await findWithPsql(queries), [seen], statement)
    })
  const before = first!.entry.prev!.slice('sha256:'.length)
  await tampered(`insert into log_cut values ('${late.id}', 280, '\\x${before}', '{}')`, async (queries) => {
    t.same(await findWithPsql(queries), [])
  })
})

t.test('one checkpoint of the hubs that was kept elsewhere covers the whole fleet', async (t) => {
  const { verdicts, failed } = await verify(database, { ...withAnchor, keys: everyKey })
  t.same(failed, [])
  t.match(
    verdicts.map(({ verdict }) => [verdict.coveredSeq, verdict.signaturesChecked]),
    [
      [1, true],
      [301, true],
      [21, true],
      [312, true],
    ],
  )
  t.same(
    (await verify(database, { keys: [signer.verifier], checkpoints: [] })).failed,
    [],
    'the key of the hubs is enough',
  )
})

t.test('a role that reads entries alone can verify the fleet', async (t) => {
  await database.transaction(async (queries) => {
    await queries.rows('set local role sidegate_read')
    t.same((await verify(queries)).failed, [])
  })
})

t.test('what an owner changes in one log is found in that log', async (t) => {
  for (const [statement, finding] of [
    [`update entry set model = 'x' where seq = 7 and log_id = '${one.id}'`, /^7: the column model differs/],
    [`delete from entry where seq = 9 and log_id = '${one.id}'`, /^9: /],
    [
      `update tile set hashes = sha256('x') || substr(hashes, 33) where log_id = '${one.id}'`,
      /^null: tile 0 of level 1 differs/,
    ],
    [`delete from tile where log_id = '${one.id}'`, /^null: tile 0 of level 1 differs/],
    [
      `update log_head set frontier[1] = sha256('x') where log_id = '${one.id}'`,
      /^null: the tree in log_head/,
    ],
    [
      `update log_head set state = 'forked' where log_id = '${one.id}'`,
      /^null: the log is forked: api-0 has another history .*; copy the volume .* sidegate audit new-log/,
    ],
    [
      `insert into conflict (at, sidecar, log_id, seq, kind) values (now(), 'uid-1', '${one.id}', 5, 'fork')`,
      /^5: api-0 sent at 20.* another entry or tree than the one that is stored \(fork\).*; copy the volume/,
    ],
  ] as const)
    await tampered(statement, async (queries) => {
      const { failed, reasons } = await verify(queries)
      t.same(failed, [one.id], statement)
      t.match(reasons(one.id)[0], finding)
    })
})

const CONFLICT = 'insert into conflict (at, sidecar, log_id, seq, kind)'

t.test('what a sidecar sent to the logs of others, or was refused, makes no log fail', async (t) => {
  const garbage = `${CONFLICT} select now(), sender, log_id::uuid, seq, kind
    from (values ('uid-1', '${two.id}'), ('uid-1', '${hubLogId}'), ('uid-9', '${two.id}'), ('uid-1', '${logId(55)}'))
      as sent (sender, log_id), generate_series(1, 60) as seq,
      unnest(array['foreign', 'form', 'forged', 'fork', 'chain', 'checkpoint', 'gap']) as kind;
    ${CONFLICT} values (now(), 'uid-2', '${two.id}', 5, 'form'), (now(), 'uid-2', '${two.id}', 5, 'gap')`
  await tampered(garbage, async (queries) => {
    await queries.rows('set local role sidegate_read')
    const { failed, ofLog } = await verify(queries)
    t.same(failed, [])
    const everyKind = 'chain, checkpoint, foreign, forged, fork, form, gap; 420 rows in the table conflict'
    t.same(ofLog(two.id)!.verdict.limits, [
      `api-0 sent to this log what was refused (${everyKind}); it is not in the log`,
      `uid-9 sent to this log what was refused (${everyKind}); it is not in the log`,
      'uid-2 sent to this log what was refused (form, gap; 2 rows in the table conflict); it is not in the log',
    ])
    t.same(ofLog(hubLogId)!.verdict.limits, [
      `api-0 sent to this log what was refused (${everyKind}); it is not in the log`,
      `api-0 sent to logs that are not stored what was refused (${everyKind}); it is in no log`,
    ])
    t.same(ofLog(one.id)!.verdict.limits, [])
  })
})

t.test('a forked log is reported first, before the conflicts of any sender', async (t) => {
  const rows = `update log_head set state = 'forked' where log_id = '${one.id}';
    ${CONFLICT} select now(), 'uid-1', '${one.id}', seq, 'forged' from generate_series(1, 150) as seq;
    ${CONFLICT} select now(), 'uid-2', '${one.id}', seq, 'foreign' from generate_series(1, 150) as seq;
    ${CONFLICT} values (now(), 'uid-1', '${one.id}', 7, 'fork')`
  await tampered(rows, async (queries) => {
    const { failed, reasons, ofLog } = await verify(queries)
    t.same(failed, [one.id])
    t.match(reasons(one.id).slice(0, 3), [/^null: the log is forked/, /^7: .*\(fork\)/, /^1: .*\(forged\)/])
    t.match(ofLog(one.id)!.verdict.limits, [/^uid-2 sent to this log what was refused \(foreign; 150 rows/])
  })
})

t.test('many senders are named up to a bound', async (t) => {
  const rows = `${CONFLICT} select now(), 'x-' || seq, '${one.id}', 1, 'foreign' from generate_series(1, 30) as seq`
  await tampered(rows, async (queries) => {
    const { limits } = (await verify(queries)).ofLog(one.id)!.verdict
    t.equal(limits.length, 21)
    t.equal(limits.at(-1), 'other sidecars sent to this log what was refused, too')
  })
})

t.test('a cut end with its traces is convicted by what the hubs have witnessed', async (t) => {
  const shorter = `update log_head set seq = 300, size = 301, hash = (select hash from entry where log_id = '${one.id}' and seq = 300)
    where log_id = '${one.id}'; delete from entry where log_id = '${one.id}' and seq = 301;
    delete from checkpoint where log_id = '${one.id}'`
  await tampered(shorter, async (queries) => {
    const { reasons } = await verify(queries)
    t.match(
      reasons(one.id).join('\n'),
      /301: a root in the log of the hubs: covers 302 entries, and the log has only 301/,
    )
  })
})

const forget = (log: string): string =>
  ['entry', 'tile', 'checkpoint', 'log_head']
    .map((table) => `delete from ${table} where log_id = '${log}'`)
    .join(';')

t.test(
  'a log that was rewritten as a whole is convicted by the hubs, and by its cosigned checkpoint',
  async (t) => {
    await tampered(forget(one.id), async (queries) => {
      const rewritten = new ShippedLog(one.id, 'uid-1').addCalls(299).add({
        ...{ type: 'erase', selection: { key_id: 'k' }, erased: 1, actor: 'vera' },
      })
      await rewritten.ship(queries)
      const { failed, reasons } = await verify(queries)
      t.same(failed, [one.id])
      t.same(reasons(one.id), [
        '0: a root in the log of the hubs: entries 0 to 301 differ from those it covers',
      ])

      await queries.rows(forget(hubLogId))
      const kept = cosignCheckpoint(one.checkpoint(), signer, Date.now())
      const alone = await verify(queries, {
        keys: [signer.verifier],
        checkpoints: [{ note: kept, source: 'kept' }],
      })
      t.match(alone.reasons(one.id), ['0: kept: entries 0 to 301 differ from those it covers'])
    })
  },
)

t.test('a log that is gone is named by what the hubs have witnessed, or by a checkpoint', async (t) => {
  await tampered(forget(two.id), async (queries) => {
    const { ofLog, failed } = await verify(queries)
    t.same(failed, [two.id])
    t.match(ofLog(two.id), {
      state: 'missing',
      verdict: { findings: [{ reason: /which the hubs have witnessed/ }] },
    })
  })
  const other = new ShippedLog(logId(8), 'x')
  const { ofLog } = await verify(database, {
    keys: [],
    checkpoints: [{ note: other.checkpoint(), source: 'kept' }],
  })
  t.match(ofLog(other.id), {
    state: 'missing',
    verdict: { findings: [{ reason: /of which there is a checkpoint/ }] },
  })
  const unread = await verify(database, { keys: [], checkpoints: [{ note: 'none', source: 'kept' }] })
  t.same(unread.failed, [hubLogId], 'a note that cannot be read is reported once')
})

t.test('the log of a sidecar that is gone passes, and is shown as cut', async (t) => {
  await tampered(
    `update log_head set state = 'cut' where log_id = '${two.id}'; delete from sidecar`,
    async (queries) => {
      const { failed, ofLog } = await verify(queries)
      t.same(failed, [])
      t.match(ofLog(two.id), { sidecar: 'uid-2', name: null, state: 'cut' })
      t.match(ofLog(two.id)!.verdict.limits, [/the log is cut: .*entries after 21 may be lost/])
    },
  )
})

t.test(
  'a log whose months were dropped begins at its anchor, which must fit what was witnessed',
  async (t) => {
    const cut = (frontier: string) => `
    insert into log_cut (log_id, first_seq, prev, frontier) select '${one.id}', 256, hash, ${frontier}
      from entry where log_id = '${one.id}' and seq = 255;
    delete from entry where log_id = '${one.id}' and seq < 256`
    const real = `array[(select frontier[1] from log_head where log_id = '${one.id}')]`
    await tampered(cut(real), async (queries) => {
      const { failed, ofLog } = await verify(queries)
      t.same(failed, [])
      t.match(ofLog(one.id)!.verdict, {
        firstSeq: 256,
        entries: 46,
        beginning: 'dropped',
        limits: [/dropped .* log_cut/],
      })
      t.match(verdictText(ofLog(one.id)!.verdict), /^entries +256 to 301, earlier ones dropped with their/m)
    })
    await tampered(cut("array[sha256('x')]"), async (queries) => {
      const { reasons } = await verify(queries)
      t.match(reasons(one.id).join('\n'), /entries .* differ from those it covers/)
    })
    await tampered(`delete from entry where log_id = '${one.id}' and seq < 256`, async (queries) => {
      t.match((await verify(queries)).reasons(one.id), [/the log begins at 256/])
    })
  },
)

t.test('an export of a log whose months were dropped passes as a part only', async (t) => {
  const file = join(t.testdir(), 'export.jsonl')
  const drop = `delete from entry where log_id = '${one.id}' and seq < 256;
    insert into log_cut (log_id, first_seq, prev, frontier)
      select '${one.id}', 256, prev, array[frontier[1]] from log_head h join entry using (log_id)
      where log_id = '${one.id}' and entry.seq = 256`
  await tampered(drop, async (queries) => {
    const all = { sidecar: null, log: one.id, sinceMs: null, untilMs: null }
    const lines: string[] = []
    for await (const line of await new LogLines(queries).lines(all)) lines.push(line)
    writeFileSync(file, lines.join(''))
    t.same((await verify(queries)).failed, [])
  })
  const verifyExport = (isPart: boolean) => verifyLog(new ExportSource(file, isPart), NO_EVIDENCE, () => {})
  t.match(await verifyExport(false), { ok: false, findings: [{ reason: /^the log begins at 256/ }] })
  t.match(await verifyExport(true), { ok: true, firstSeq: 256, entries: 46, agreeing: { beside: 1 } })
})

t.test('a log whose months were all dropped passes only with the tree that was witnessed', async (t) => {
  const dropped = (prev: string, frontier: string) => `
    insert into log_cut (log_id, first_seq, prev, frontier)
      select log_id, seq + 1, ${prev}, ${frontier} from log_head where log_id = '${two.id}';
    delete from entry where log_id = '${two.id}'`
  await tampered(dropped('hash', 'frontier'), async (queries) => {
    const { failed, ofLog } = await verify(queries)
    t.same(failed, [])
    t.match(ofLog(two.id)!.verdict, { entries: 0, firstSeq: 22, head: { seq: 21 }, beginning: 'dropped' })
  })
  const foreign = "array[sha256('x'), sha256('y'), sha256('z')]"
  for (const statement of [dropped("sha256('x')", 'frontier'), dropped('hash', foreign)])
    await tampered(statement, async (queries) => {
      t.match((await verify(queries)).reasons(two.id).join('\n'), /differ from those/)
    })
  await tampered(`delete from entry where log_id = '${two.id}'`, async (queries) => {
    t.match((await verify(queries)).reasons(two.id), ['there are no entries'])
  })
})

t.test('entries of an unknown version are limits, and their place is checked', async (t) => {
  const next = new ShippedLog(logId(7), 'uid-1').addCalls(1).addOfVersion(99).addCalls(1)
  await tampered('select 1', async (queries) => {
    await next.ship(queries)
    const { ofLog, failed } = await verify(queries)
    t.same(failed, [])
    t.match(ofLog(next.id)!.verdict.limits, [/^1 entries, the first at 3, are of an unknown version/])
    await queries.rows(`delete from entry where log_id = '${next.id}' and seq = 3`)
    t.match((await verify(queries)).reasons(next.id), [/^3: /])
  })
})
