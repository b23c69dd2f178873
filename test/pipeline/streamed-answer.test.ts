// Events that are all alike but for their text take a shorter way through the relay: it must lead to the same place.

import fc from 'fast-check'
import t from 'tap'
import { Budget } from '../../src/core/budget.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { PII_KINDS } from '../../src/core/finding.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { STEP_UNITS } from '../../src/core/steps.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { deliverStreamedAnswer } from '../../src/pipeline/answer/streamed-answer.ts'
import { Call } from '../../src/pipeline/call.ts'
import type { Client } from '../../src/pipeline/client.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { compileRules } from '../policy/rules.ts'

const rules: Rule[] = [
  { id: 'a', name: 'a', type: 'keyword_block', pattern: 'project aurora', action: 'block', enabled: true },
  { id: 'b', name: 'b', type: 'keyword_block', pattern: 'harbour', action: 'monitor', enabled: true },
  { id: 'd', name: 'd', type: 'keyword_block', pattern: 'zenith\\b', action: 'block', enabled: true },
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
async function relay(
  events: readonly string[],
  credential: string | null = null,
  clock = { now: () => 0, monotonic: () => 0 },
  keep: (bytes: number) => void = () => {},
) {
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
    credential,
    read: async () => (next < events.length ? Buffer.from(events[next++]!) : null),
    abort: () => {},
    discard: () => {},
  }
  const scan = {
    kinds: kindSet(PII_KINDS),
    piiAction: () => 'redact' as const,
    keywords: selection.keywords('response'),
    credential,
    restoration: new Restoration(new Map([['[EMAIL_1]', 'ann@example.com']])),
  }
  let failure = ''
  try {
    const delivery = await deliverStreamedAnswer(
      { call, client, response, scan, selection, placeholders, searches: new Budget(0), keep },
      false,
    )
    delivery.finish({ log: 'l', seq: 0, hash: 'h' })
  } catch (error) {
    failure = (error as { code: string }).code
  }
  const plain = (text: string) => text.replaceAll(/"created":\d+/g, '"created":0')
  return {
    sent: sent.map(plain),
    kept: plain(JSON.stringify(call.record.response as JsonObject)),
    findings: call.record.findings,
    hits: call.record.hits,
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

t.test('streams that come at once take turns, and come out as each by itself', async (t) => {
  // Of which each look shows that a slice is over.
  let readings = 0
  const hurried = { now: () => 0, monotonic: () => 10 * readings++ }
  const burst = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 20 }), fc.boolean(), fc.boolean())
  let turns = 0
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 2, maxLength: 3 }), async (bursts) => {
      const streams = bursts.map(([pieces, alike, isOneEvent]) => {
        const long = pieces.map((said) => said.padEnd(8, ' and').repeat(STEP_UNITS / 64))
        return eventsOf(isOneEvent ? [long.join('')] : long, alike, false).join('')
      })
      const watch = setInterval(() => turns++, 0)
      const together = await Promise.all(streams.map((stream) => relay([stream], null, hurried)))
      clearInterval(watch)
      for (const [index, stream] of streams.entries()) t.strictSame(together[index], await relay([stream]))
    }),
    { numRuns: 40 },
  )
  t.ok(turns > 0, 'other work went on meanwhile')
})

const event = (choice: object) =>
  `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\n`
const END = [event({ delta: {}, finish_reason: 'stop' }), 'data: [DONE]\n\n']
const MAIL = ['write to dora@exam', 'ple.com now']

const chunksOf = (sent: readonly string[]): any[] =>
  [...sent.join('').matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))
/** What the deltas say together. */
const said = (sent: readonly string[], read: (delta: any, choice: any) => unknown): string =>
  chunksOf(sent)
    .flatMap(({ choices }) => choices.map((choice: any) => read(choice.delta ?? {}, choice) ?? ''))
    .join('')

t.test(
  'what is kept of a stream is told as it comes, and it ends where there is no room for more',
  async (t) => {
    const pieces = Array.from({ length: 50 }, (_, index) => `word ${index} and `)
    let kept = 0
    const all = await relay(eventsOf(pieces, true, false), null, undefined, (bytes) => {
      kept += bytes
    })
    t.ok(kept >= pieces.join('').length, `${kept}`)
    const room = new Budget(kept / 2)
    const half = await relay(eventsOf(pieces, true, false), null, undefined, (bytes) => {
      if (!room.take(bytes)) throw new GatewayError('overloaded', 'full')
    })
    t.equal(half.failure, 'overloaded')
    const sent = half.sent.join('')
    t.ok(sent.length > 1000 && all.sent.join('').startsWith(sent))
  },
)

