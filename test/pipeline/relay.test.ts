// Events that are all alike but for their text take a shorter way through the relay: it must lead to the same place.

import fc from 'fast-check'
import t from 'tap'
import { PII_KINDS } from '../../src/core/finding.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { Placeholders } from '../../src/detect/pii/placeholders.ts'
import { Call } from '../../src/pipeline/call.ts'
import type { Client } from '../../src/pipeline/client.ts'
import { relayStream } from '../../src/pipeline/relay.ts'
import { Restoration } from '../../src/pipeline/restoration.ts'
import { compileRules } from '../../src/policy/compile.ts'
import type { Rule } from '../../src/policy/rule.ts'

const rules: Rule[] = [
  { id: 'a', name: 'a', type: 'keyword_block', pattern: 'project aurora', action: 'block', enabled: true },
  { id: 'b', name: 'b', type: 'keyword_block', pattern: 'harbour', action: 'monitor', enabled: true },
  { id: 'c', name: 'c', type: 'pii', pattern: '*', action: 'restore', enabled: true },
]
const selection = compileRules(rules, 'r').select(['m'], 'k')

/** @param alike whether the events differ in nothing but their text */
function eventsOf(pieces: readonly string[], alike: boolean, role: boolean): string[] {
  const event = (index: number, delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({
      id: 'x',
      created: alike ? 1 : index,
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`
  const said = pieces.map((content, index) =>
    event(index, role ? { role: 'assistant', content } : { content }),
  )
  return [...said, event(pieces.length, {}, 'stop'), 'data: [DONE]\n\n']
}

/** What the client got, what is kept, and what was found; `created` apart. */
async function relay(events: readonly string[]) {
  const clock = { now: () => 0, monotonic: () => 0 }
  const call = new Call(clock, 'id', { id: 'k', name: 'k' }, 0, 'r')
  const sent: string[] = []
  const client = {
    startStream: () => {},
    write: (text: string) => void sent.push(text),
    end: (text: string) => void sent.push(text),
    cancelled: false,
  } as unknown as Client
  const placeholders = new Placeholders()
  placeholders.avoid('[EMAIL_1]')
  let next = 0
  const response = {
    status: 200,
    headers: {},
    read: async () => (next < events.length ? Buffer.from(events[next++]!) : null),
    abort: () => {},
    discard: () => {},
  }
  const scan = {
    kinds: kindSet(PII_KINDS),
    piiAction: () => 'redact' as const,
    keywords: selection.keywords('response'),
    restoration: new Restoration(new Map([['[EMAIL_1]', 'ann@example.com']])),
  }
  let failure = ''
  try {
    const delivery = await relayStream({ call, client, response, scan, selection, placeholders }, false, null)
    delivery.finish({ log: 'l', seq: 0, hash: 'h' })
  } catch (error) {
    failure = (error as { code: string }).code
  }
  const plain = (text: string) => text.replaceAll(/"created":\d+/g, '"created":0')
  return {
    sent: sent.map(plain),
    kept: plain(JSON.stringify(call.response as JsonObject)),
    findings: call.findings,
    hits: call.hits,
    failure,
  }
}

const piece = fc.oneof(
  fc.constantFrom('word ', 'and ', ' then', 'bob@', 'example.', 'org ', 'project ', 'aurora', 'harbour '),
  fc.constantFrom(
    '[EMAIL',
    '_1]',
    '[EMAIL_1] ',
    '"quoted"',
    'back\\slash',
    'line\n',
    'é😀',
    '4111 1111 ',
    '1111 1111',
  ),
  fc.string({ maxLength: 5 }),
)

t.test('alike or not, events come to the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.boolean(), async (pieces, role) => {
      const [alike, apart] = await Promise.all([
        relay(eventsOf(pieces, true, role)),
        relay(eventsOf(pieces, false, role)),
      ])
      t.strictSame(alike, apart)
    }),
    { numRuns: 400 },
  )
})
