// Answers in one piece: one look at a whole text decides the same as a scan.

import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { STEP_UNITS } from '../../src/core/steps.ts'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import { GivenIds } from '../../src/pipeline/answer/given-ids.ts'
import { ThoughtMemory } from '../../src/pipeline/answer/thought-memory.ts'
import { deliverWholeAnswer, readAll } from '../../src/pipeline/answer/whole-answer.ts'
import type { Call } from '../../src/pipeline/call/call.ts'
import { ScanMemory } from '../../src/pipeline/prompt/memory-turn.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import { cutOutput, type TextEdit } from '../../src/pipeline/scan/text-edits.ts'
import type { ScanRules } from '../../src/pipeline/scan/text-scanner.ts'
import { CollectingClient } from '../../src/rulecheck/collecting-client.ts'
import { rule } from '../policy/rules.ts'
import {
  cutText,
  decisionOf,
  deliverWhole,
  INJECTION,
  newCall,
  responseOf,
  STILL_CLOCK,
  scanPieces,
  selectRules,
} from './fixture.ts'

const selection = selectRules([rule('aurora', 'project aurora')])
const scan: ScanRules = {
  kinds: DEFAULT_KINDS,
  decide: (kind) => selection.pii(kind, 'answer'),
  shapes: null,
  keywords: selection.keywords('response'),
  credential: null,
  restoration: null,
}

class Collector extends CollectingClient {
  bytes = Buffer.alloc(0)

  override respond(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    super.respond(status, headers, body)
    this.bytes = Buffer.from(body)
  }
}

/** The last call, also when it was denied. */
let lastCall: Call | null = null

/** Delivers an answer. Time passes with each look at the clock. */
async function whole(
  body: string | Buffer,
  { status = 200, restoration = null }: { status?: number; restoration?: Restoration | null } = {},
) {
  let nowMs = 0
  const call = newCall({ now: () => 0, monotonic: () => nowMs++ })
  const client = new Collector()
  const response = { ...responseOf([body]), status }
  const placeholders = new Placeholders()
  lastCall = call
  const delivery = await deliverWholeAnswer({
    call,
    client,
    response,
    scan: { ...scan, restoration },
    selection,
    calls: null,
    placeholders,
    injection: INJECTION,
    thoughts: new ThoughtMemory(),
    givenIds: new GivenIds(),
    documents: [],
    searches: new ScanMemory(STEP_UNITS, Number.POSITIVE_INFINITY),
    clock: STILL_CLOCK,
    keep: () => {},
    streamBegan: () => {},
  })
  delivery.finish({ log: 'l', seq: 0, hash: '' })
  return { call, ending: delivery.ending, text: client.text, bytes: client.bytes }
}

/** Returns the delivered message; null when the answer is blocked. */
async function sent(message: JsonObject) {
  try {
    const { call, text } = await whole(JSON.stringify({ choices: [{ message }] }))
    const found = call.record.findings.flatMap(({ kind, count }) => Array<string>(count).fill(kind))
    return { message: JSON.parse(text).choices[0].message, found: found.sort() }
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'response_blocked_by_policy') return null
    throw error
  }
}

/** The result of a scan of the text in one piece. */
function scanned(text: string, encoding: 'plain' | 'json') {
  const { sent, blocked, findings } = scanPieces([text], scan, encoding)
  return blocked ? null : { text: sent, found: findings }
}

const toolCall = (json: string) => ({
  role: 'assistant',
  tool_calls: [{ function: { name: 'f', arguments: json } }],
})

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

t.test('tool arguments with one, several or no JSON texts', async (t) => {
  let clean = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(json, async (text) => {
      const expected = scanned(text, 'json')
      if (expected === null) refused++
      else if (expected.text === text) clean++
      t.same(
        await sent(toolCall(text)),
        expected && { message: toolCall(expected.text), found: expected.found },
        text,
      )
    }),
    { numRuns: 2000 },
  )
  t.ok(clean > 100 && refused > 50, `${clean} clean, ${refused} refused`)
})

/** A text of several steps; half end in a blocked keyword. */
const unit = fc.array(fc.constantFrom(...PIECES, 'Grüße, ', '{"a": 10293}', '😀'), {
  minLength: 1,
  maxLength: 12,
})
const long = fc.tuple(unit, fc.nat(99), fc.constantFrom('', 'project aurora')).map(([pieces, shift, end]) => {
  const once = `${pieces.join('')}, `
  return 'x'.repeat(shift) + once.repeat(Math.ceil((2.2 * STEP_UNITS) / once.length)) + end
})