t.test('of a key that stands twice in an event only what was read is sent', async (t) => {
  const doubled =
    '{"id":"x","choices":[{"index":0,"delta":{"content":"a "}}],"y":{"z":"bob@example.com","z":"fine"}}'
  const { sent } = await relay([`data: ${doubled}\n\n`, ...END])
  t.notMatch(sent.join(''), /bob@/)
  t.match(sent.join(''), '"y":{"z":"fine"}')
})

t.test('an error that says nothing ends no stream', async (t) => {
  for (const error of [null, '', {}]) {
    const says = (content: string) =>
      `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content } }], error })}\n\n`
    const { sent, failure } = await relay([says('one '), says('two '), ...END])
    t.equal(failure, '', JSON.stringify(error))
    t.equal(
      said(sent, ({ content }) => content),
      'one two ',
    )
  }
})

t.test('an event that is called an error is one, whatever its data are', async (t) => {
  const said = event({ delta: { content: 'so ' } })
  for (const name of ['event: error', 'event:error', 'id: 7\nevent: error\n: note']) {
    const data = '{"message":"for dora@example.com and [EMAIL_1]","type":"overloaded_error"}'
    const { sent, failure } = await relay([said, `${name}\ndata: ${data}\n\n`, ...END])
    t.equal(failure, 'upstream_unavailable', name)
    const message = sent.join('').split('\n\n').at(-2)
    t.match(message, new RegExp(`^${name}\n`))
    t.same(
      chunksOf(sent).at(-1),
      { error: { message: 'for [EMAIL_2] and [EMAIL_1]', type: 'overloaded_error' } },
      'in the form that clients read, and without values',
    )
    t.notMatch(sent.join(''), /\[DONE\]/)
  }
  for (const data of ['{}', '{"error":{"message":"busy"}}', said.slice('data: '.length).trim()]) {
    const { sent, failure } = await relay([said, said, said, `event: error\ndata: ${data}\n\n`, ...END])
    t.equal(failure, 'upstream_unavailable', data)
    t.ok(chunksOf(sent).at(-1).error)
  }
  const named = await relay([`event: message\n${said}`, `event: errors\n${said}`, ...END])
  t.equal(named.failure, '')
})

t.test('a choice that goes on is one text, however servers write that it does', async (t) => {
  for (const reason of [null, '', 'null']) {
    const pieces = MAIL.map((content) => event({ delta: { content }, finish_reason: reason }))
    const { sent, kept, failure } = await relay([...pieces, ...END])
    t.notMatch(sent.join('') + kept, /dora/, `finish_reason ${JSON.stringify(reason)}`)
    t.equal(failure, '')
  }
  const text = event({ delta: { content: 'a' }, finish_reason: '' })
  t.equal((await relay([text])).failure, 'upstream_unavailable', 'neither word of an end')
  t.equal((await relay([])).failure, 'upstream_unavailable')
  t.equal((await relay(['data: [DONE]\n\n'])).failure, 'upstream_unavailable', 'nothing was said')
  for (const end of END) {
    const { sent, failure } = await relay([text, end])
    t.equal(failure, '', 'one of both is enough')
    t.match(sent.join(''), /"content":"a"[\s\S]*data: \[DONE\]\n\n$/)
  }
  const ended = [...MAIL, ...MAIL].map((content) => event({ delta: { content }, finish_reason: 'stop' }))
  const { sent } = await relay([...ended, ...END])
  t.notMatch(sent.join(''), /dora|ple\.com/, 'one that goes on behind its end is one text')
  t.equal(
    said(sent, (delta) => delta.content),
    'write to [EMAIL_2] now'.repeat(2),
  )
  t.match(chunksOf(sent).at(-1), { choices: [{ delta: {}, finish_reason: 'stop' }] }, 'and ends once')
  t.equal(sent.join('').split('"stop"').length, 2)
})

t.test('what its end shows to be forbidden has no end', async (t) => {
  const word = [event({ delta: { content: 'up to the ze' } }), event({ delta: { content: 'nith' } })]
  const thought = event({ delta: { reasoning_content: 'the zenith' } })
  const reply = event({ delta: { content: 'so' } })
  const other = `data: ${JSON.stringify({ choices: [{ index: 1, delta: { content: 'and' }, finish_reason: 'stop' }] })}\n\n`
  const tool = event({
    delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] },
  })
  for (const events of [
    [...word, ...END],
    [word[0]!, event({ delta: { content: 'nith' }, finish_reason: 'stop' }), END[1]!],
    [...word, tool, ...END],
    [thought, reply, ...END],
    [...word, other, ...END],
  ]) {
    const { sent, kept, failure } = await relay(events)
    t.equal(failure, 'response_blocked_by_policy')
    t.notMatch(sent.join('') + kept, /nith/)
    const ends = [...chunksOf(sent), JSON.parse(kept)].flatMap(({ choices }) => choices)
    for (const { index, finish_reason } of ends)
      if (index === 0)
        t.equal(finish_reason ?? null, null, 'a client that stops there takes it for all there is')
  }
})

