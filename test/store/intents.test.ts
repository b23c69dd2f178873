// Calls that a killed process left unfinished.

import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { INTENTS_FILE, type Intent, Intents, type OpenIntent } from '../../src/store/files/intents.ts'

const intent = (id: string): Intent => ({
  id,
  key_id: 'k',
  key_name: 'key "1"\n-x',
  model: 'm',
  created_at: '2026-03-01T12:00:00.000Z',
  stream: false,
  policy_revision: '00ff',
  prompt_tokens: 3,
})

const ids = (intents: Intents): string[] => intents.unfinished.map(({ item }) => item.id)

t.test('calls without a sealed mark are left unfinished, in any order', async (t) => {
  const root = t.testdir()
  let run = 0
  const step = fc.record({ id: fc.integer({ min: 0, max: 9 }), seals: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(step), fc.integer({ min: 1, max: 2000 }), async (steps, maxBytes) => {
      const folder = join(root, String(run++))
      mkdirSync(folder)
      // Never closed, as after a kill.
      const intents = new Intents(folder, { maxBytes })
      const open = new Map<string, OpenIntent>()
      const seen = new Set<string>()
      for (const [n, { id, seals }] of steps.entries()) {
        const [oldest] = [...open].slice(id)
        if (seals && oldest !== undefined) {
          intents.sealed(oldest[1])
          open.delete(oldest[0])
        } else {
          const name = `id-${n}`
          open.set(name, await intents.begin(intent(name)))
          seen.add(name)
        }
      }
      const left = ids(new Intents(folder, { maxBytes }))
      // Marks since the last write are missing; the log has those calls.
      for (const id of open.keys()) if (!left.includes(id)) return false
      return left.every((id) => seen.has(id)) && intents.open === open.size
    }),
  )
})

t.test('the file stays small and keeps running calls', async (t) => {
  const folder = t.testdir()
  const intents = new Intents(folder, { maxBytes: 10_000 })
  await intents.begin(intent('long'))
  for (let n = 0; n < 1000; n++) {
    intents.sealed(await intents.begin(intent(`id-${n}`)))
  }
  t.ok(statSync(join(folder, INTENTS_FILE)).size < 11_000)
  const next = new Intents(folder)
  t.ok(ids(next).includes('long'))
  t.strictSame(next.unfinished[0]?.item, intent('long'))
  for (const open of next.unfinished) next.sealed(open)
  next.close()
  t.equal(statSync(join(folder, INTENTS_FILE)).size, 0)
})

t.test('torn and foreign lines are skipped and do not affect the next', async (t) => {
  const folder = t.testdir()
  const file = join(folder, INTENTS_FILE)
  writeFileSync(file, 'null\n[]\n{"id":1}\n\0\0\0\n')
  const first = new Intents(folder)
  t.strictSame(ids(first), [])
  await first.begin(intent('a'))
  appendFileSync(file, '{"id":"tor')
  const second = new Intents(folder)
  t.strictSame(ids(second), ['a'])
  await second.begin(intent('b'))
  t.strictSame(ids(new Intents(folder)), ['a', 'b'])
  t.match(readFileSync(file, 'utf8'), '{"id":"tor\n')
})

t.test('candidate models are stored, and records without them are read', async (t) => {
  const folder = t.testdir()
  const both = { ...intent('both'), models: ['m', 'n'] }
  await new Intents(folder).begin(both)
  const file = join(folder, INTENTS_FILE)
  const odd = [null, 'n', [], [1], {}].map((models, n) => JSON.stringify({ ...intent(`odd-${n}`), models }))
  appendFileSync(file, `${JSON.stringify(intent('old'))}\n${odd.join('\n')}\n`)
  t.strictSame(
    new Intents(folder).unfinished.map(({ item }) => item),
    [both, intent('old')],
  )
})

t.test('a call that cannot be recorded is refused', async (t) => {
  const folder = t.testdir()
  let nowMs = 0
  const clock = { now: () => nowMs, monotonic: () => nowMs }
  const events: string[] = []
  const intents = new Intents(folder, {
    clock,
    maxBytes: 1,
    onUnavailable: (cause) => events.push((cause as NodeJS.ErrnoException).code ?? 'unknown'),
    onAvailable: () => events.push('available'),
  })
  await intents.begin(intent('a'))
  t.equal(intents.isWritable(), true)
  // The file is due for a rewrite, which fails.
  mkdirSync(join(folder, `${INTENTS_FILE}.new`))
  const refused = [intents.begin(intent('b')), intents.begin(intent('c'))]
  for (const one of refused) await t.rejects(one, { code: 'audit_unavailable', status: 503 })
  t.equal(intents.open, 1)
  t.equal(intents.isWritable(), false)
  nowMs += 1000
  t.equal(intents.isWritable(), false, 'a probe fails')
  rmSync(join(folder, `${INTENTS_FILE}.new`), { recursive: true })
  nowMs += 999
  t.equal(intents.isWritable(), false, 'no probe within a second')
  nowMs += 1
  t.equal(intents.isWritable(), true)
  await intents.begin(intent('b'))
  t.strictSame(ids(new Intents(folder)), ['a', 'b'])
  t.strictSame(events, ['EISDIR', 'available'])
  mkdirSync(join(folder, `${INTENTS_FILE}.new`))
  await t.rejects(intents.begin(intent('c')))
  rmSync(join(folder, `${INTENTS_FILE}.new`), { recursive: true })
  await intents.begin(intent('d'))
  t.equal(intents.isWritable(), true, 'a successful record ends the failure')
})

t.test('calls of one turn are recorded in one write', async (t) => {
  const folder = t.testdir()
  const intents = new Intents(folder)
  const begun = ['a', 'b', 'c'].map((id) => intents.begin(intent(id)))
  t.strictSame(ids(new Intents(folder)), [])
  await begun[0]
  // One write: when the first resolves, all are recorded.
  t.strictSame(ids(new Intents(folder)), ['a', 'b', 'c'])
  t.equal(intents.open, 3)
  await Promise.all(begun)
})
