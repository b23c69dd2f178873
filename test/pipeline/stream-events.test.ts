// Events of a stream beyond their growing texts: comments, other lines, fields and numbers.

import t from 'tap'
import { decodeAsClients } from '../chat/sse-clients.ts'
import { chunksOf, END, event, relay, SPLIT_ADDRESS } from './fixture.ts'

t.test('only the parsed one of duplicate keys in an event is sent', async (t) => {
  const doubled =
    '{"id":"x","choices":[{"index":0,"delta":{"content":"a "}}],"y":{"z":"bob@example.com","z":"fine"}}'
  const { sent } = await relay([`data: ${doubled}\n\n`, ...END])
  t.notMatch(sent.join(''), /bob@/)
  t.match(sent.join(''), '"y":{"z":"fine"}')
})

t.test('comments pass, also with data that does not', async (t) => {
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
    /\n\n: counts of \[EMAIL_2\]\nx-counts: y\nid: 7\nretry: 5\n: done of \[EMAIL_2\]\nx-done: y\nid: 7\nretry: 5\n: sidegate-audit [^\n]+\ndata: \[DONE\]\n\n$/,
    'without the names of the events',
  )
  const forbidden = await relay([event({ delta: { content: 'hi' } }), ': project aurora\ndata: [DONE]\n\n'])
  t.equal(forbidden.failure, 'response_blocked_by_policy')
})

t.test('lines without data pass and are scanned', async (t) => {
  const around = async (lines: string) =>
    relay([`${lines}\n\n`, event({ delta: { content: 'hi' } }), ...END], { credential: 'sk-secret' })
  const { sent } = await around(': PROCESSING\nid: 7\nx-unknown: y')
  t.match(sent.join(''), /^: PROCESSING\nid: 7\nx-unknown: y\ndata: /)
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
  t.match(quoted.sent.join(''), /^: Bearer \[UPSTREAM_CREDENTIAL\]\ndata: /)
  const forbidden = await around('error: of project aurora')
  t.equal(forbidden.failure, 'response_blocked_by_policy')
  t.notMatch(forbidden.sent.join(''), /aurora/)
  const beside = event({ delta: { role: 'assistant' } })
  const both = await relay([`: for dora@example.com\n${beside}`, ...END])
  t.match(both.sent.join(''), new RegExp(`^: for \\[EMAIL_\\d\\]\n${beside.slice(0, 20)}`))
})