t.test('a piece of another text between two of one completes neither a value nor a word', async (t) => {
  const others = {
    reasoning: { reasoning: 'hm ' },
    reasoning_content: { reasoning_content: 'hm ' },
    refusal: { refusal: 'no ' },
    tool_calls: {
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
  }
  const value = 'dora@example.com'
  const word = 'project aurora'
  const textOf = (sent: readonly string[]) => said(sent, (delta) => delta.content)
  for (const [name, other] of Object.entries(others)) {
    for (let cut = 1; cut < value.length; cut++) {
      const pieces = [
        { content: `mail ${value.slice(0, cut)}` },
        other,
        { content: `${value.slice(cut)} now` },
      ]
      const { sent, kept, findings } = await relay([...pieces.map((delta) => event({ delta })), ...END])
      const text = textOf(sent)
      t.notMatch(text + kept, value, `${name}, ${cut}`)
      t.match(text, /^mail \S* now$/, `${name}, ${cut}: once, and the rest`)
      if (cut < value.length - 2) t.match(findings, [{ kind: 'email', count: 1 }], `${name}, ${cut}`)
    }
    for (let cut = 1; cut < word.length; cut++) {
      const pieces = [
        { content: `the ${word.slice(0, cut)}` },
        other,
        other,
        { content: `${word.slice(cut)} now` },
      ]
      const { sent, hits, failure } = await relay([...pieces.map((delta) => event({ delta })), ...END])
      t.equal(failure + hits.length, 'response_blocked_by_policy1', `${name}, ${cut}`)
      t.equal(textOf(sent), `the ${word.slice(0, cut)}`)
    }
    const thoughts = [
      { content: 'so ' },
      { reasoning: 'of dora@exam' },
      { content: 'and ' },
      { reasoning: 'ple.com' },
    ]
    const { sent } = await relay([...thoughts.map((delta) => event({ delta })), ...END])
    t.notMatch(
      said(sent, (delta) => delta.reasoning),
      value,
    )
  }
  const whole = [{ content: `mail ${value}` }, others.reasoning, { content: ` and ${value} now` }]
  const { sent, findings } = await relay([...whole.map((delta) => event({ delta })), ...END])
  t.equal(textOf(sent), 'mail [EMAIL_2] and [EMAIL_2] now', 'what was whole is not said or counted again')
  t.match(findings, [{ kind: 'email', count: 2 }])
})

t.test('thoughts that are written twice in each chunk end in one', async (t) => {
  const think = (text: string) =>
    event({ delta: { reasoning: text, reasoning_details: [{ type: 'reasoning.text', index: 0, text }] } })
  const pieces = ['First, think about ', '1889', '. Then ', 'ask bob@exam', 'ple.org']
  const answer = event({ delta: { content: 'It is so' } })
  for (const events of [
    [...pieces.map(think), answer, ...END],
    [...pieces.map(think), ...END],
  ]) {
    const { sent } = await relay(events)
    // As clients read that know both fields.
    const one = said(sent, (delta) => delta.reasoning_details?.[0]?.text ?? delta.reasoning)
    const other = said(sent, (delta) => delta.reasoning ?? delta.reasoning_details?.[0]?.text)
    t.same([one, other], Array(2).fill('First, think about 1889. Then ask [EMAIL_2]'))
  }
})

t.test('thoughts that are a text here and an object there end whole, both', async (t) => {
  const shapes: [(text: string) => object, (delta: any) => unknown][] = [
    [(reasoning) => ({ reasoning }), ({ reasoning }) => (typeof reasoning === 'string' ? reasoning : '')],
    [(text) => ({ reasoning: { text } }), ({ reasoning }) => reasoning?.text],
    [(text) => ({ reasoning: [{ index: 0, text }] }), ({ reasoning }) => reasoning?.[0]?.text],
    [(text) => ({ reasoning: { text: { text } } }), ({ reasoning }) => reasoning?.text?.text],
  ]
  const pieces = ['so ', 'mail dora@exam', 'ple.com'].flatMap((text) => shapes.map(([write]) => write(text)))
  const { sent } = await relay([...pieces.map((delta) => event({ delta })), ...END])
  for (const [write, read] of shapes) {
    const text = said(sent, (delta) => (typeof read(delta) === 'string' ? read(delta) : ''))
    t.equal(text, 'so mail [EMAIL_2]', JSON.stringify(write('')))
  }
})

t.test('comments pass, also beside data that do not', async (t) => {
  const counts = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`
  const lines = (name: string) =>
    `: ${name} of dora@example.com\nx-${name}: y\nevent: ${name}\nid: 7\nretry: 5\n`
  const { sent } = await relay([
    event({ delta: { content: 'hi' } }),
    END[0]!,
    `${lines('counts')}${counts}`,
    `${lines('done')}data: [DONE]\n\n`,
  ])
  t.match(
    sent.join(''),
    /\n\n: counts of \[EMAIL_2\]\nx-counts: y\n\n: done of \[EMAIL_2\]\nx-done: y\n\n: sidegate-audit [^\n]+\n\ndata: \[DONE\]\n\n$/,
    'but for what makes an event without data one to some clients',
  )
  const forbidden = await relay([event({ delta: { content: 'hi' } }), ': project aurora\ndata: [DONE]\n\n'])
  t.equal(forbidden.failure, 'response_blocked_by_policy')
})

t.test('lines that are no data pass, read like any text', async (t) => {
  const around = async (lines: string) =>
    relay([`${lines}\n\n`, event({ delta: { content: 'hi' } }), ...END], 'sk-secret')
  const { sent } = await around(': PROCESSING\nid: 7\nx-unknown: y')
  t.match(sent.join(''), /^: PROCESSING\nid: 7\nx-unknown: y\n\n/)
  for (const lines of [
    ': for dora@example.com',
    'error: {"message":"dora@example.com"}',
    '{"error":"dora@example.com"}',
  ]) {
    const { sent, findings } = await around(lines)
    t.notMatch(sent.join(''), /dora/, lines)
    t.match(findings, [{ kind: 'email', direction: 'response', count: 1 }])
  }
  const quoted = await around(': Bearer sk-secret')
  t.match(quoted.sent.join(''), /^: Bearer \[UPSTREAM_CREDENTIAL\]\n\n/)
  const forbidden = await around('error: of project aurora')
  t.equal(forbidden.failure, 'response_blocked_by_policy')
  t.notMatch(forbidden.sent.join(''), /aurora/)
  const beside = event({ delta: { role: 'assistant' } })
  const both = await relay([`: for dora@example.com\n${beside}`, ...END])
  t.match(both.sent.join(''), new RegExp(`^: for \\[EMAIL_\\d\\]\n${beside.slice(0, 20)}`))
})

t.test('lines beside data stay with what was rewritten, and with what was held back', async (t) => {
  const pieces = MAIL.map((content, n) => `id: ${n}\nevent: piece\n: note\n${event({ delta: { content } })}`)
  const { sent } = await relay([...pieces, ...END])
  const text = sent.join('')
  t.match(text, /^id: 0\nevent: piece\n: note\ndata: \{.*write to "/)
  t.match(text, /\nid: 1\nevent: piece\n: note\ndata: \{.*\[EMAIL_2\]/)
  const held = await relay([`id: 7\n${event({ delta: { content: 'dora@' } })}`, ...END])
  t.match(
    held.sent.join(''),
    /^id: 7\ndata: \{.*"content":""/,
    'an event without data is one to some clients',
  )
})

t.test('texts that do not grow are each counted, however many', async (t) => {
  const pieces = Array.from({ length: 3000 }, (_, n) =>
    event({ delta: { content: 'so ' }, by: `u${n}@example.com` }),
  )
  const { sent, findings } = await relay([...pieces, ...END])
  t.notMatch(sent.join(''), /example/)
  t.match(findings, [{ kind: 'email', direction: 'response', count: 3000 }])
})

t.test('events without data, and spaces behind the last one, are nothing', async (t) => {
  const { sent, failure } = await relay([
    'data:\n\n',
    event({ delta: { content: 'hi' }, finish_reason: 'stop' }),
    'data: \n\n',
    'data: [DONE] \n\n',
  ])
  t.equal(failure, '')
  t.match(sent.join(''), /"content":"hi"/)
})

t.test('what a model thinks grows, in whichever field', async (t) => {
  const pieces = MAIL.map((thinking) =>
    event({ delta: { thinking_blocks: [{ type: 'thinking', thinking }] } }),
  )
  const { sent, kept } = await relay([...pieces, ...END])
  t.notMatch(sent.join('') + kept, /dora|ple\.com/)
  t.match(sent.join(''), /"thinking_blocks":\[\{"type":"thinking",.*\[EMAIL_2\]/)
})

/** Where providers let a text grow that is neither a string of the delta nor a tool's arguments, and how it is read. */
const GROWING: Record<string, [(text: string) => object, (delta: any) => unknown]> = {
  'a part that thinks': [
    (thinking) => ({ content: [{ type: 'thinking', thinking }] }),
    (delta) => Array.isArray(delta.content) && delta.content[0].thinking,
  ],
  'parts of a part that thinks': [
    (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
    (delta) => Array.isArray(delta.content) && delta.content[0].thinking[0].text,
  ],
  'a part with a text that is not the answer': [
    (text) => ({ content: [{ type: 'reasoning', text }] }),
    (delta) => Array.isArray(delta.content) && delta.content[0].text,
  ],
  'a part that refuses': [
    (refusal) => ({ content: [{ type: 'refusal', refusal }] }),
    (delta) => Array.isArray(delta.content) && delta.content[0].refusal,
  ],
  'an object that thinks': [(text) => ({ reasoning: { text } }), (delta) => delta.reasoning?.text],
  'a summary in parts': [
    (text) => ({ reasoning: { summary: [{ type: 'summary_text', text }] } }),
    (delta) => delta.reasoning?.summary?.[0].text,
  ],
  'what a tool of the provider says': [
    (output) => ({ executed_tools: [{ index: 1, type: 'python', output }] }),
    (delta) => delta.executed_tools?.[0].output,
  ],
  'an item with a number': [
    (note) => ({ steps: [{ index: 3, inside: { note } }] }),
    (delta) => delta.steps?.[0].inside.note,
  ],
  'an item that is a text and no more': [
    (text) => ({ a: { steps: [{ text }] } }),
    (delta) => delta.a?.steps[0].text,
  ],
  'a field of a field': [(note) => ({ a: { b: { note } } }), (delta) => delta.a?.b.note],
}

t.test('a text grows wherever it stands in a delta', async (t) => {
  for (const [place, [write, read]] of Object.entries(GROWING)) {
    const { sent, kept, failure } = await relay([
      ...MAIL.map((text) => event({ delta: write(text) })),
      ...END,
    ])
    t.notMatch(sent.join('') + kept, /dora|ple\.com/, place)
    t.equal(
      said(sent, (delta) => read(delta) || ''),
      'write to [EMAIL_2] now',
      place,
    )
    t.equal(failure, '')
    const whole = MAIL.join('')
    const cuts = [...Array(whole.length - 1).keys()].map((at) => [
      whole.slice(0, at + 1),
      whole.slice(at + 1),
    ])
    for (const pieces of [...cuts, [...whole]]) {
      const cut = await relay([...pieces.map((text) => event({ delta: write(text) })), ...END])
      const text = said(cut.sent, (delta) => read(delta) || '')
      t.equal(text, 'write to [EMAIL_2] now', `${place}, ${JSON.stringify(pieces[0])}`)
    }
    const word = ['of project aur', 'ora'].map((text) => event({ delta: write(text) }))
    t.equal((await relay([...word, ...END])).failure, 'response_blocked_by_policy', place)
  }
})

t.test('the name of a function is whole in each chunk, and no chunk completes a value in it', async (t) => {
  const calls = {
    a: (name: string, more: object) => ({
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name, ...more } }],
    }),
    b: (name: string, more: object) => ({ tool_calls: [{ index: 0, custom: { name, ...more } }] }),
    c: (name: string, more: object) => ({ function_call: { name, ...more } }),
  }
  for (const write of Object.values(calls)) {
    const pieces = ['mail_dora@exam', 'ple.com'].map((name) => event({ delta: write(name, {}) }))
    const { sent, kept } = await relay([...pieces, ...END])
    t.notMatch(sent.join('') + kept, /ple\.com/)
    const whole = event({ delta: write('get_weather', { arguments: '' }) })
    const again = await relay([whole, whole, ...END])
    t.same(again.sent.slice(0, 2), [whole, whole], 'as it came, and as often')
  }
})

t.test('what is whole in each chunk leaves as it came', async (t) => {
  const cited = (n: number) => ({
    type: 'url_citation',
    url_citation: { url: `https://a.example/contact/u${n}`, title: `Write to u${n}`, start_index: n },
  })
  const deltas = [
    { role: 'assistant', channel: 'analysis' },
    { annotations: [cited(1)] },
    { annotations: [cited(2), cited(3)] },
    { images: [{ index: 0, type: 'image_url', image_url: { url: 'https://a.example/b' } }] },
    { executed_tools: [{ index: 0, type: 'search', name: 'web', arguments: '{"q":"a"}' }] },
    { reasoning_details: [{ index: 0, id: 'rs_a1', type: 'reasoning.encrypted', data: 'c2VhbGVk' }] },
    { audio: { id: 'audio_a1', data: 'AAECAw==' } },
    { provider_specific_fields: { citation: { cited_text: 'call', url: 'https://a.example/c' } } },
    { steps: [{ note: 'call' }, 'mail'] },
    {
      executed_tools: [
        { index: 0, code_results: [{ text: 'call' }], search_results: { results: [{ content: 'mail' }] } },
      ],
    },
    {
      meta: { request_id: 'abc', mediaType: 'text', tool_name: 'web', deeper: { thoughtSignature: 'c2Vh' } },
    },
    { content: [{ type: 'reference', reference_ids: ['a1'], note: 'see' }] },
  ]
  const events = deltas.map((delta) => event({ delta }))
  const { sent } = await relay([...events, ...END])
  t.same(sent.slice(0, events.length), events)
})

