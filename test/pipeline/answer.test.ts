// Tool calls in an answer that comes in one piece: a look at the whole tells what a scan of it would.

import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import { Placeholders } from '../../src/detect/pii/placeholders.ts'
import { answerWhole } from '../../src/pipeline/answer.ts'
import { Call } from '../../src/pipeline/call.ts'
import { type ScanRules, TextScan } from '../../src/pipeline/textscan.ts'
import { compileRules } from '../../src/policy/compile.ts'
import { CollectingClient } from '../../src/rulecheck/collect.ts'

const RULES = compileRules(
  [
    {
      id: 'aurora',
      name: 'aurora',
      type: 'keyword_block',
      pattern: 'project aurora',
      action: 'block',
      enabled: true,
    },
  ],
  'r',
)
const selection = RULES.select(['m'], 'k')
const scan: ScanRules = {
  kinds: DEFAULT_KINDS,
  piiAction: (kind) => selection.pii(kind, 'response').action,
  keywords: selection.keywords('response'),
  restoration: null,
}

/** What a client gets of a tool call's arguments; null where the answer is refused. */
async function sent(json: string) {
  const call = new Call({ now: () => 0, monotonic: () => 0 }, 'id', { id: 'k', name: 'k' }, 0, 'r')
  const client = new CollectingClient()
  const message = { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: json } }] }
  const pieces = [Buffer.from(JSON.stringify({ choices: [{ message }] }))]
  const response = {
    status: 200,
    headers: {},
    read: async () => pieces.shift() ?? null,
    abort: () => {},
    discard: () => {},
  }
  try {
    const delivery = await answerWhole(
      { call, client, response, scan, selection, placeholders: new Placeholders() },
      null,
    )
    delivery.finish({ log: 'l', seq: 0, hash: '' })
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'response_blocked_by_policy') return null
    throw error
  }
  const found = call.findings.flatMap(({ kind, count }) => Array<string>(count).fill(kind))
  return { text: JSON.parse(client.text).choices[0].message.tool_calls[0].function.arguments, found }
}

/** The same by a scan. */
function scanned(json: string) {
  const one = new TextScan(scan, new Placeholders(), 'json')
  const { sent: text } = one.all(json)
  return one.blocked ? null : { text, found: [...one.findings].sort() }
}

const PIECES = [
  'alice@example.com',
  'alice\\u0040example.com',
  '+49 1512 3453635',
  'project ',
  'aurora',
  'pro\\u006aect aurora',
  'the plan',
  '\\n',
  ' ',
  '4111111111111111',
  '192.168.12.7',
]
const said = fc.array(fc.constantFrom(...PIECES), { maxLength: 4 }).map((pieces) => pieces.join(''))
const value = fc.oneof(
  said.map((text) => `"${text}"`),
  said.map((text) => `{"a":"${text}"}`),
  fc.constantFrom('4111111111111111', '17', 'null', '[1,2]'),
)
const json = fc
  .tuple(fc.array(value, { maxLength: 3 }), fc.constantFrom('', ' ', '\n', ',', '}'))
  .map(([values, between]) => values.join(between))

t.test('of one JSON text, of several, of none', async (t) => {
  let clean = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(json, async (text) => {
      const expected = scanned(text)
      const got = await sent(text)
      if (got !== null) got.found.sort()
      if (expected === null) refused++
      else if (expected.text === text) clean++
      t.same(got, expected, text)
    }),
    { numRuns: 2000 },
  )
  t.ok(clean > 100 && refused > 50, `${clean} clean, ${refused} refused`)
})
