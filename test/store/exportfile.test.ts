// Exports as auditors get them: cut at the beginning, pruned, and with blank lines.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { entryLine } from '../../src/audit/dump.ts'
import type { LogVerdict } from '../../src/audit/log-verify.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { ExportSource } from '../../src/store/verification/exportfile.ts'
import { verifyLog } from '../../src/store/verification/verification.ts'
import { anyStep, newSigner, TestLog } from '../audit/logs.ts'

const FILE = join(t.testdir(), 'export.jsonl')
const signer = newSigner()

function verify(dump: string, partial = false): Promise<LogVerdict> {
  writeFileSync(FILE, dump)
  return verifyLog(new ExportSource(FILE, partial), NO_EVIDENCE, () => {})
}

function logOf(calls: number): TestLog {
  const log = new TestLog(undefined, signer)
  for (let n = 0; n < calls; n++) log.add()
  return log
}

t.test('an export without its beginning fails unless a part is accepted', async (t) => {
  const log = logOf(9)
  const slice = log.records.slice(4).map(entryLine).join('')
  t.match(await verify(slice), {
    ok: false,
    beginning: 'unanchored',
    findings: [{ seq: null, reason: /begins at 4, and no prune entry covers/ }],
  })
  t.match(await verify(slice, true), { ok: true, beginning: 'unanchored', firstSeq: 4 })
  log.prune(50)
  t.match(await verify(log.dump), { ok: true, beginning: 'prune', firstSeq: 5 })
  t.match(await verify(log.dump, true), { ok: true, beginning: 'prune' }, 'a whole log stays whole')
})

t.test('an export cut at any place fails unless a seal ties it to the beginning', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 30 }), fc.nat(), async (steps, place) => {
      const log = TestLog.of(steps, signer)
      const rest = log.records.slice(1 + (place % log.records.length))
      const first = rest[0]?.seq ?? Infinity
      const isSealed = rest.some(({ bytes }) => {
        const entry = JSON.parse(bytes.toString())
        return entry.type === 'prune' && entry.first_seq >= first
      })
      const dump = rest.map(entryLine).join('')
      const [whole, part] = [await verify(dump), await verify(dump, true)]
      return whole.ok === isSealed && part.ok === rest.length > 0
    }),
    { numRuns: 60 },
  )
})

t.test('a blank line at the end of an export is no damage, and one within it is', async (t) => {
  const { dump } = logOf(3)
  for (const end of ['', '\n', '\r\n', ' \t\n\n\n', '  '])
    t.match(await verify(dump + end), { ok: true }, end)
  t.match(await verify(dump.trimEnd()), { ok: true })
  t.match(await verify(dump.replace('\n', '\n\n')), { ok: false, findings: [{ reason: /^line 2: / }] })
  t.match(await verify(`\n${dump}`), { ok: false, findings: [{ reason: /^line 1: / }] })
})