t.test('long answers scanned in turns give the results of each alone', async (t) => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(fc.array(long, { minLength: 2, maxLength: 3 }), async (texts) => {
      const got = await Promise.all(texts.map((content) => sent({ role: 'assistant', content })))
      for (const [index, text] of texts.entries()) {
        const expected = scanned(text, 'plain')
        if (expected === null) refused++
        t.same(
          got[index],
          expected && { message: { role: 'assistant', content: expected.text }, found: expected.found },
        )
      }
    }),
    { numRuns: 12 },
  )
  t.ok(refused > 0, `${refused} refused`)
})

t.test('only the parsed one of duplicate keys is sent', async (t) => {
  const doubled = '{"choices":[{"message":{"content":"bob@example.com","content":"ok"}}]}'
  t.match(await whole(doubled), {
    text: '{"choices":[{"message":{"content":"ok"}}]}',
    ending: { outcome: 'ok', status: 200 },
  })
  const once =
    '{"choices" : [{"message":{"content":"\\"a\\": b", "x": {"a": 1}}, "y": [{"a": 1}, {"a": 2}]}]}'
  t.match(await whole(once), { text: once })
})

t.test('bytes that are not UTF-8 are sent as decoded', async (t) => {
  const answer = (host: string) => `{"choices":[{"message":{"content":"alice@${host}"}}]}`
  // A reader that skips invalid bytes finds an address in it.
  const { bytes } = await whole(Buffer.from(answer('exam\xffple.com'), 'latin1'))
  t.ok(isUtf8(bytes))
  t.match(String(bytes), /alice@exam\ufffdple/)
  const sound = answer('home, é')
  t.equal((await whole(sound)).text, sound)
})

t.test('a failure reported with status 200 is a failure', async (t) => {
  for (const body of [
    { error: { message: 'Provider returned error', code: 502 } },
    { choices: [], error: 'overloaded' },
    { choices: [{ message: { content: 'par' }, finish_reason: 'error' }] },
  ]) {
    const { text, ending, call } = await whole(JSON.stringify(body))
    t.equal(text, JSON.stringify(body))
    t.match(ending, { outcome: 'upstream_error', status: 200 })
    t.equal(call.record.estimatedCompletionTokens, 0, 'it used nothing that we know of')
  }
})

t.test('an empty error is no failure', async (t) => {
  for (const error of [null, '', {}]) {
    const { ending } = await whole(JSON.stringify({ choices: [{ message: { content: 'a' } }], error }))
    t.match(ending, { outcome: 'ok' })
  }
})

t.test('content in parts is one text, as in a stream', async (t) => {
  const parts = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }))
  const say = (...texts: string[]) => sent({ role: 'assistant', content: parts(...texts) })
  const mail = 'alice@example.com'
  for (let cut = 1; cut < mail.length; cut++) {
    const answer = await say(`to ${mail.slice(0, cut)}`, `${mail.slice(cut)} now`)
    t.match(answer, { message: { content: parts('to ', '[EMAIL_1] now') }, found: ['email'] }, `${cut}`)
  }
  for (const split of ['the project |aurora', 'the pro|ject| aurora', 'project aurora|']) {
    t.equal(await say(...split.split('|')), null, split)
  }
  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const apart = [...parts('ask alice@exam'), picture, ...parts('ple.com', ` or ${mail}`)]
  t.match(await sent({ role: 'assistant', content: apart }), {
    message: { content: [...parts('ask '), picture, ...parts('[EMAIL_1]', ' or [EMAIL_1]')] },
    found: ['email', 'email'],
  })
  const cited = [
    { type: 'text', text: 'ask alice@exam', citations: ['the list'] },
    { type: 'output_text', text: 'ple.com now' },
  ]
  t.match(await sent({ role: 'assistant', content: cited as JsonObject[] }), {
    message: { content: [{ text: 'ask ', citations: ['the list'] }, { text: '[EMAIL_1] now' }] },
  })
  t.match(await say('nothing ', 'to see'), { message: { content: parts('nothing ', 'to see') }, found: [] })
})