t.test('a stream has no end of texts', async (t) => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => event({ delta: { a: { [`f${n}`]: { text: 'so' } } } }))
  t.equal((await relay([...many(4096), ...END])).failure, '')
  t.equal((await relay([...many(4097), ...END])).failure, 'upstream_unavailable')
  const deep = (levels: number): object => (levels === 0 ? { text: 'so' } : { a: deep(levels - 1) })
  t.equal((await relay([event({ delta: deep(15) }), ...END])).failure, '')
  t.equal((await relay([event({ delta: deep(20) }), ...END])).failure, 'upstream_unavailable')
})

t.test(
  'what a gateway repeats of its provider grows like what it repeats, and citations do not',
  async (t) => {
    const pieces = MAIL.map((text) =>
      event({
        delta: {
          reasoning_content: text,
          provider_specific_fields: {
            reasoning_content: text,
            thinking_blocks: [{ type: 'thinking', thinking: text }],
            deeper: { content: text },
            citation: { cited_text: 'mail at', title: 'b@' },
          },
        },
      }),
    )
    const { sent, kept } = await relay([...pieces, ...END])
    t.notMatch(sent.join('') + kept, /dora|ple\.com/)
    const chunks = [...sent.join('').matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))
    const fields = chunks.map((chunk) => chunk.choices[0].delta.provider_specific_fields ?? {})
    const said = (read: (one: any) => unknown) => fields.map((one) => read(one) ?? '').join('')
    t.equal(
      said((one) => one.reasoning_content),
      'write to [EMAIL_2] now',
    )
    t.equal(
      said((one) => one.thinking_blocks?.[0].thinking),
      'write to [EMAIL_2] now',
    )
    t.equal(
      said((one) => one.deeper?.content),
      'write to [EMAIL_2] now',
    )
    t.equal(
      said((one) => one.citation?.title),
      'b@'.repeat(MAIL.length),
      'each citation is whole',
    )
  },
)

