// Rules on trial beside those in force, on the running process: counted, sampled, and without any effect on a call.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { discard, startGateway, writeDeployment } from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

const LIVE = `rules:
  - { name: names, type: keyword_block, pattern: project aurora, action: block, enabled: true }
  - { name: data, type: pii, pattern: "*", action: redact, enabled: true }
  - { name: budget, type: rate_limit, pattern: 1M/1d, action: block, enabled: true }
`
const CANDIDATE = `rules:
  - { name: names, type: keyword_block, pattern: project aurora|project borealis, action: monitor, enabled: true }
  - { name: data, type: pii, pattern: "*", action: redact, enabled: true }
  - { name: no-mail, type: pii, pattern: email, action: block, enabled: true }
  - { name: words, type: keyword_block, pattern: weather, action: block, enabled: true, match: { direction: response } }
  - { name: tiny, type: rate_limit, pattern: 1/1d, action: block, enabled: true }
`
const say = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] })

/** Asks until the answer is right: judging follows the answer, and reloading the file, in their own time. */
async function until<T>(ask: () => Promise<T>, isRight: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask()
    if (isRight(value)) return value
    await sleep(20)
  }
}

t.test('rules on trial', async (t) => {
  const upstream = await startUpstream(json(completion('The weather is fine.')))
  const options = {
    upstreamUrl: upstream.baseUrl,
    rules: LIVE,
    config: { rules: { candidatePath: 'candidate.yaml' } },
  }
  const { folder } = writeDeployment(options)
  const file = join(folder, 'candidate.yaml')
  writeFileSync(file, CANDIDATE)
  const gateway = await startGateway({ ...options, folder })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const report = async () => (await gateway.api('GET', '/rules/candidate')).body
  const { key } = await gateway.createKey()
  const fresh = await report()
  t.match(fresh, { path: file, rules: 5, errors: [], calls: 0, differences: [], samples: [] })
  t.match(fresh.revision, /^[0-9a-f]{16}$/)

  const told = async (content: string) => {
    const response = await gateway.chat(key, say(content))
    return { id: response.headers.get('x-request-id'), status: response.status, text: await response.text() }
  }
  const blocked = await told('about project aurora')
  const passed = await told('about project borealis')
  const mail = await told('write to jo@example.com')
  await told('nothing special')
  t.same([blocked.status, passed.status, mail.status], [403, 200, 200], 'the rules in force decide')
  t.match(upstream.received.at(-2)?.body ?? '', /\[EMAIL_1\]/)
  t.notMatch(passed.text, 'blocked')

  const seen = await until(report, ({ calls }) => calls === 4)
  const count = (rule: string, live: string, candidate: string) =>
    seen.differences.find(
      (each: any) => each.rule === rule && each.live === live && each.candidate === candidate,
    )?.calls ?? 0
  t.equal(count('names', 'block', 'monitor'), 1, 'would no longer block')
  t.equal(count('names', 'none', 'monitor'), 1, 'would fire anew')
  t.equal(count('no-mail', 'none', 'block'), 1, 'judged by what was found, though the text was redacted')
  t.equal(
    count('words', 'none', 'block'),
    2,
    'answers too, but not to a prompt that would not have been sent',
  )
  t.equal(count('tiny', 'none', 'block'), 0, 'token limits are left out')
  t.equal(seen.changed, 4)
  const sample = seen.samples.find((each: any) => each.log_id === mail.id && each.rule === 'no-mail')
  t.match(sample, { direction: 'request', live: 'none', candidate: 'block' })
  t.notMatch(JSON.stringify(seen), /example\.com|borealis/, 'no content')
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  t.match(metrics, 'sidegate_candidate_calls_total{changed="true"} 4')
  t.match(metrics, 'sidegate_candidate_differences_total{rule="no-mail",live="none",candidate="block"} 1')
  t.equal(
    (await gateway.api('GET', `/usage/logs/${passed.id}`)).body.rules.length,
    0,
    'nothing is sealed of it',
  )

  writeFileSync(file, 'rules: [{ name: broken }]\n')
  const broken = await until(report, ({ errors }) => errors.length > 0)
  t.match(
    broken,
    { revision: fresh.revision, calls: 4, errors: [{ text: /candidate\.yaml:1/ }] },
    'last good',
  )
  t.match(await (await fetch(`${gateway.opsUrl}/readyz`)).json(), { ready: true })

  writeFileSync(file, LIVE)
  const same = await until(report, ({ revision }) => revision !== fresh.revision)
  t.match(same, { calls: 0, differences: [], errors: [] }, 'counts begin anew')
  t.equal((await told('about project aurora')).status, 403)
  t.match(await until(report, ({ calls }) => calls === 1), { changed: 0 })
})

t.test('without rules on trial', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  t.match(await gateway.api('GET', '/rules/candidate'), {
    status: 404,
    body: { error: { message: /candidatePath/ } },
  })
})