t.test('each piece of a text keeps its own words, and the last of a value has its replacement', async () => {
  const word = fc.tuple(fc.string({ minLength: 1, maxLength: 4 }), fc.boolean())
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), fc.array(fc.nat(30), { maxLength: 4 }), (words, cuts) => {
      const edits: TextEdit[] = []
      let received = ''
      for (const [plain, isValue] of words) {
        if (isValue) edits.push({ at: received.length, length: plain.length, written: 2, logged: 3 })
        received += plain
      }
      const write = (piece: string, at: number, value: string) => {
        let out = ''
        for (let from = at; from < at + piece.length; ) {
          const edit = edits.find((one) => one.at <= from && one.at + one.length > from)
          const end = edit === undefined ? from + 1 : Math.min(at + piece.length, edit.at + edit.length)
          if (edit === undefined) out += received[from]
          else if (edit.at + edit.length === end) out += value
          from = end
        }
        return out
      }
      const output = { sent: write(received, 0, '<>'), logged: write(received, 0, '[1]') }
      const pieces = cutText(received, cuts)
      const wanted = pieces.map((piece, index) => {
        const at = pieces.slice(0, index).join('').length
        return { sent: write(piece, at, '<>'), logged: write(piece, at, '[1]') }
      })
      const lengths = pieces.map(({ length }) => length)
      return isDeepStrictEqual(cutOutput(output, edits, lengths), wanted)
    }),
  )
})

t.test('numbers stay as written in the sent and the logged answer', async (t) => {
  const says = (content: string) =>
    `{"created":1700000000000000123,"choices":[{"message":{"content":${JSON.stringify(content)}}}],"n":[12345678901234567890, -9007199254740993,1e400],"note":"of 12345678901234567890"}`
  const { text, call } = await whole(says('ask dora@example.com'))
  t.equal(text, says('ask [EMAIL_1]'))
  t.match(JSON.stringify(call.record.response), '"n":[12345678901234567890,-9007199254740993,1e400]')
  t.equal((await whole(says('hi'))).text, says('hi'), 'passes unchanged')
  const card = await whole('{"choices":[],"n":6011000990139424124}')
  t.equal(card.text, '{"choices":[],"n":"[CREDIT_CARD_1]"}', 'read as they are written, too')
})

const tokens = (...texts: string[]) => ({
  content: texts.map((token) => ({ token, logprob: -1, bytes: [1] })),
})

t.test('fields that repeat a redacted or blocked text are dropped', async (t) => {
  const logprobs = tokens('ask ', 'alice', '@example.com')
  const message = { content: 'ask alice@example.com', logprobs, token_ids: [1, 2] }
  const { call, text } = await whole(
    JSON.stringify({ choices: [{ message, logprobs, token_ids: [3] }], logprobs }),
  )
  for (const [where, body] of Object.entries({ sent: JSON.parse(text), kept: call.record.response })) {
    const [choice] = body.choices
    t.same([body.logprobs, choice.logprobs, choice.token_ids], [null, null, null], where)
    t.same(choice.message, { content: 'ask [EMAIL_1]', logprobs: null, token_ids: null }, where)
  }
  const choice = { message: { content: 'of project aurora' }, logprobs: tokens('of ', 'project ', 'aurora') }
  await t.rejects(whole(JSON.stringify({ choices: [choice] })), { code: 'response_blocked_by_policy' })
  t.same(lastCall?.record.response, { choices: [{ message: { content: 'of ' }, logprobs: null }] })
})

t.test('a member named token is a text, except under the logprobs of a choice', async (t) => {
  const spoken = { type: 'text', text: 'hi', token: 'alice@example.com' }
  t.match(await sent({ content: [spoken] }), { message: { content: [{ token: '[EMAIL_1]' }] } })
  t.match(await sent({ logprobs: tokens('alice@example.com') as JsonObject }), {
    message: { logprobs: null },
    found: ['email'],
  })
  const logprobs = { content: [{ token: 'a.b@example.com', top_logprobs: [{ token: 'a.b@example.com' }] }] }
  const { text } = await whole(JSON.stringify({ choices: [{ message: { content: 'hi' }, logprobs }] }))
  t.same(JSON.parse(text).choices[0].logprobs, logprobs)
})

t.test('JSON in a string is decoded in every place of arguments', async (t) => {
  const calls = [{ arguments: '{"to":"alice\\u0040example.com"}' }, { arguments: 'alice@example.com' }]
  t.match(await sent({ executed_tools: calls }), {
    message: { executed_tools: [{ arguments: '{"to":"[EMAIL_1]"}' }, { arguments: '[EMAIL_1]' }] },
  })
})

t.test('numbers are left out only where a provider counts', async (t) => {
  const card = 4111111111111111
  const counted = { created: card, usage: { total_tokens: card }, choices: [{ seed: card, message: {} }] }
  t.equal((await whole(JSON.stringify(counted))).text, JSON.stringify(counted))
  const parsed = { created: card, seed: card, expires_at: card, usage: { of: card } }
  const hidden = '[CREDIT_CARD_1]'
  t.match(await sent({ parsed }), {
    message: { parsed: { created: hidden, seed: hidden, expires_at: hidden, usage: { of: hidden } } },
  })
})

