// Names by which an app tells its end users apart, as the provider sees them.

import t from 'tap'
import { openGateway } from './gateway.ts'
import { message, textBlock } from './messages-upstream.ts'
import { responseOf } from './responses-upstream.ts'
import { fetchInTime } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const RULES = `
rules:
  - { name: numbers-pass, type: pii, pattern: phone, action: allow, enabled: true }
`
const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: RULES })
const { key } = await gateway.createKey()

async function sent(path: string, body: object): Promise<any> {
  const answer = await fetchInTime(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...body }),
  })
  t.equal(answer.status, 200)
  await answer.text()
  return JSON.parse(upstream.received.at(-1)!.body)
}
const say = (content: string) => [{ role: 'user', content }]

t.test('one person has one name on every call, and two have two', async (t) => {
  upstream.answer = json(completion('ok'))
  const chat = (user: string, content = 'hi') =>
    sent('/v1/chat/completions', { user, messages: say(content) })
  const ann = await chat('ann@example.com')
  t.match(ann.user, /^id-[0-9a-f]{32}$/)
  t.equal((await chat('ann@example.com', 'I am carl@example.com')).user, ann.user)
  t.not((await chat('bob@example.com')).user, ann.user)
  t.equal((await chat('customer-7')).user, 'customer-7', 'a name without personal data stays')
  t.equal((await chat('+1 415 555 2671')).user, '+1 415 555 2671', 'so does what a rule allows')
  t.equal(
    (await chat('ann@example.com', 'I am ann@example.com')).messages[0].content,
    'I am [EMAIL_1]',
    'the prompt has numbers',
  )
})

t.test('every API hides its names of users, sessions and caches', async (t) => {
  upstream.answer = json(responseOf())
  const names = { safety_identifier: 'ann@example.com', prompt_cache_key: 'chat of bob@example.com' }
  const first = await sent('/v1/responses', { input: 'hi', ...names })
  const later = await sent('/v1/responses', { input: 'hi again, carl@example.com', ...names })
  for (const name of ['safety_identifier', 'prompt_cache_key']) {
    t.match(first[name], /^id-[0-9a-f]{32}$/)
    t.equal(later[name], first[name])
  }
  t.not(first.safety_identifier, first.prompt_cache_key)
  upstream.answer = json(message(textBlock('ok')))
  const body = { max_tokens: 9, messages: say('hi'), metadata: { user_id: 'ann@example.com' } }
  t.equal((await sent('/v1/messages', body)).metadata.user_id, first.safety_identifier)
})