/** The order in which texts are said: each name once for each stretch of it. */
const order = (sent: readonly string[]): string[] =>
  chunksOf(sent)
    .flatMap(({ choices }) => Object.entries(choices[0]?.delta ?? {}))
    .filter(([, value]) => value !== '' && value !== null)
    .map(([name]) => name)
    .filter((name, at, names) => name !== names[at - 1])

t.test(
  'what was thought is all said before the answer, and the answer before a tool is called',
  async (t) => {
    const tool = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const { sent } = await relay([
      ...['I should say', ' hello'].map((reasoning_content) => event({ delta: { reasoning_content } })),
      ...['Hello', ' my', ' friend'].map((content) => event({ delta: { content } })),
      event({ delta: { content: ' look', tool_calls: [tool] } }),
      ...END,
    ])
    t.same(order(sent), ['reasoning_content', 'content', 'tool_calls'])
    t.equal(
      said(sent, (delta) => delta.reasoning_content),
      'I should say hello',
    )
    t.equal(
      said(sent, (delta) => delta.content),
      'Hello my friend look',
    )
    const legacy = await relay([
      event({ delta: { content: 'calling' } }),
      event({ delta: { function_call: { name: 'f', arguments: '{}' } } }),
      ...END,
    ])
    t.same(order(legacy.sent), ['content', 'function_call'])
  },
)