const SAID = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Thank you.' }, finish_reason: 'stop' }],
}
const ONE_LINE = JSON.stringify(SAID)
const WRITTEN_ANEW: readonly (readonly [what: string, answer: string])[] = [
  ['of several lines', JSON.stringify(SAID, null, 2)],
  ['with a line end after it', `${ONE_LINE}\n`],
  ['with a carriage return in it', ONE_LINE.replace(',', ',\r')],
  ['with blanks before it', `  ${ONE_LINE}`],
  ['with a byte order mark', `\ufeff${ONE_LINE}`],
  ['with a duplicate key', ONE_LINE.replace('{', '{"choices":[],')],
  ['with personal data', ONE_LINE.replace('you', 'you, jane@example.org')],
]

t.test('the log copies an unchanged answer of one line byte for byte', async (t) => {
  const { call } = await whole(ONE_LINE)
  t.equal(call.record.received?.toString(), ONE_LINE)
  t.strictSame(call.record.response, SAID)
  for (const [what, answer] of WRITTEN_ANEW) t.equal((await whole(answer)).call.record.received, null, what)
})

t.test('a body larger than memory allows is refused, and the upstream call ends', async (t) => {
  const mebibyte = Buffer.alloc(1024 ** 2)
  let aborted = false
  const abort = () => {
    aborted = true
  }
  const endless = { ...responseOf([]), read: async () => mebibyte, abort }
  await t.rejects(readAll(endless), { code: 'upstream_unavailable', message: /larger than \d+ bytes/ })
  t.ok(aborted)
})

t.test('a body that is no JSON object is refused with a status of success', async (t) => {
  for (const body of ['', 'busy', '[]', '[{"choices":[]}]', '"choices"'])
    await t.rejects(whole(body), { code: 'upstream_unavailable', message: /not a JSON object/ }, body)
})

t.test('an error of the upstream keeps its reason, redacted, in the form that clients read', async (t) => {
  const cases: [string, string][] = [
    ['busy, ask bob@example.com', 'busy, ask [EMAIL_1]'],
    ['"busy, ask bob\\u0040example.com"', 'busy, ask [EMAIL_1]'],
    ['["busy",7]', '["busy",7]'],
    ['', 'The upstream answered with status 503.'],
    ['<html>busy</html>', 'The upstream answered with status 503.'],
    ['busy '.repeat(1000), 'The upstream answered with status 503.'],
  ]
  for (const [body, message] of cases) {
    const { text, ending } = await whole(body, { status: 503 })
    const code = 'upstream_unavailable'
    t.same(JSON.parse(text).error, { message, type: 'upstream_error', param: null, code }, body)
    t.equal(ending.outcome, 'upstream_error')
  }
  const list = '[{"error":{"message":"for bob@example.com"}}]'
  t.same(JSON.parse((await whole(list, { status: 400 })).text), [{ error: { message: 'for [EMAIL_1]' } }])
})

t.test('the client gets restored values, the log gets placeholders', async (t) => {
  const restoration = new Restoration(new Map([['[EMAIL_7]', 'ann@example.com']]))
  const answer = { choices: [{ message: { content: 'to [EMAIL_7]' }, logprobs: { content: [] } }] }
  const { text, call } = await whole(JSON.stringify(answer), { restoration })
  t.equal(JSON.parse(text).choices[0].message.content, 'to ann@example.com')
  t.match(call.record.response, { choices: [{ message: { content: 'to [EMAIL_7]' }, logprobs: null }] })
})

t.test('a value of a parsed answer counts after the name of its member, as in a stream', async (t) => {
  const input = { phone: '4155552671', list: [{ password: 'kX9-hunter2Qz' }], tel: 4155552671, note: 'x' }
  const content = [{ type: 'tool_use', id: 'toolu_1', name: 'save', input }]
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content,
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const rules: ScanRules = { ...scan, keywords: null, decide: () => decisionOf('redact') }
  const text = await deliverWhole(MESSAGES, answer, { scan: rules, selection: selectRules([]) })
  t.match(JSON.parse(text).content[0].input, {
    phone: '[PHONE_1]',
    list: [{ password: '[SECRET_1]' }],
    tel: '[PHONE_1]',
    note: 'x',
  })
})
