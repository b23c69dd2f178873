// Candidate rules on the running process: counts and samples what they would change, and changes no
// call.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { deploy, openGateway, prompt, writeDeployment } from './gateway.ts'
import { eventually } from './until.ts'
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
t.test('candidate rules are counted and sampled, and decide nothing', async (t) => {
  const upstream = await startUpstream(json(completion('The weather is fine.')))
  const options = {
    upstreamUrl: upstream.baseUrl,
    rules: LIVE,
    config: { rules: { candidatePath: 'candidate.yaml' } },
  }
  const { folder } = writeDeployment(options)
  const file = join(folder, 'candidate.yaml')
  writeFileSync(file, CANDIDATE)
  t.teardown(() => upstream.close())
  const gateway = await openGateway(t, { ...options, folder })
  const report = async () => (await gateway.api('GET', '/rules/candidate')).body
  const { key } = await gateway.createKey()
  const fresh = await report()
  t.match(fresh, { path: file, rules: 5, errors: [], calls: 0, differences: [], samples: [] })
  t.match(fresh.revision, /^[0-9a-f]{16}$/)

  const ask = async (content: string) => {
    const response = await gateway.chat(key, prompt(content))
    return { id: response.headers.get('x-request-id'), status: response.status, text: await response.text() }
  }
  const blocked = await ask('about project aurora')
  const passed = await ask('about project borealis')
  const mail = await ask('write to jo@example.com')
  await ask('nothing special')
  t.same([blocked.status, passed.status, mail.status], [403, 200, 200], 'the rules in force decide')
  t.match(upstream.received.at(-2)?.body ?? '', /\[EMAIL_1\]/)
  t.notMatch(passed.text, 'blocked')

  const seen = await eventually('four calls are judged', report, ({ calls }) => calls === 4)
  const count = (rule: string, live: string, candidate: string) =>
    seen.differences.find(
      (each: any) => each.rule === rule && each.live === live && each.candidate === candidate,
    )?.calls ?? 0
  t.equal(count('names', 'block', 'monitor'), 1, 'a rule that would no longer block')
  t.equal(count('names', 'none', 'monitor'), 1, 'a rule that would match anew')
  t.equal(count('no-mail', 'none', 'block'), 1, 'findings count, although the text was redacted')
  t.equal(count('words', 'none', 'block'), 2, 'answers count too, except to a prompt that would be blocked')
  t.equal(count('tiny', 'none', 'block'), 0, 'token limits are not judged')
  t.equal(seen.changed, 4)
  const sample = seen.samples.find((each: any) => each.log_id === mail.id && each.rule === 'no-mail')
  t.match(sample, { direction: 'request', live: 'none', candidate: 'block' })
  t.notMatch(JSON.stringify(seen), /example\.com|borealis/, 'the report has no content')
  const metrics = await gateway.metrics()
  t.match(metrics, 'sidegate_candidate_calls_total{changed="true"} 4')
  t.match(metrics, 'sidegate_candidate_differences_total{rule="no-mail",live="none",candidate="block"} 1')
  t.equal(
    (await gateway.api('GET', `/usage/logs/${passed.id}`)).body.rules.length,
    0,
    'the entry has no candidate rules',
  )

  const tryRule = async (rule: object, more = {}) =>
    (await gateway.api('POST', '/rules/try', { rule: { action: 'block', ...rule }, ...more })).body
  const words = { name: 'words', type: 'keyword_block' }
  const borealis = await tryRule({ ...words, pattern: 'borealis' })
  t.match(borealis, {
    ...{ calls: 4, skipped: 0, fired: 1, stopped: 1, truncated: false },
    differences: [{ direction: 'request', live: 'none', candidate: 'block', calls: 1 }],
    samples: [{ log_id: passed.id, direction: 'request', live: 'none', candidate: 'block' }],
  })
  t.notMatch(JSON.stringify(borealis), /project/, 'the answer has no content')
  const both = { ...words, name: 'Names', pattern: 'aurora|weather' }
  t.match(await tryRule(both), { fired: 4, stopped: 3 }, 'in place of the rule of its name, in answers too')
  const mails = { name: 'no-mail', type: 'pii', pattern: 'email' }
  t.match(await tryRule(mails), { fired: 1, stopped: 1, samples: [{ log_id: mail.id }] })
  t.match(await tryRule(mails, { calls: 1 }), { calls: 1, fired: 0 })
  const models = { name: 'models', type: 'model_access', pattern: ['other-*'] }
  t.match(await tryRule(models), { calls: 4, fired: 4, stopped: 3 })
  for (const [rule, more, param] of [
    [{ name: 'l', type: 'rate_limit', pattern: '1/1d' }, {}, 'type'],
    [{ ...words, pattern: '(' }, {}, 'pattern'],
    [mails, { calls: 501 }, 'calls'],
    [mails, { limit: 1 }, 'limit'],
  ] as const)
    t.match(await tryRule(rule, more), { error: { param } })
  t.same((await gateway.api('GET', '/usage/logs')).body.total, 4, 'nothing is sealed or counted')
  const { rules } = (await gateway.api('GET', '/rules')).body
  t.notOk(rules.some(({ name }: any) => name === 'words'))
  t.match((await gateway.api('GET', `/rules/${rules[0].id}/history`)).body, {
    versions: [{ rule: { name: rules[0].name, pattern: rules[0].pattern } }],
  })
  t.equal((await gateway.api('GET', '/rules/unknown/history')).status, 404)

  writeFileSync(file, 'rules: [{ name: broken }]\n')
  const broken = await eventually('the error is reported', report, ({ errors }) => errors.length > 0)
  t.match(
    broken,
    { revision: fresh.revision, calls: 4, errors: [{ text: /candidate\.yaml:1/ }] },
    'the last good rules stay',
  )
  t.match((await gateway.readiness()).body, { ready: true })

  writeFileSync(file, LIVE)
  const same = await eventually(
    'the rules are reloaded',
    report,
    ({ revision }) => revision !== fresh.revision,
  )
  t.match(same, { calls: 0, differences: [], errors: [] }, 'counts restart')
  t.equal((await ask('about project aurora')).status, 403)
  t.match(await eventually('one call is judged', report, ({ calls }) => calls === 1), { changed: 0 })
})

t.test('without candidate rules the report answers 404 and names the setting', async (t) => {
  const { gateway } = await deploy(t)
  t.match(await gateway.api('GET', '/rules/candidate'), {
    status: 404,
    body: { error: { message: /candidatePath/ } },
  })
})