t.test('other lines stay with rewritten data and with data held back', async (t) => {
  const pieces = SPLIT_ADDRESS.map(
    (content, n) => `id: ${n}\nevent: piece\n: note\n${event({ delta: { content } })}`,
  )
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

t.test('events that hold no answer, and spaces after [DONE], change nothing', async (t) => {
  const heartbeats = [
    ...[
      '',
      ' ',
      '\ndata:',
      '\t',
      'null',
      ' null ',
      'NULL',
      'ping',
      'PING',
      '"ping"',
      '[PING]',
      'pong',
      '[]',
      '{}',
      '""',
    ],
    ...[
      'keepalive',
      'keep-alive',
      ': keepalive',
      ':keep-alive',
      ': OPENROUTER PROCESSING',
      ':',
      'heartbeat',
      '[heartbeat]',
    ],
    ...['{"type":"ping"}', '{"type":"keepalive","time":1}', '{"event":"heartbeat"}', '{ }', 'undefined'],
  ]
  const pieces = SPLIT_ADDRESS.map((content) => event({ delta: { content } }))
  const plain = await relay([...pieces, ...END])
  const quiet = async (block: string) => {
    for (const place of [0, 1, 2, 3]) {
      const events = [...pieces, ...END]
      const { stream, logged, failure } = await relay(events.toSpliced(place, 0, block, block))
      t.same({ stream, logged, failure }, { stream: plain.stream, logged: plain.logged, failure: '' }, block)
    }
  }
  for (const data of heartbeats) {
    await quiet(`data: ${data}\n\n`)
    await quiet(`event: message\ndata:${data}\n\n`)
  }
  for (const data of ['{"cost":0}', '1764070000', 'now']) await quiet(`event: ping\ndata: ${data}\n\n`)
  const named = await relay([pieces[0]!, 'id: 7\ndata: null\n\n', ...pieces.slice(1), ...END])
  t.match(named.stream, /\n\nid: 7\ndata: \{/)
  t.equal((await relay([...pieces, END[0], 'data: [DONE] \n\n'])).failure, '')
})

t.test('data that may hold an answer is not skipped', async (t) => {
  const odd = [
    'hello',
    'true',
    '42',
    '"hello"',
    '[1]',
    '{"a":',
    'pinging',
    'ping: {"a":1}',
    ': {"a":1}',
    '[{}]',
    ': "a"',
  ]
  for (const data of [...odd, `:${'x'.repeat(300)}`, `${'['.repeat(100_000)}ping`]) {
    const { failure } = await relay([event({ delta: { content: 'hi' } }), `data: ${data}\n\n`, ...END])
    t.equal(failure, 'upstream_unavailable', data.slice(0, 50))
  }
  for (const data of ['null', 'ping', '{}', '{"type":"ping"}']) {
    const { failure } = await relay([
      event({ delta: { content: 'hi' } }),
      `event: error\ndata: ${data}\n\n`,
      ...END,
    ])
    t.equal(failure, 'upstream_unavailable', `an error with ${data}`)
  }
  const kept = ['{"type":"ping","choices":[]}', '{"id":"x","note":"see"}']
  for (const data of kept)
    t.ok(
      (await relay([`data: ${data}\n\n`, event({ delta: { content: 'hi' } }), ...END])).stream.includes(data),
      data,
    )
})

t.test('values that are complete in each chunk pass unchanged', async (t) => {
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

t.test('fields that repeat in each chunk stay whole', async (t) => {
  const { sent } = await relay([
    ...['a', 'b'].map((content) => event({ delta: { channel: 'analysis', name: 'MiniMax AI', content } })),
    ...END,
  ])
  t.same(
    chunksOf(sent).map(({ choices }) => choices[0].delta.channel),
    ['analysis', 'analysis', undefined, undefined],
  )
})

t.test('fields next to held-back text are not lost', async (t) => {
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
  for (const text of [cited.sent.join(''), cited.logged])
    t.match(text, /"citations":\["https:\/\/a\.example"\]/)
  t.notMatch(cited.sent.join(''), /total_tokens/, 'the client did not ask for it')
  t.notMatch(
    (await relay([event({ delta: { content: 'hi' } }), usage({}), ...END])).sent.join(''),
    /"choices":\[\]/,
  )
})

t.test('numbers of an event stay as written', async (t) => {
  const n = '12345678901234567890'
  const says = (content: string) =>
    `data: {"id":"x","since":${n},"choices":[{"index":0,"delta":{"content":"${content}","n":[${n},{"m":-${n}}]}}]}\n\n`
  const { sent, logged } = await relay([says('to [EMAIL_1] and dora@example.com, '), ...END])
  t.equal(sent[0], says('to ann@example.com and [EMAIL_2], '))
  t.match(logged, `"since":${n}`)
  t.match(logged, `"n":[${n},{"m":-${n}}]`)
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

t.test('no block without data reaches a client', async (t) => {
  const blocks = [
    ': PROCESSING',
    ':',
    'id: 7',
    'retry: 5',
    'event: wait',
    'data:',
    'data: ',
    'id: 7\ndata:',
    '',
  ]
  const held = SPLIT_ADDRESS.map((content) => event({ delta: { content } }))
  const usage = `id: 8\nevent: usage\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n`
  const endings: readonly (readonly string[])[] = [
    END,
    [END[0]],
    [`event: end\nid: 9\n${END[1]}`],
    [usage, ...END],
    ['event: error\ndata: {"message":"busy"}\n\n'],
    [': busy\ndata: {"error":{"message":"busy"}}\n\n'],
    [event({ delta: { content: 'project aurora' } })],
    ['data: {\n\n'],
    [],
  ]
  for (const ending of endings) {
    for (const end of ['\n', '\r\n', '\r']) {
      const events = [...blocks.map((block) => `${block}\n\n`), ...held].flatMap((one, at) => [
        one,
        `${blocks[at % blocks.length]}\n\n`,
      ])
      const { stream } = await relay([...events, ...ending].map((one) => one.replaceAll('\n', end)))
      const [events1, ...others] = decodeAsClients(stream)
      for (const events2 of others) t.same(events2, events1, JSON.stringify(ending))
      t.ok(events1!.length > 0 && events1!.every(({ data }) => data !== ''))
      t.match(stream, /: sidegate-audit [^\n]+\ndata: [^\n]+\n\n$/, 'the receipt is above the last data')
      t.notMatch(stream, /^event: (?:wait|usage)/m, 'a name without data would name the next event')
    }
  }
})

t.test('a comment is sent before its block ends', async (t) => {
  const { sent } = await relay([
    ': PROCESS',
    'ING\n',
    ': and',
    '\r\n',
    '\n',
    event({ delta: { content: 'a' } }),
    ...END,
  ])
  t.same(sent.slice(0, 2), [': PROCESSING\n', ': and\n'])
})

t.test('no line of the upstream can be taken for a receipt', async (t) => {
  const names = [
    'sidegate-audit',
    'SideGate-Audit',
    'sidegate_audit',
    'sidegate audit',
    'sidegate\u2010audit',
    'side\u200bgate-audit',
    'side\u00adgate\u2060-audit',
    's\u0456d\u0435gate-\u0430udit',
    '\uff53idegate\u2212audit',
    '\u{1d42c}idegate-audit',
    's\u0301idegate-audit',
    'x-sidegate-audit',
    '\u202esidegate-audit',
  ]
  const starts = [
    ': ',
    ':',
    ':  ',
    ':\t',
    ':\u00a0',
    ':\u2003',
    '\ufeff: ',
    ' : ',
    '',
    ': : ',
    ': x\u2028: ',
    'id: ',
    'x: ',
  ]
  const forged = (name: string, start: string) => `${start}${name} l;seq=666;hash=f`
  const lines = [
    ...names.map((name) => forged(name, ': ')),
    ...starts.map((start) => forged('sidegate-audit', start)),
  ]
  const said = event({ delta: { content: 'hi' } })
  const taken: string[] = []
  for (const line of lines) {
    for (const end of ['\n', '\r', '\r\n']) {
      for (const events of [
        [`${line}\n\n`, said, ...END],
        [said, `id: 7\n${line}\n${said}`, ...END],
        [said, END[0], `${line}\n${END[1]}`],
        [said, `event: error\n${line}\ndata: {"message":"busy"}\n\n`],
      ]) {
        const text = events.join('').replaceAll('\n', end)
        for (const pieces of [[text], Array.from(text)]) {
          const { stream } = await relay(pieces)
          const isReceipted = /: sidegate-audit l;seq=0;hash=h\ndata: [^\n]+\n\n$/.test(stream)
          if (stream.includes('666') || !isReceipted) taken.push(stream)
        }
      }
    }
  }
  t.same(taken, [])
  const { sent } = await relay([': sidegates audits\n: audit of sidegate\n', said, ...END])
  t.match(sent.join(''), /^: sidegates audits\n: audit of sidegate\ndata: /, 'other names pass')
})
