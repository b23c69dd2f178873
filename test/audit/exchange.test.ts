// Exchanges in an export: the form of their lines, and their match with the entries.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { seal } from '../../src/audit/chain.ts'
import { hashContent } from '../../src/audit/content.ts'
import {
  checkpointLine,
  type DumpedExchange,
  entryLine,
  exchangeLine,
  MAXIMUM_LINE_BYTES,
  maxLineBytes,
  readLine,
} from '../../src/audit/dump.ts'
import type { LogVerdict } from '../../src/audit/log-verify.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { ExportSource } from '../../src/store/verification/exportfile.ts'
import { verifyLog } from '../../src/store/verification/verification.ts'
import { requestDraft } from './drafts.ts'
import { anyEdits, edited } from './edits.ts'
import { LOG, TestLog } from './logs.ts'

const SALT = Buffer.alloc(32, 7)
const lineOf = (exchange: DumpedExchange): Buffer => Buffer.concat(exchangeLine(exchange) ?? [])
const lineWith = (seq: number, content: string | Buffer): string =>
  String(lineOf({ seq, salt: SALT, content: Buffer.from(content) }))

t.test('any captured bytes survive writing and reading a line', async () => {
  fc.assert(
    fc.property(
      fc.maxSafeNat(),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array(),
      (seq, salt, content) => {
        const line = exchangeLine({ seq, salt, content })
        if (content.includes(0x0a)) return line === null
        const read = readLine(lineOf({ seq, salt, content }).subarray(0, -1))
        if (typeof read === 'string' || !('exchange' in read)) return false
        const { exchange } = read
        return (
          exchange.seq === seq &&
          Buffer.compare(exchange.salt, salt) === 0 &&
          Buffer.compare(exchange.content, content) === 0
        )
      },
    ),
  )
})

t.test('a line has exactly one valid form', async (t) => {
  const good = lineWith(12, '{}').trimEnd()
  t.equal(good, `{"exchange":{"seq":12,"salt":"${SALT.toString('base64')}","content":{}}}`)
  t.type(readLine(Buffer.from(good)), 'object')
  for (const [name, bad] of Object.entries({
    'a leading zero': good.replace('12', '012'),
    'a sign': good.replace('12', '-12'),
    'a fraction': good.replace('12', '12.0'),
    'a number that is not exact': good.replace('12', '9007199254740993'),
    'a longer number': good.replace('12', '1'.repeat(17)),
    'a space': good.replace('"seq":', '"seq": '),
    'a member more': good.replace('"salt"', '"a":1,"salt"'),
    'a short salt': good.replace('BwcH', ''),
    'a salt with bits that stand for nothing': good.replace('Bwc="', 'Bwd="'),
    'a salt of another alphabet': good.replace('BwcH', 'Bw_H'),
    'an endless salt': good.replace('"BwcH', `"${'BwcH'.repeat(100_000)}`),
    'half a tail': `${good.slice(0, -4)}}`,
    'another tail': `${good.slice(0, -1)} }`,
    'a cut head': good.slice(0, 40),
    'no more than a beginning': '{"exchange":{"seq":',
  })) {
    t.equal(readLine(Buffer.from(bad)), 'the exchange cannot be read', name)
  }
  const reordered = '{"exchange":{"salt":"","seq":12,"content":{}}}'
  t.match(readLine(Buffer.from(reordered)), /neither an entry that ends in its hash, nor an exchange, nor/)
})

t.test('only the line of an exchange may exceed the short limit', async (t) => {
  const long = lineWith(1, 'x'.repeat(MAXIMUM_LINE_BYTES)).trimEnd()
  t.type(readLine(Buffer.from(long)), 'object')
  t.equal(readLine(Buffer.from(long.replace('exchange', 'exchangf'))), 'the line is too long')
  t.equal(maxLineBytes(Buffer.from('{"exchange":{"log":')), MAXIMUM_LINE_BYTES)
  // The largest body and the largest answer that the gateway accepts, 256 and 64 MiB, form one
  // exchange.
  t.ok(maxLineBytes(Buffer.from(long.slice(0, 32))) > 320 * 1024 ** 2)
})