t.test('a signature comes behind what was signed', async (t) => {
  for (const signature of [{ signature: 'c2lnbmVk' }, { type: 'reasoning.encrypted', data: 'c2VhbGVk' }]) {
    const { sent } = await relay([
      event({ delta: { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'think a lot' }] } }),
      event({ delta: { reasoning_details: [{ type: 'reasoning.text', index: 0, ...signature }] } }),
      event({ delta: { content: 'so' } }),
      ...END,
    ])
    const details = chunksOf(sent).flatMap(({ choices }) => choices[0]?.delta.reasoning_details ?? [])
    t.equal(details.map(({ text }: any) => text ?? '').join(''), 'think a lot')
    t.match(details.at(-1), signature)
  }
})

t.test('what servers repeat beside a delta grows as well, or is read as far as it is said', async (t) => {
  let far = ''
  const pieces = MAIL.map((text) => {
    far += text
    const message = { role: 'assistant', content: far }
    const verbose = `{"verbose":{"content":${JSON.stringify(text)}},`
    return event({ text, delta: { content: text }, message }).replace('{', verbose)
  })
  const { sent, failure } = await relay([...pieces, ...END])
  t.equal(failure, '')
  t.notMatch(sent.join(''), /dora|ple\.com/)
  t.equal(
    said(sent, (_delta, choice) => choice.text),
    'write to [EMAIL_2] now',
  )
  t.match(chunksOf(sent)[0].verbose, { content: 'write to ' }, 'as far as the text it repeats')
})

