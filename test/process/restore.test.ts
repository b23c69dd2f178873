// Restores whole answers: the model sees placeholders, the client its own values, and the log
// placeholders.

import t from 'tap'
import { readText } from './client.ts'
import { ALICE, assertNoValueIsLeft, CARD, deployRestoring, KEY, model, PROMPT, say } from './restoring.ts'
import { completion, delta, events, json, stream } from './upstream.ts'

const AURORA = 'aurora.restored@example.com'

const deployment = await deployRestoring(t)
const { upstream, gateway, key, client, newest } = deployment

t.test('every text of every choice is restored, and the log keeps placeholders', async (t) => {
  const body = completion('To [EMAIL_1], card [CREDIT_CARD_1].', 'Not [EMAIL_2] nor [email_1]')
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'send', arguments: '{"to":"\\u005bEMAIL_1]"}' },
  }
  upstream.answer = json({
    ...body,
    choices: [
      {
        ...body.choices[0],
        message: {
          ...body.choices[0]?.message,
          reasoning: 'She is [EMAIL_1].',
          refusal: 'No [SECRET_1]',
          tool_calls: [call],
        },
        logprobs: { content: [{ token: 'To', logprob: 0, top_logprobs: [] }] },
      },
      body.choices[1],
    ],
  })
  const answer = await client.chat.completions.create({ model, messages: PROMPT })
  t.equal(
    upstream.received.at(-1)?.body,
    JSON.stringify({ model, messages: say('I am [EMAIL_1], card [CREDIT_CARD_1], key [SECRET_1]') }),
  )
  t.match(answer.choices, [
    {
      message: {
        content: `To ${ALICE}, card ${CARD}.`,
        reasoning: `She is ${ALICE}.`,
        refusal: `No ${KEY}`,
        tool_calls: [{ function: { arguments: JSON.stringify({ to: ALICE }) } }],
      },
      logprobs: null,
    },
    { message: { content: 'Not [EMAIL_2] nor [email_1]' } },
  ])
  const entry = await newest()
  t.match(entry, {
    pii_types: ['credit_card', 'email', 'secret'],
    rules: [{ name: 'give-back', action: 'restore' }],
    request: { messages: [{ content: 'I am [EMAIL_1], card [CREDIT_CARD_1], key [SECRET_1]' }] },
    response: {
      choices: [
        {
          message: {
            content: 'To [EMAIL_1], card [CREDIT_CARD_1].',
            reasoning: 'She is [EMAIL_1].',
            refusal: 'No [SECRET_1]',
            tool_calls: [{ function: { arguments: '{"to":"\\u005bEMAIL_1]"}' } }],
          },
          logprobs: null,
        },
        { message: { content: 'Not [EMAIL_2] nor [email_1]' } },
      ],
    },
  })
  const { body: report } = await gateway.api('GET', '/usage/security?limit=10')
  t.match(
    report.events.filter((one: { log_id: string }) => one.log_id === entry.id),
    [
      { type: 'rule_trigger', action: 'restore', rule_type: 'pii', injection: null },
      { type: 'pii_detection', direction: 'request', action: 'restore', rule_name: 'give-back' },
    ],
  )
})

t.test('a value that is new in the answer is redacted and not restored', async (t) => {
  upstream.answer = json(completion(`Ask bob.restored@example.org or [EMAIL_1], or write ${ALICE}.`))
  const answer = await client.chat.completions.create({ model, messages: PROMPT })
  t.equal(answer.choices[0]?.message.content, `Ask [EMAIL_2] or ${ALICE}, or write ${ALICE}.`)
  t.match(await newest(), {
    response: { choices: [{ message: { content: 'Ask [EMAIL_2] or [EMAIL_1], or write [EMAIL_1].' } }] },
  })
})

t.test('a restore rule for prompts restores only the values of the prompt', async (t) => {
  upstream.answer = json(completion('Call [PHONE_1] or +1 415 555 2671 now'))
  const answer = await client.chat.completions.create({
    model,
    messages: say('My phone is +1 212 555 0187'),
  })
  t.equal(answer.choices[0]?.message.content, 'Call +1 212 555 0187 or +1 415 555 2671 now')
  t.match(await newest(), {
    rules: [
      { name: 'phones-one-way', action: 'restore' },
      { name: 'phones-back', action: 'monitor' },
    ],
    response: { choices: [{ message: { content: 'Call [PHONE_1] or +1 415 555 2671 now' } }] },
  })
})

t.test('a forbidden word that a restored value completes blocks the answer', async (t) => {
  const prompt = say(`I am ${AURORA}`)
  upstream.answer = json(completion('The project [EMAIL_1] is on'))
  await t.rejects(client.chat.completions.create({ model, messages: prompt }), {
    status: 403,
    code: 'response_blocked_by_policy',
  })
  upstream.answer = stream('Well, the project [EMAIL_1] is on'.split(''))
  const answer = await client.chat.completions.create({ model, messages: prompt, stream: true })
  const { text, error } = await readText(answer)
  t.match(error, /no-aurora/)
  t.equal(text, 'Well, the ')
  t.match(await newest(), {
    outcome: 'blocked',
    blocked: true,
    response: { choices: [{ message: { content: 'Well, the ' } }] },
  })
})

t.test('errors keep placeholders, in whole answers and in streams', async (t) => {
  upstream.answer = json({ error: { message: 'Refused: [EMAIL_1]', type: 'x', code: null } }, 400)
  await t.rejects(client.chat.completions.create({ model, messages: PROMPT }), {
    message: /Refused: \[EMAIL_1\]/,
  })
  upstream.answer = json({ error: { message: 'Refused: [EMAIL_1]' } })
  t.match(await (await gateway.chat(key, { model, messages: PROMPT })).text(), /Refused: \[EMAIL_1\]/)
  upstream.answer = events(delta('Hi '), { error: { message: 'Broke at [EMAIL_1]' } })
  const broken = await (await gateway.chat(key, { model, messages: PROMPT, stream: true })).text()
  t.match(broken, /Broke at \[EMAIL_1\]/)
  t.notMatch(broken, ALICE)
})

t.test('an answer that restored values would make too large is an error of the upstream', async (t) => {
  const block = `-----BEGIN PRIVATE KEY-----\n${`${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(2)}\n`.repeat(150)}-----END PRIVATE KEY-----`
  const messages = say(`Keep it: ${block}`)
  for (const answer of [
    json(completion('[SECRET_1]\n'.repeat(2000))),
    stream(['[SECRET_1]\n'.repeat(2000)]),
  ]) {
    upstream.answer = answer
    const text = await (await gateway.chat(key, { model, messages })).text()
    t.match(text, /upstream_unavailable/)
    t.match(await newest(), { outcome: 'upstream_error' })
  }
})

t.test('the API accepts restore rules for prompts only', async (t) => {
  const rule = { name: 'api-restore', type: 'pii', pattern: 'iban', action: 'restore', enabled: true }
  const made = await gateway.api('POST', '/rules', rule)
  t.match(made, { status: 201, body: rule })
  t.match(await gateway.api('POST', '/rules', { ...rule, name: 'back', match: { direction: 'response' } }), {
    status: 400,
    body: { error: { param: 'match.direction' } },
  })
  const { body } = await gateway.api('POST', '/rules', { ...rule, name: 'words', type: 'keyword_block' })
  t.match(body.error.message, /`block`, `redact` or `monitor`/)
})

t.test('no restored value is in the store, the logs, the metrics or a request to the upstream', (t) =>
  assertNoValueIsLeft(t, deployment),
)
