// Redaction in streams: values that are split over deltas, in any text that grows.

import t from 'tap'
import { chunksOf, END, event, relay, SPLIT_ADDRESS, textOf } from './fixture.ts'

t.test('a delta of another text between two deltas completes neither a value nor a keyword', async (t) => {
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
  const contentOf = (sent: readonly string[]) => textOf(sent, (delta) => delta.content)
  for (const [name, other] of Object.entries(others)) {
    for (let cut = 1; cut < value.length; cut++) {
      const pieces = [
        { content: `mail ${value.slice(0, cut)}` },
        other,
        { content: `${value.slice(cut)} now` },
      ]
      const { sent, logged, findings } = await relay([...pieces.map((delta) => event({ delta })), ...END])
      const text = contentOf(sent)
      t.notMatch(text + logged, value, `${name}, ${cut}`)
      t.match(text, /^mail \S* now$/, `${name}, ${cut}: once, with the rest`)
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
      t.equal(contentOf(sent), `the ${word.slice(0, cut)}`)
    }
    const thoughts = [
      { content: 'so ' },
      { reasoning: 'of dora@exam' },
      { content: 'and ' },
      { reasoning: 'ple.com' },
    ]
    const { sent } = await relay([...thoughts.map((delta) => event({ delta })), ...END])
    t.notMatch(
      textOf(sent, (delta) => delta.reasoning),
      value,
    )
  }
  const whole = [{ content: `mail ${value}` }, others.reasoning, { content: ` and ${value} now` }]
  const { sent, findings } = await relay([...whole.map((delta) => event({ delta })), ...END])
  t.equal(
    contentOf(sent),
    'mail [EMAIL_2] and [EMAIL_2] now',
    'a complete value is not sent or counted again',
  )
  t.match(findings, [{ kind: 'email', count: 2 }])
})

t.test('a value continues after a delta of another text', async (t) => {
  const say = async (...deltas: object[]) => {
    const { sent, logged } = await relay([...deltas.map((delta) => event({ delta })), ...END])
    const texts = sent.flatMap((text) => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, said]) => said))
    return { content: texts.join(''), sent, logged }
  }
  for (const between of [{ reasoning: 'hm' }, { reasoning_content: 'hm' }, { refusal: 'no' }]) {
    const phone = await say({ content: 'call +1 415 555' }, between, { content: ' 2671 today' })
    t.equal(phone.content, 'call [PHONE_1] today')
    t.notMatch(phone.logged, '415')
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

/**
 * Growing texts of providers that are neither strings of the delta nor tool arguments: how to write
 * and to read each.
 */
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

t.test('a text grows in any place of a delta', async (t) => {
  for (const [place, [write, read]] of Object.entries(GROWING)) {
    const { sent, logged, failure } = await relay([
      ...SPLIT_ADDRESS.map((text) => event({ delta: write(text) })),
      ...END,
    ])
    t.notMatch(sent.join('') + logged, /dora|ple\.com/, place)
    t.equal(
      textOf(sent, (delta) => read(delta) || ''),
      'write to [EMAIL_2] now',
      place,
    )
    t.equal(failure, '')
    const whole = SPLIT_ADDRESS.join('')
    const cuts = [...Array(whole.length - 1).keys()].map((at) => [
      whole.slice(0, at + 1),
      whole.slice(at + 1),
    ])
    for (const pieces of [...cuts, [...whole]]) {
      const cut = await relay([...pieces.map((text) => event({ delta: write(text) })), ...END])
      const text = textOf(cut.sent, (delta) => read(delta) || '')
      t.equal(text, 'write to [EMAIL_2] now', `${place}, ${JSON.stringify(pieces[0])}`)
    }
    const word = ['of project aur', 'ora'].map((text) => event({ delta: write(text) }))
    t.equal((await relay([...word, ...END])).failure, 'response_blocked_by_policy', place)
  }
})

t.test('fields that a proxy repeats grow like the original, and citations do not', async (t) => {
  const pieces = SPLIT_ADDRESS.map((text) =>
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
  const { sent, logged } = await relay([...pieces, ...END])
  t.notMatch(sent.join('') + logged, /dora|ple\.com/)
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
    'b@'.repeat(SPLIT_ADDRESS.length),
    'each citation is whole',
  )
})

t.test('text repeated outside the delta grows too, or is released as far as the delta', async (t) => {
  let far = ''
  const pieces = SPLIT_ADDRESS.map((text) => {
    far += text
    const message = { role: 'assistant', content: far }
    const verbose = `{"verbose":{"content":${JSON.stringify(text)}},`
    return event({ text, delta: { content: text }, message }).replace('{', verbose)
  })
  const { sent, failure } = await relay([...pieces, ...END])
  t.equal(failure, '')
  t.notMatch(sent.join(''), /dora|ple\.com/)
  t.equal(
    textOf(sent, (_delta, choice) => choice.text),
    'write to [EMAIL_2] now',
  )
  t.match(chunksOf(sent)[0].verbose, { content: 'write to ' }, 'as far as the text it repeats')
})

t.test('every standalone text is counted', async (t) => {
  const pieces = Array.from({ length: 3000 }, (_, n) =>
    event({ delta: { content: 'so ' }, by: `u${n}@example.com` }),
  )
  const { sent, findings } = await relay([...pieces, ...END])
  t.notMatch(sent.join(''), /example/)
  t.match(findings, [{ kind: 'email', direction: 'response', count: 3000 }])
})

t.test('a redacted name keeps its text with it', async (t) => {
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
    const { sent, logged } = await relay([...events, ...END])
    t.notMatch(sent.join('') + logged, /DE89|bob@example/)
    t.same(
      chunksOf(sent).flatMap(({ choices }) => (choices[0].finish_reason ? [] : [choices[0].delta])),
      expected,
    )
  }
})

t.test('the logged answer contains no restored value', async (t) => {
  const end = (finish_reason: string, delta: object) => event({ delta, finish_reason })
  const { sent, logged } = await relay([
    end('[EMAIL_1]', { content: 'to [EMAIL_1] and' }),
    'data: [DONE]\n\n',
  ])
  t.match(sent.join(''), /ann@example\.com and/)
  t.match(logged, '"content":"to [EMAIL_1] and"')
  t.notMatch(logged, 'ann@')
  const repeated = {
    content: 'hi [EMAIL_1] ',
    logprobs: { content: [{ token: 'bob@example.com' }] },
    token_ids: [7],
  }
  const one = await relay([event({ delta: repeated }), ...END])
  t.match(one.sent.join(''), 'ann@example.com')
  t.notMatch(one.logged, /bob|ann|7/)
})

t.test('a redaction drops the log probabilities of every text of the choice', async (t) => {
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