t.test('fields that are stated in each chunk stay whole', async (t) => {
  const { sent } = await relay([
    ...['a', 'b'].map((content) => event({ delta: { channel: 'analysis', name: 'MiniMax AI', content } })),
    ...END,
  ])
  t.same(
    chunksOf(sent).map(({ choices }) => choices[0].delta.channel),
    ['analysis', 'analysis', undefined, undefined],
  )
})

t.test('a name that leaves as another takes its text along, and neither leaves as it came', async (t) => {
  const name = 'DE89370400440532013000'
  const said = (delta: object) => event({ delta })
  for (const [events, expected] of [
    [[said({ [name]: 'to bob@example.com now' })], [{ '[IBAN_1]': 'to [EMAIL_2] now' }]],
    [
      [said({ [name]: 'bob@' }), said({ content: 'hi ' })],
      [{ '[IBAN_1]': 'bob@' }, { content: 'hi ' }],
    ],
    [
      [said({ parsed: { [name]: { to: 'bob@example.com ' } } })],
      [{ parsed: { '[IBAN_1]': { to: '[EMAIL_2] ' } } }],
    ],
    [[said({ [name]: 'hi [EMAIL_1] ' })], [{ '[IBAN_1]': 'hi ann@example.com ' }]],
    [[said({ [name]: 'bob@', content: 'project aurora is' })], []],
  ] as const) {
    const { sent, kept } = await relay([...events, ...END])
    t.notMatch(sent.join('') + kept, /DE89|bob@example/)
    t.same(
      chunksOf(sent).flatMap(({ choices }) => (choices[0].finish_reason ? [] : [choices[0].delta])),
      expected,
    )
  }
})

t.test('what stands beside a held text is not lost with it', async (t) => {
  const filter = { content_filter_results: { hate: { filtered: false, severity: 'safe' } } }
  const pieces = [...'bob@example.com'].map((content) => event({ delta: { content }, ...filter }))
  const { sent } = await relay([...pieces, ...END])
  t.equal(sent.join('').split('content_filter_results').length - 1, pieces.length)
  const usage = (more: object) =>
    `data: ${JSON.stringify({ id: 'x', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, ...more })}\n\n`
  const cited = await relay([
    event({ delta: { content: 'hi' } }),
    usage({ citations: ['https://a.example'] }),
    ...END,
  ])
  for (const text of [cited.sent.join(''), cited.kept])
    t.match(text, /"citations":\["https:\/\/a\.example"\]/)
  t.notMatch(cited.sent.join(''), /total_tokens/, 'the client did not ask for it')
  t.notMatch(
    (await relay([event({ delta: { content: 'hi' } }), usage({}), ...END])).sent.join(''),
    /"choices":\[\]/,
  )
})

t.test('log probabilities of any text of a choice go with what was replaced in it', async (t) => {
  const tokens = (...list: string[]) => ({ content: list.map((token) => ({ token, logprob: -1 })) })
  const tool = (json: string) => ({ tool_calls: [{ index: 0, function: { arguments: json } }] })
  const { sent } = await relay([
    event({ delta: { content: 'Sure' }, logprobs: tokens('Sure') }),
    event({ delta: tool('{"to":"dora@exam'), logprobs: tokens('{"to":"', 'dora', '@exam') }),
    event({ delta: tool('ple.com"}'), logprobs: tokens('ple', '.com', '"}') }),
    ...END,
  ])
  t.match(sent.join(''), /"token":"Sure"/)
  t.notMatch(sent.join(''), /dora|"ple"/)
  const odd = await relay([
    event({ delta: { content: 'to dora@' }, logprobs: { tokens: ['to', ' dora', '@'] } }),
    event({ delta: { content: 'example.com', logprobs: ['example', '.com'] } }),
    ...END,
  ])
  t.notMatch(odd.sent.join(''), /dora|tokens|\.com/)
})

t.test('numbers of an event stay as they were written, wherever they stand', async (t) => {
  const n = '12345678901234567890'
  const says = (content: string) =>
    `data: {"id":"x","since":${n},"choices":[{"index":0,"delta":{"content":"${content}","n":[${n},{"m":-${n}}]}}]}\n\n`
  const { sent, kept } = await relay([says('to [EMAIL_1] and dora@example.com, '), ...END])
  t.equal(sent[0], says('to ann@example.com and [EMAIL_2], '))
  t.match(kept, `"since":${n}`)
  t.match(kept, `"n":[${n},{"m":-${n}}]`)
  const card = await relay([says('so ').replaceAll(n, '6011000990139424124'), ...END])
  t.notMatch(card.sent.join(''), '6011000990139424124')
  const places = [
    `{"id":"x","choices":[${n}]}`,
    `{"id":"x","choices":${n},"usage":${n},"error":${n}}`,
    ...['delta', 'message', 'finish_reason', 'logprobs', 'text'].map(
      (name) => `{"id":"x","choices":[{"index":0,"${name}":${n}}]}`,
    ),
    ...['content', 'tool_calls', 'audio', 'reasoning_details'].flatMap((name) => [
      `{"id":"x","choices":[{"index":0,"delta":{"${name}":${n}}}]}`,
      `{"id":"x","choices":[{"index":0,"delta":{"${name}":[${n},{"index":${n},"type":${n},"text":${n}}]}}]}`,
    ]),
  ]
  for (const data of places) {
    const odd = await relay([event({ delta: { content: 'hi ' } }), `data: ${data}\n\n`, ...END])
    t.equal(odd.failure, '', data)
    t.ok(odd.sent.includes(`data: ${data}\n\n`), data)
  }
})