/** A log of calls with exchanges, as lines; the exchange of entry 4 is missing. */
function exported(): { readonly lines: readonly string[]; readonly log: TestLog } {
  const log = new TestLog()
  const lines = log.records.map(entryLine)
  for (let seq = 1; seq <= 6; seq++) {
    const content = Buffer.from(`{"request":{"n":${seq}},"response":null}`)
    const last = log.records.at(-1)
    const head = { log: LOG, seq: seq - 1, hash: last?.hash as string }
    const committed = seq === 6 ? null : hashContent(SALT, content)
    const draft = seq === 5 ? ({ type: 'stop', version: '1', actor: 'gateway' } as const) : requestDraft()
    const sealed = seal(head, draft, Date.UTC(2026, 2, 1), draft.type === 'stop' ? null : committed)
    log.records.push({ seq, hash: sealed.hash, bytes: sealed.bytes })
    lines.push(entryLine(sealed))
    if (seq < 4) lines.push(lineWith(seq, content))
  }
  return { lines, log }
}

async function verify(file: string, dump: string | Buffer): Promise<LogVerdict> {
  writeFileSync(file, dump)
  return verifyLog(new ExportSource(file), NO_EVIDENCE, () => {})
}

t.test('an exchange must match the entry right before it', async (t) => {
  const file = join(t.testdir(), 'export.jsonl')
  const { lines } = exported()
  const [genesis, one, firstExchange, two, secondExchange, ...rest] = lines as [
    string,
    string,
    string,
    string,
    string,
  ]
  t.match(await verify(file, lines.join('')), { ok: true, entries: 7, findings: [] })
  const findings = async (...changed: string[]) => {
    const { ok, entries, findings } = await verify(file, changed.join(''))
    t.equal(ok, false)
    t.equal(entries, 7, 'the chain is verified to its end')
    return findings
  }
  const stray = (seq: number) => ({
    seq: null,
    reason: `an exchange for entry ${seq} does not follow the entry that commits to it`,
  })
  const unlike = (seq: number) => ({ seq, reason: 'the exchange is not the one the entry commits to' })
  const other = lineWith(1, '{"request":{"n":2},"response":null}')
  t.strictSame(await findings(genesis, one, other, two, secondExchange, ...rest), [unlike(1)])
  t.strictSame(await findings(genesis, one, secondExchange, two, ...rest), [stray(2)])
  t.strictSame(await findings(firstExchange, ...lines), [stray(1)])
  t.strictSame(await findings(genesis, lineWith(0, '{}'), ...lines.slice(1)), [stray(0)])
  t.strictSame(await findings(genesis, one, firstExchange, firstExchange, ...lines.slice(3)), [stray(1)])
  t.strictSame(await findings(genesis, one, other, firstExchange, ...lines.slice(3)), [unlike(1), stray(1)])
  t.strictSame(await findings(genesis, one, two, firstExchange, secondExchange, ...rest), [stray(1)])
  t.strictSame(await findings(...lines, lineWith(6, '{}')), [stray(6)])
  t.strictSame(await findings(...lines.slice(0, -1), lineWith(5, '{}'), ...lines.slice(-1)), [stray(5)])
})

t.test('misplaced exchanges are listed up to the limit of findings', async (t) => {
  const file = join(t.testdir(), 'export.jsonl')
  const { lines } = exported()
  const verdict = await verify(file, lines.join('') + lineWith(9, '{}').repeat(5000))
  t.equal(verdict.ok, false)
  t.equal(verdict.findings.length, 100)
})

t.test('any edit of an export with exchanges gets a verdict', async (t) => {
  const file = join(t.testdir(), 'export.jsonl')
  const { lines, log } = exported()
  const dump = Buffer.from(lines.join('') + checkpointLine(log.checkpoint()))
  const pieces = [
    '\n',
    '"',
    '}}',
    '{"exchange":{"seq":',
    '{"exchange":{',
    ',"content":',
    '1e9',
    '[[[[',
    ...lines,
  ]
  await fc.assert(
    fc.asyncProperty(anyEdits(dump.length, pieces), async (edits) => {
      return typeof (await verify(file, edited(dump, edits))).ok === 'boolean'
    }),
    { numRuns: 300 },
  )
})

t.test('any changed byte of an exchange is found', async (t) => {
  const file = join(t.testdir(), 'export.jsonl')
  const { lines } = exported()
  const text = lines.join('')
  const start = text.indexOf('{"exchange"')
  const end = text.indexOf('\n', start)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: start, max: end - 1 }),
      fc.integer({ min: 0, max: 7 }),
      async (at, bit) => {
        const changed = Buffer.from(text)
        changed[at] = (changed[at] as number) ^ (1 << bit)
        return !(await verify(file, changed)).ok
      },
    ),
    { numRuns: 200 },
  )
})
