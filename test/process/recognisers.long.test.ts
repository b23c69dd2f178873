// A gateway with a recogniser, against a stand-in that speaks the analyzer's API: the official client
// and the provider see what the configuration promises.

import t from 'tap'
import { AnalyzerStandIn, answer as answerWith, recogniser } from '../recognisers/fixture.ts'
import { openAi, readText } from './client.ts'
import { deploy, prompt } from './gateway.ts'
import { completion, json, stream } from './upstream.ts'

const RULES = `
rules:
  - { name: places, type: pii, pattern: location, action: block, match: { models: [strict] } }
  - { name: people, type: pii, pattern: person, action: restore, match: { models: [warm] } }
`
const SECRET = 'Maria Keller'

const standIn = await AnalyzerStandIn.start()
t.teardown(() => standIn.close())
const { language: _language, minScore: _minScore, ...declared } = recogniser(standIn.url, { timeoutMs: 500 })
const { upstream, gateway, key } = await deploy(t, json(completion('Hello.')), {
  rules: RULES,
  config: { recognisers: [declared] },
})
const sent = () => upstream.received.at(-1)!.body

t.test('names leave neither in a prompt nor in an answer, and count everywhere', async (t) => {
  upstream.answer = json(completion('Ada Lovelace answers from Berlin.'))
  const response = await gateway.chat(key, prompt('😀 I am Maria Keller of São Paulo.'))
  const { choices }: any = await response.json()
  t.equal(choices[0].message.content, '[PERSON_2] answers from [LOCATION_2].')
  t.match(sent(), '😀 I am [PERSON_1] of [LOCATION_1].')
  t.match(response.headers.get('server-timing'), /recognise;dur=/)
  t.match(await gateway.newestEntry(), { pii_types: ['location', 'person'] })
  const { body } = await gateway.api('GET', '/usage/security')
  t.match(body.events[0], { type: 'pii_detection', pii_types: ['person', 'location'] })
  const metrics = await gateway.metrics()
  t.match(metrics, /sidegate_pii_findings_total\{kind="location",direction="request"\} 1/)
  t.match(metrics, /sidegate_recogniser_requests_total\{recogniser="presidio",result="ok"\} [1-9]/)
})

t.test('rules name the kinds of a recogniser', async (t) => {
  const refused = await gateway.chat(key, prompt('Is it warm in Berlin?', { model: 'strict' }))
  t.equal(refused.status, 403)
  t.match(await refused.json(), { error: { code: 'blocked_by_policy', rule_name: 'places' } })
  upstream.answer = json(completion('Dear [PERSON_1], hello.'))
  const restored: any = await (await gateway.chat(key, prompt(`I am ${SECRET}.`, { model: 'warm' }))).json()
  t.match(sent(), 'I am [PERSON_1].')
  t.equal(restored.choices[0].message.content, `Dear ${SECRET}, hello.`)
  const evaluated = await gateway.api('POST', '/rules/evaluate', prompt(`I am ${SECRET}.`))
  t.match(evaluated.body, { findings: [{ kind: 'person', start: 5, end: 17 }] })
  const unknown = { name: 'x', type: 'pii', pattern: 'animal', action: 'block', enabled: true }
  t.match(await gateway.api('POST', '/rules', unknown), { status: 400 })
})

t.test('the official client reads a stream without the names in it', async (t) => {
  upstream.answer = stream([
    'I met Mar',
    'ia Keller',
    ' in Ber',
    'lin. She',
    ' and Bob wrote to bob@ex',
    'ample.com',
  ])
  const chunks = await openAi(gateway, key).chat.completions.create({
    ...{ model: 'm', stream: true },
    messages: [{ role: 'user', content: 'Whom?' }],
  })
  t.match(await readText(chunks), {
    text: 'I met [PERSON_1] in [LOCATION_1]. She and [PERSON_2] wrote to [EMAIL_1]',
    error: null,
  })
  t.match(await gateway.newestEntry(), { outcome: 'ok', pii_types: ['email', 'location', 'person'] })
})

t.test('a recogniser that is slow or answers nonsense makes no call leave unread', async (t) => {
  const asked = upstream.received.length
  for (const other of [
    () => {},
    (response: Parameters<typeof answerWith>[0]) => answerWith(response, 200, '{'),
  ]) {
    standIn.other = other
    const response = await gateway.chat(key, prompt(`${SECRET} says it once more, ${other}`))
    t.equal(response.status, 503)
    t.equal(response.headers.get('retry-after'), '1')
    t.match(await response.json(), { error: { code: 'recogniser_unavailable', type: 'server_error' } })
  }
  t.equal(upstream.received.length, asked)
  standIn.other = (response, { text }) => answerWith(response, text.includes('Bob') ? 500 : 200, [])
  upstream.answer = stream([
    'It is fine, and we are going for a walk in the park. ',
    'Bob ',
    'came. ',
    'Bye.',
  ])
  // Its head is sent only if a sentence was judged before.
  const text = await (await gateway.chat(key, prompt('Who came?', { stream: true }))).text()
  t.match(text, /recogniser_unavailable/)
  t.notMatch(text, /Bob|DONE/)
  standIn.other = null
  t.match(await gateway.metrics(), /recogniser="presidio",result="timeout"\} 1/)
  t.notMatch(JSON.stringify(gateway.logs), new RegExp(SECRET))
})