t.test('a picture may be large, a text of one event not', async (t) => {
  const picture = `data:image/png;base64,${Buffer.alloc(9_000_000, 7).toString('base64')}`
  const images = [{ type: 'image_url', image_url: { url: picture } }]
  const { sent, failure } = await relay([event({ delta: { images } }), ...END])
  t.equal(failure, '')
  t.ok(sent.join('').includes(picture))
  const long = event({ delta: { content: 'so '.repeat(1_500_000) } })
  t.equal((await relay([long, ...END])).failure, 'upstream_unavailable')
  const said = event({ delta: { content: 'so ' } })
  t.equal((await relay([said, said, long, ...END])).failure, 'upstream_unavailable', 'alike or not')
})

t.test('what came before an event that ends a stream leaves, wherever the pieces were cut', async (t) => {
  const broken = [
    event({ delta: { x: JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`) } }),
    `data: ${JSON.stringify({ choices: Array(2000).fill({ delta: {} }) })}\n\n`,
  ]
  const before = ['one ', 'two '].map((content) => event({ delta: { content } }))
  for (const one of broken) {
    const apart = await relay([...before, one])
    const joined = await relay([[...before, one].join('')])
    t.equal(apart.failure, 'upstream_unavailable')
    t.same(apart.sent, before)
    t.same({ ...joined, sent: joined.sent.join('') }, { ...apart, sent: before.join('') })
  }
})

t.test('what is kept has no value that was put back, whatever it stands in', async (t) => {
  const end = (finish_reason: string, delta: object) => event({ delta, finish_reason })
  const { sent, kept } = await relay([end('[EMAIL_1]', { content: 'to [EMAIL_1] and' }), 'data: [DONE]\n\n'])
  t.match(sent.join(''), /ann@example\.com and/)
  t.match(kept, '"content":"to [EMAIL_1] and"')
  t.notMatch(kept, 'ann@')
  const repeated = {
    content: 'hi [EMAIL_1] ',
    logprobs: { content: [{ token: 'bob@example.com' }] },
    token_ids: [7],
  }
  const one = await relay([event({ delta: repeated }), ...END])
  t.match(one.sent.join(''), 'ann@example.com')
  t.notMatch(one.kept, /bob|ann|7/)
})

t.test('an error of more levels than can be written is told like any other', async (t) => {
  const deep = `event: error\ndata: {"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}\n\n`
  t.equal((await relay([event({ delta: { content: 'so ' } }), deep])).failure, 'upstream_unavailable')
})

t.test('a value goes on behind a piece of what is thought or said in between', async (t) => {
  const say = async (...deltas: object[]) => {
    const { sent, kept } = await relay([...deltas.map((delta) => event({ delta })), ...END])
    const texts = sent.flatMap((text) => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, said]) => said))
    return { content: texts.join(''), sent, kept }
  }
  for (const between of [{ reasoning: 'hm' }, { reasoning_content: 'hm' }, { refusal: 'no' }]) {
    const phone = await say({ content: 'call +1 415 555' }, between, { content: ' 2671 today' })
    t.equal(phone.content, 'call [PHONE_1] today')
    t.notMatch(phone.kept, '415')
    const mail = await say({ content: 'to bob@exam' }, between, { content: 'ple.com ok' })
    t.match(mail.content, /^to \[EMAIL_\d\] ok$/)
  }
  const { sent } = await say({ reasoning: 'so it is' }, { content: 'Yes' }, { content: ', it is' })
  t.match(sent[1], /"reasoning":"is"/, 'words leave before the answer begins')
  const long = 'Geschwindigkeitsbegrenzung'
  const german = await say({ reasoning: `eine ${long}` }, { content: 'Ja und ' }, { content: 'so' })
  t.match(german.sent.join(''), new RegExp(`"reasoning":"${long}".*"content":"Ja`, 's'), 'long ones, too')
  const call = { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }] }
  const calling = await say({ content: 'call +1 415 555' }, call)
  t.match(calling.sent[1], /"content":"\+1 415 555"/, 'and all of a text before a tool is called')
})
