// The console in a real browser, from the first sign-in to the revoked key.

import OpenAI from 'openai'
import t from 'tap'
import { ADMIN_TOKEN, openGateway, prompt, UPSTREAM_KEY } from '../process/gateway.ts'
import { eventually, fetchInTime } from '../process/until.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'
import { openBrowser, openConsole, signIn } from './browser.ts'

t.setTimeout(300_000)

const RULES = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block }
  - { name: redact, type: pii, pattern: "*", action: redact }
  - { name: batch-models, type: model_access, pattern: ["gpt-*"], action: block, match: { labels: { team: batch } } }
  - { name: team-budget, type: rate_limit, pattern: "100 requests/1mo", per: "label:team", action: block, match: { labels: { team: batch } } }
`
/** All files of the page, compressed. */
const MAXIMUM_WIRE_BYTES = 75_000
const VIEWER_TOKEN = 'a-token-of-a-viewer-for-tests'

const upstream = await startUpstream(json(completion('the answer')))
t.teardown(() => upstream.close())
const browser = await openBrowser(t)
const gateway = await openGateway(t, {
  upstreamUrl: upstream.baseUrl,
  rules: RULES,
  config: {
    passThrough: [{ path: '/v1/files', methods: ['GET'] }],
    admin: { tokens: [{ name: 'vera', role: 'viewer', token: { env: 'VIEWER_TOKEN' } }] },
  },
  env: { VIEWER_TOKEN },
})

t.test('a key is made, used, proved, and revoked, and a rule is switched off for an hour', async (t) => {
  const { page, faults } = await openConsole(browser, gateway)
  await signIn(page)
  t.equal(new URL(page.url()).pathname, '/console/overview')

  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('button', { name: 'Create a key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('billing')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const key = await page.getByLabel('API key', { exact: true }).inputValue()
  t.match(key, /^sgate_live_/)
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('row', { name: /billing/ }).waitFor()
  t.notMatch(await page.content(), key, 'the key is shown once')

  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0, fetch: fetchInTime })
  const say = (content: string) =>
    client.chat.completions.create({ model: 'm/model', messages: [{ role: 'user', content }] })
  t.equal((await say('write to bob@example.com')).choices[0]?.message.content, 'the answer')

  await page.getByRole('link', { name: 'Usage log' }).click()
  const row = page.getByRole('row', { name: /billing m\/model/ })
  await row.waitFor()
  t.match(await row.innerText(), /ok 200[\s\S]*email/)
  await row.click()
  await page.getByRole('dialog').getByText('write to [EMAIL_1]').waitFor()
  await page.getByRole('button', { name: 'Show the proof' }).click()
  await page.getByText('Proved: the entry is in the signed log.').waitFor()
  t.equal(await page.getByText('✓').count(), 5)

  await page.route('**/audit/receipts/*', async (route) => {
    const response = await route.fetch()
    const text = await response.text()
    await route.fulfill({ response, body: text.replace('m/model', 'm/other') })
  })
  await page.reload()
  await page.getByRole('button', { name: 'Show the proof' }).click()
  await page.getByText('Not proved: a step failed.').waitFor()
  await page.getByRole('dialog').getByText('✗ The entry has the hash').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByRole('textbox', { name: 'Prompt' }).fill('About Project Aurora, mail bob@example.com')
  await page.getByRole('button', { name: 'Evaluate' }).click()
  await page.getByText('Decision: block').waitFor()
  t.match(await page.locator('mark').innerText(), 'bob@example.com')
  await page.getByRole('button', { name: 'Disable no-aurora' }).click()
  await page.getByLabel('Reason').fill('incident 12')
  await page.getByRole('button', { name: 'Disable', exact: true }).click()
  await page.getByText('disabled by override for 60 min').waitFor()
  await page
    .getByRole('row', { name: /no-aurora/ })
    .getByText('changed by admin')
    .waitFor()
  await page.getByRole('button', { name: 'Evaluate' }).click()
  await page.getByText('Decision: allow').waitFor()
  await page.getByRole('link', { name: 'Audit' }).click()
  t.match(await page.getByRole('row', { name: /rule override/ }).innerText(), /admin[\s\S]*incident 12/)

  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('button', { name: 'Revoke billing' }).click()
  const revoke = page.getByRole('button', { name: 'Revoke', exact: true })
  t.equal(await revoke.isDisabled(), true, 'the name must be typed first')
  await page.getByLabel('Type the name of the key').fill('billing')
  await revoke.click()
  await page
    .getByRole('row', { name: /billing/ })
    .getByText('revoked')
    .waitFor()
  await t.rejects(say('more'), /401/)
  t.strictSame(faults, [])
})

t.test('whoever revokes a rotated key is offered the older one that still works', async (t) => {
  const { page, faults } = await openConsole(browser, gateway)
  await signIn(page)
  const rotated = async (name: string) => {
    const { id, key } = await gateway.createKey(name)
    const { body } = await gateway.api('POST', `/keys/${id}/rotate`, { grace_seconds: 3600 })
    return { older: key, newer: body.key as string }
  }
  const statusOf = async (key: string) => (await gateway.chat(key, prompt('hi'))).status
  const offer = page.getByLabel('Also revoke the older key that still works')
  for (const [name, takesOffer] of [
    ['kept', false],
    ['both', true],
  ] as const) {
    const { older, newer } = await rotated(name)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page
      .getByRole('button', { name: `Revoke ${name}` })
      .last()
      .click()
    if (takesOffer) await offer.check()
    else t.equal(await offer.isChecked(), false)
    await page.getByLabel('Type the name of the key').fill(name)
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.strictSame([await statusOf(newer), await statusOf(older)], [401, takesOffer ? 401 : 200], name)
  }
  t.strictSame(faults, [])
})

t.test(
  'a key shows what is in force for it by the code that decides, and its terms are changed',
  async (t) => {
    const hostile = '"><img src=x onerror=alert(1)>'
    const { page, faults } = await openConsole(browser, gateway, '/console/keys')
    await signIn(page)
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('nightly')
    await dialog.getByLabel('Owner').fill(hostile)
    await dialog.getByRole('button', { name: 'Add a label' }).click()
    await dialog.getByLabel('Name of label 1').fill('team')
    await dialog.getByLabel('Value of label 1').fill('batch')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    const key = await page.getByLabel('API key', { exact: true }).inputValue()
    await page.getByRole('button', { name: 'Close' }).click()
    await (await gateway.chat(key, { ...prompt('hi'), model: 'claude' })).text()
    await (await gateway.chat(key, { ...prompt('hi'), model: 'gpt-5' })).text()
    await page.getByRole('link', { name: 'nightly' }).click()
    await page.getByRole('heading', { name: 'nightly' }).waitFor()
    const models = page.getByRole('region', { name: 'Models' })
    t.match(await models.innerText(), /gpt-\* by the rule batch-models/)
    const limits = page.getByRole('region', { name: 'Limits' })
    t.match(
      await limits.innerText(),
      /team-budget team = batch\n+1 requests of 100 requests used this month, 99 requests left · resets \d{4}-\d\d-01/,
    )
    const refused = page.getByRole('table').first()
    t.match(await refused.innerText(), /refused 403\s+claude\s+batch-models: block/)
    await page.getByRole('button', { name: 'Edit nightly' }).click()
    t.equal(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), true, 'nothing was edited')
    await dialog.getByLabel('Models').fill('gpt-5, !gpt-5-pro')
    await dialog.getByLabel('Calls at a time').fill('3')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('3 calls at a time').waitFor()
    t.match(await models.innerText(), /has to be allowed by each of these lists/)
    t.match(await models.innerText(), /gpt-5\n+!gpt-5-pro\n+gpt-\* by the rule batch-models/)
    await page.getByRole('cell', { name: 'key changed' }).waitFor()
    t.equal(await page.locator('main img').count(), 0)
    t.strictSame(faults, [])
  },
)

t.test('keys are found by a search, a state and a label, and shown page by page', async (t) => {
  for (let n = 0; n < 60; n++)
    await gateway.api('POST', '/keys', { name: `many-${n}`, labels: { fleet: 'many' } })
  const { page, faults } = await openConsole(browser, gateway, '/console/keys?label=fleet')
  await signIn(page)
  await page.getByText('1–50 of 60 keys').waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('51–60 of 60 keys').waitFor()
  await page.getByRole('row', { name: /many-59/ }).waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.getByText('1–50 of 60 keys').waitFor()
  await page.getByLabel('Search').fill('MANY-42')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByText('1 keys').waitFor()
  t.match(await page.getByRole('row').nth(1).innerText(), 'many-42')
  await page.getByLabel('State').selectOption('revoked')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByText('No key matches.').waitFor()
  t.match(page.url(), /q=MANY-42&state=revoked&label=fleet$/)
  t.strictSame(faults, [])
})

t.test('a receipt of an answer is verified when it is pasted', async (t) => {
  const { key } = await gateway.createKey('receipts')
  const answer = await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  await answer.text()
  const { page, faults } = await openConsole(browser, gateway, '/console/audit')
  await signIn(page)
  await page.getByLabel(/The header x-sidegate-audit/).fill(answer.headers.get('x-sidegate-audit') ?? '')
  const proved = page.getByText(/Proved: the entry is in the signed log/)
  // A checkpoint for a fresh receipt is signed at once, every few seconds at most.
  const click = async () => {
    await page.getByRole('button', { name: 'Verify', exact: true }).click()
    return proved.waitFor({ timeout: 1000 }).then(
      () => true,
      () => false,
    )
  }
  t.ok(await eventually('a fresh receipt is proved', click, (isProved) => isProved, 20_000))
  const path = `/v1/audit/receipts/${answer.headers.get('x-request-id')}`
  const ask = () => fetchInTime(gateway.url + path, { headers: { authorization: `Bearer ${key}` } })
  // A checkpoint is signed on request every few seconds at most.
  const found = await eventually('a checkpoint covers the call', ask, ({ status }) => status === 200)
  const receipt = await found.text()
  const pasted: [string, RegExp][] = [
    [receipt, /Proved: the entry is in the signed log/],
    [answer.headers.get('x-sidegate-audit') ?? '', /Proved: the entry is in the signed log/],
    [receipt.replace('"hash":"sha256:', '"hash":"sha256:0'), /Not proved/],
    ['nonsense', /neither a receipt document nor/],
  ]
  for (const [text, expected] of pasted) {
    await page.getByLabel(/The header x-sidegate-audit/).fill(text)
    await page.getByRole('button', { name: 'Verify', exact: true }).click()
    await page.getByText(expected).waitFor()
    t.pass(String(expected))
  }
  await page.getByRole('button', { name: 'Verify the whole log' }).click()
  await page.getByText(/Intact: \d+ entries/).waitFor()
  t.strictSame(faults, [])
})

t.test('a viewer sees no button that would be refused, and no captured text', async (t) => {
  const { key } = await gateway.createKey('texts')
  const answer = await gateway.chat(key, {
    model: 'm',
    messages: [{ role: 'user', content: 'a quiet word' }],
  })
  await answer.text()
  const { page, faults } = await openConsole(browser, gateway, '/console/keys?q=texts')
  await signIn(page, VIEWER_TOKEN)
  await page.getByRole('row', { name: /texts/ }).waitFor()
  for (const [path, forbidden] of [
    ['keys', /Create|Rotate|Revoke/],
    ['rules', /New rule|Disable|Enable/],
    ['audit', /Verify the whole log|Export/],
  ] as const) {
    await page.goto(`${gateway.url}/console/${path}`)
    await page.getByRole('table').first().waitFor()
    t.equal(await page.getByRole('button', { name: forbidden }).count(), 0, path)
  }
  await page.goto(`${gateway.url}/console/log?entry=${answer.headers.get('x-request-id')}`)
  await page.getByText('The texts of calls are shown to auditors and above.').waitFor()
  t.notMatch(await page.content(), 'a quiet word')
  t.strictSame(faults, [])
})

t.test('a session that ends under a form keeps what was typed, and the page goes on', async (t) => {
  const { page, faults } = await openConsole(browser, gateway, '/console/rules')
  await signIn(page)
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('half-typed')
  await page.context().clearCookies()
  await page.getByText('Your session has ended').waitFor()
  await page.keyboard.press('Escape')
  const asked = page.getByRole('dialog', { name: 'Your session has ended' })
  t.equal(await asked.count(), 1, 'the question stays')
  await signIn(page, ADMIN_TOKEN, () => asked.getByRole('button', { name: 'Sign in' }).click())
  await asked.waitFor({ state: 'detached' })
  t.equal(await page.getByRole('dialog').getByLabel('Name').inputValue(), 'half-typed')
  t.equal(new URL(page.url()).pathname, '/console/rules')
  t.strictSame(faults, [])
})

t.test("the first load leaves no error in the browser's log, signed out and signed in", async (t) => {
  const { page, errors } = await openConsole(browser, gateway)
  await page.getByLabel('Admin token').waitFor()
  await signIn(page)
  for (const name of ['overview', 'log', 'security', 'rules', 'keys', 'usage', 'audit', 'settings']) {
    await page.goto(`${gateway.url}/console/${name}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  }
  t.strictSame(errors, [])
  const sizes = await Promise.all(
    ['', 'console.js', 'console.css', 'icon.svg'].map(async (name) => {
      const headers = { 'accept-encoding': 'gzip' }
      const answer = await fetchInTime(`${gateway.url}/console/${name}`, { method: 'HEAD', headers })
      return Number(answer.headers.get('content-length'))
    }),
  )
  const total = sizes.reduce((sum, size) => sum + size, 0)
  t.ok(sizes.every((size) => size > 0) && total <= MAXIMUM_WIRE_BYTES, `${total} bytes on the wire`)
})

t.test('a language that no formatter knows shows the page', async (t) => {
  const { page, faults } = await openConsole(browser, gateway, '/nowhere')
  faults.length = 0
  await page.addInitScript(
    'Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true })',
  )
  await page.goto(`${gateway.url}/console/overview`)
  await signIn(page)
  await page.getByRole('slider', { name: 'Requests over time' }).waitFor()
  t.strictSame(faults, [])
})

t.test('an exception of a page is shown in its place, and the page can be tried again', async (t) => {
  const { page } = await openConsole(browser, gateway, '/console/audit')
  await signIn(page)
  const link = page.getByRole('link', { name: 'Overview' })
  await link.waitFor()
  await page.route('**/api/v1/status', (route) => route.fulfill({ json: { store: {} } }))
  await link.click()
  await page.getByRole('heading', { name: 'This page failed' }).waitFor()
  t.match(await page.getByRole('alert').innerText(), /TypeError/)
  await page.unroute('**/api/v1/status')
  await page.getByRole('button', { name: 'Show the page again' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
})

t.test('times are in the zone that the page names, and the reader can choose UTC', async (t) => {
  const options = { timezoneId: 'America/Los_Angeles' }
  const { page } = await openConsole(browser, gateway, '/console/usage?period=7', options)
  await signIn(page)
  const chart = page.getByRole('slider', { name: 'Tokens by day over time' })
  await chart.waitFor()
  t.equal(await page.locator('figcaption .muted').first().innerText(), '', 'no caption without a pointer')
  await chart.focus()
  await page.keyboard.press('End')
  const today = new Date().toISOString().slice(0, 10)
  t.match(await chart.getAttribute('aria-valuetext'), `${today} UTC: tokens`, 'a day of UTC west of it')
  await page.goto(`${gateway.url}/console/log`)
  const time = page.locator('.grid-row time').first()
  t.match(await time.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d −0[78]:00$/)
  await page.getByLabel('Times in').selectOption('UTC')
  t.match(await time.innerText(), / UTC$/)
  await page.reload()
  t.match(await time.innerText(), / UTC$/, 'the choice stays')
})

t.test('on a phone the header is one line, and rows are cards with the titles of columns', async (t) => {
  const { page } = await openConsole(browser, gateway, '/console/rules', {
    viewport: { width: 390, height: 800 },
  })
  await signIn(page, ADMIN_TOKEN)
  t.ok((await page.locator('header.top').boundingBox())!.height < 60)
  const cell = page.getByRole('cell').first()
  t.equal(await cell.evaluate('getComputedStyle(document.querySelector("td"), "::before").content'), '"Rule"')
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('link', { name: 'Usage log' }).click()
  await page.locator('.grid-row[id] .key').first().waitFor()
  t.equal(await page.getByRole('button', { name: 'Menu' }).getAttribute('aria-expanded'), 'false')
})

t.test('a wrong token and a rule that the API rejects show the reason at the field', async (t) => {
  const { page } = await openConsole(browser, gateway, '/console/rules')
  await page.getByLabel('Admin token').fill('a-wrong-token-of-nobody')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The admin token is wrong.').waitFor()
  await signIn(page)
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByLabel('Name').fill('broken')
  await page.getByRole('textbox', { name: 'Pattern', exact: true }).fill('(')
  await page.getByRole('button', { name: 'Create' }).click()
  const field = page.locator('.field', { has: page.getByRole('textbox', { name: 'Pattern', exact: true }) })
  await field.getByRole('alert').waitFor()
  t.match(await field.getByRole('alert').innerText(), /pattern|expression|paren/i)
})

t.test('the form of a rule has a list or a text, and an action only where its type has one', async (t) => {
  const { page } = await openConsole(browser, gateway, '/console/rules')
  await signIn(page)
  const create = async (name: string, type: string, pattern: string) => {
    await page.getByRole('button', { name: 'New rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Type').selectOption(type)
    await dialog.getByRole('textbox', { name: 'Pattern', exact: true }).fill(pattern)
    const hasAction = (await dialog.getByLabel('Action').count()) === 1
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('cell', { name, exact: true }).waitFor()
    return hasAction
  }
  t.equal(await create('listed-models', 'model_access', 'gpt-*\n!gpt-secret\n'), true)
  t.equal(await create('no-texts', 'capture', 'metadata'), false)
  const { rules } = (await gateway.api('GET', '/rules')).body
  const declared = new Map(
    rules.map(({ name, pattern, action }: Record<string, unknown>) => [name, [pattern, action]]),
  )
  for (const { id, source } of rules) if (source.kind === 'api') await gateway.api('DELETE', `/rules/${id}`)
  t.strictSame(declared.get('listed-models'), [['gpt-*', '!gpt-secret'], 'block'])
  t.strictSame(declared.get('no-texts'), ['metadata', undefined])
})

t.test('the form of a rule says which calls it is for, as far as its type can', async (t) => {
  const { page } = await openConsole(browser, gateway, '/console/rules')
  await signIn(page)
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog')
  const asks = async () =>
    Promise.all(
      ['Per', 'Direction', 'Parts'].map((label) =>
        dialog
          .getByLabel(label, { exact: true })
          .or(dialog.locator('.field', { hasText: new RegExp(`^${label}`) }).getByRole('combobox'))
          .count(),
      ),
    )
  await dialog.getByRole('textbox', { name: 'Pattern', exact: true }).waitFor()
  t.strictSame(await asks(), [0, 1, 1], 'keywords')
  await dialog.getByLabel('Direction').selectOption('response')
  await dialog.getByLabel('Type').selectOption('rate_limit')
  t.strictSame(await asks(), [1, 0, 0], 'limits')
  await dialog.getByLabel('Name').fill('search-budget')
  await dialog.getByRole('textbox', { name: 'Pattern', exact: true }).fill('20 USD/1d')
  await dialog.getByLabel('Models').fill('gpt-*, o?')
  await dialog.getByLabel('Keys').fill('batch-*')
  await dialog.getByLabel('Labels').fill('team=search')
  await dialog.getByLabel('Per', { exact: true }).fill('team')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.locator('.field', { hasText: /^Per/ }).getByRole('alert').waitFor()
  await dialog.getByLabel('Per', { exact: true }).fill('label:team')
  await dialog.getByRole('button', { name: 'Create' }).click()
  const row = page.getByRole('row', { name: /search-budget/ })
  await row.waitFor()
  t.match(await row.innerText(), /per label:team[\s\S]*Only models gpt-\*, o\?; keys batch-\*; team=search/)
  const { rules } = (await gateway.api('GET', '/rules')).body
  const made = rules.find(({ name }: { name: string }) => name === 'search-budget')
  await gateway.api('DELETE', `/rules/${made.id}`)
  t.match(made, {
    per: 'label:team',
    match: { models: ['gpt-*', 'o?'], keys: ['batch-*'], labels: { team: 'search' } },
  })
})

t.test(
  'a rule is tried on past calls, shown as YAML, saved with its description, and has a history',
  async (t) => {
    const hostile = '<img src=x onerror=alert(9)>'
    const { key } = await gateway.createKey('tried')
    await (await gateway.chat(key, prompt('the blue heron flies'))).text()
    const { page, faults } = await openConsole(browser, gateway, '/console/rules')
    await signIn(page)
    await page.getByRole('button', { name: 'New rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('no-heron')
    await dialog.getByRole('textbox', { name: 'Pattern', exact: true }).fill('blue heron')
    await dialog.getByLabel('Description').fill(hostile)
    await dialog.getByLabel('Keys').fill('tried')
    await dialog.getByRole('button', { name: 'Try the rule' }).click()
    await dialog.getByText(/It fires on 1 of \d+ calls, and stops 1 that nothing stopped/).waitFor()
    t.match(await dialog.getByRole('status').innerText(), /tried m: none → block/)
    await dialog.getByLabel('Description').fill('another')
    await dialog.getByRole('status').waitFor({ state: 'detached' })
    await dialog.getByLabel('Description').fill(hostile)
    const widest = await dialog
      .getByLabel(/^On the last/)
      .locator('option')
      .last()
      .innerText()
    await dialog.getByLabel(/^On the last/).selectOption(widest)
    await dialog.getByRole('button', { name: 'Try the rule' }).click()
    await dialog.getByText(/It fires on 1 of \d+ calls/).waitFor()
    await dialog.getByText('As YAML, to commit').click()
    t.match(
      await dialog.locator('pre').innerText(),
      /^- name: "no-heron"\n {2}type: "keyword_block"[\s\S]*keys: \["tried"\]/,
    )
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page
      .getByRole('row', { name: /no-heron/ })
      .getByText(hostile)
      .waitFor()
    await page.getByRole('button', { name: 'History no-heron' }).click()
    await dialog.getByText('pattern: "blue heron"').waitFor()
    await dialog.getByRole('cell', { name: 'rule created' }).waitFor()
    const { rules } = (await gateway.api('GET', '/rules')).body
    const made = rules.find(({ name }: { name: string }) => name === 'no-heron')
    await gateway.api('DELETE', `/rules/${made.id}`)
    t.match(made, { description: hostile, match: { keys: ['tried'] } })
    t.equal(await page.locator('main img, dialog img').count(), 0)
    t.strictSame(faults, [])
  },
)

t.test(
  'the drawer of a call that passed says that nothing was scanned, where it went, and how much',
  async (t) => {
    const { key } = await gateway.createKey('files')
    const answer = await fetchInTime(`${gateway.url}/v1/files?limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { length } = await answer.text()
    const id = answer.headers.get('x-request-id')
    const { page } = await openConsole(browser, gateway, `/console/log?entry=${id}`)
    await signIn(page)
    await page.getByText('Passed unscanned').waitFor()
    const text = await page.getByRole('dialog').innerText()
    t.match(text, /Passed unscanned/)
    t.match(text, /GET \/v1\/files\n/)
    t.match(text, new RegExp(`0 B sent, ${length} B received`))
  },
)

t.test('the log is filtered on one line, by labels and rules too, and the list is saved', async (t) => {
  const { rules } = (await gateway.api('GET', '/rules')).body
  const { id } = rules.find(({ name }: { name: string }) => name === 'no-aurora')
  await gateway.api('PATCH', `/rules/${id}`, { enabled: true, reason: 'the incident is over' })
  const team = '=cmd|"<b>x</b>'
  const { body } = await gateway.api('POST', '/keys', { name: 'filtered', labels: { team } })
  const ids: string[] = []
  for (const content of ['mail bob@example.com', 'About Project Aurora']) {
    const answer = await gateway.chat(body.key, { ...prompt(content), model: 'sieve' })
    await answer.text()
    ids.push(answer.headers.get('x-request-id') ?? '')
  }
  const { page, faults } = await openConsole(browser, gateway, '/console/log')
  await signIn(page)
  const add = async (name: string, value: string) => {
    await page.getByLabel('Filter by').selectOption({ label: name })
    const form = page.getByRole('form', { name: 'Filters' })
    if (name === 'Outcome') await form.getByLabel(name, { exact: true }).selectOption(value)
    else await form.getByLabel(name, { exact: true }).fill(value)
    await page.getByRole('button', { name: 'Add filter' }).click()
  }
  await add('Label', `team=${team}`)
  await page.getByText('2 calls').waitFor()
  await add('Key', 'filtered')
  await page.getByText('Key: filtered').waitFor()
  await add('Rule', 'no-aurora')
  await page.getByText('1 call').waitFor()
  t.match(await page.getByRole('row').nth(1).innerText(), /filtered[\s\S]*sieve[\s\S]*blocked/)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV of this list' }).click()
  t.match((await download).suggestedFilename(), /^sidegate-log-\d{4}-\d\d-\d\d\.csv$/)
  const lines: string[] = []
  for await (const chunk of await (await download).createReadStream()) lines.push(String(chunk))
  t.match(lines.join(''), /^id,created_at,key_id[\s\S]*filtered,"team==cmd\|""<b>x<\/b>"/)
  t.equal(lines.join('').trim().split('\n').length, 2)
  await page.getByRole('button', { name: 'Remove the filter Rule' }).click()
  await page.getByText('2 calls').waitFor()
  await add('Outcome', 'blocked')
  await page.getByText('1 call').waitFor()
  await add('Request id', ids[1]!)
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Decided by').waitFor()
  t.match(await dialog.innerText(), /Decided by\nno-aurora[\s\S]*Labels\nteam: =cmd\|"<b>x<\/b>/)
  await page.goto(`${gateway.url}/console/log?entry=${ids[0]}`)
  await dialog.getByText('Request id').waitFor()
  t.match(await dialog.innerText(), /Upstream\ndefault\s+Attempts\n1 sent upstream/)
  t.equal(await dialog.locator('mark').first().innerText(), '[EMAIL_1]')
  t.strictSame(faults, [])
})

t.test('usage is grouped by a label, refused apart from blocked, beside the time before', async (t) => {
  const team = '<script>alert(1)</script>'
  const { body } = await gateway.api('POST', '/keys', { name: 'grouped', labels: { team }, models: ['none'] })
  await (await gateway.chat(body.key, { ...prompt('hi'), model: 'gpt-5' })).text()
  const batch = (await gateway.api('POST', '/keys', { name: 'counted', labels: { team: 'batch' } })).body
  await (await gateway.chat(batch.key, { ...prompt('hi'), model: 'gpt-5' })).text()
  const { page, faults } = await openConsole(browser, gateway, '/console/usage')
  await signIn(page)
  await page.getByRole('combobox', { name: /^By/ }).selectOption('label:team')
  const row = page.getByRole('row', { name: team })
  await row.waitFor()
  t.match((await row.innerText()).split(/\s*\t\s*/), [team, '1', '1', '0', '0', '0'], 'refused, not blocked')
  await page.getByLabel('Compare').check()
  await page.getByText(/^Compared with .* as long a time\.$/).waitFor()
  t.match(page.url(), /by=label%3Ateam&period=month&compare=1$/)
  const budget = page.locator('.limit', { hasText: 'team-budget' }).first()
  t.match(
    await budget.innerText(),
    /team = batch[\s\S]*used this month, \d+ requests left · resets \d{4}-\d\d-01/,
  )
  t.equal(await budget.getByRole('meter').count(), 1)
  await row.getByRole('link').click()
  await page.getByText('1 call').waitFor()
  t.match(page.url(), /label=team%3D%3Cscript%3E/)
  t.strictSame(faults, [])
})

t.test(
  'security lists one row a call, filtered by cause, with refused keys among those with events',
  async (t) => {
    const { body } = await gateway.api('POST', '/keys', { name: 'stopped', models: ['none'] })
    await (await gateway.chat(body.key, { ...prompt('mail bob@example.com'), model: 'gpt-5' })).text()
    const { page, faults } = await openConsole(browser, gateway, '/console/security')
    await signIn(page)
    t.match(await page.getByRole('figure').nth(1).innerText(), /Refused by limits, models, tools: [1-9]/)
    const keys = page.getByRole('region', { name: 'Keys with events' })
    const names = await keys.getByRole('listitem').count()
    await keys.getByRole('heading', { name: `Keys with events: ${names}` }).waitFor()
    await keys.getByRole('button', { name: 'stopped' }).click()
    await page.getByText('Key: stopped').waitFor()
    await page.getByText('1 calls').waitFor()
    t.match(await page.getByRole('row').nth(1).innerText(), /refused 403\s+stopped\s+gpt-5\s+email/)
    await page
      .getByRole('region', { name: 'Kinds of personal data' })
      .getByRole('button', { name: 'email' })
      .click()
    await page.getByText('Personal data of kind: email').waitFor()
    await page.getByRole('row').nth(1).waitFor()
    t.equal(await page.getByRole('row').count(), 2)
    t.strictSame(faults, [])
  },
)

t.test('the overview answers by tiles, each of which leads to its list', async (t) => {
  const name = '<svg onload=alert(1)>'
  const { body } = await gateway.api('POST', '/keys', { name, models: ['none'], labels: { team: name } })
  await (await gateway.chat(body.key, { ...prompt('mail bob@example.com'), model: 'gpt-5' })).text()
  const { page, faults } = await openConsole(browser, gateway, '/console/overview')
  await signIn(page)
  const tiles = page.locator('.tiles')
  await tiles.getByText('Refused').waitFor()
  t.match(
    await tiles.innerText(),
    /Requests\s+\d+[\s\S]*Refused\s+[1-9][\s\S]*Cost this month\s+[$–][\s\S]*p50 \/ p95/,
  )
  const events = page.getByRole('region', { name: 'Newest security events' })
  await events.getByText(name).first().waitFor()
  for (const region of ['Top keys', 'Top models', 'Budgets over 80 %', 'Upstreams'])
    t.equal(await page.getByRole('region', { name: region }).count(), 1, region)
  await tiles.getByRole('link', { name: /^Refused/ }).click()
  await page.getByText('Stopped: refused').waitFor()
  await page
    .getByRole('row', { name: /refused 403/ })
    .first()
    .waitFor()
  t.equal(await page.getByRole('row', { name: /ok 200|blocked 403/ }).count(), 0)
  await page.goBack()
  await tiles
    .getByText(/Requests[\s\S]*since \d{4}-/)
    .first()
    .waitFor()
  const hrefOf = (tile: RegExp) => tiles.getByRole('link', { name: tile }).getAttribute('href')
  t.match(await hrefOf(/^Errors/), /outcome=upstream_error%2Cinvalid_request%2C/)
  t.match(await hrefOf(/^Cost today/), /period=1$/)
  await tiles.getByRole('link', { name: /^Requests/ }).click()
  await page.getByRole('heading', { name: 'Usage log' }).waitFor()
  t.match(page.url(), /since=.*until=/)
  t.strictSame(faults, [])
})

t.test('a page that is left open over midnight asks for the new day', async (t) => {
  const { page, faults } = await openConsole(browser, gateway, '/console/overview')
  await page.clock.install()
  await signIn(page)
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const asked = page.waitForRequest((request) => request.url().includes(`month&since=${tomorrow}`))
  await page.locator('.tiles').getByText('Cost today').waitFor()
  await page.clock.fastForward('24:00:00')
  await asked
  t.strictSame(faults, [])
})

t.test('settings show all that a price sets', async (t) => {
  const tokens = { input: 3, cached_input: 0.3, cache_write: 3.75, cache_write_1h: 3.75, audio_input: 3 }
  const usual = { ...tokens, output: 15, reasoning: 12, audio_output: 15 }
  const above = { ...usual, input: 6, cache_write: 6, cache_write_1h: 6, audio_input: 6, tokens: 200_000 }
  const line = { ...usual, above, tiers: { flex: { ...usual, above: null } }, request: 0.01, image: 0 }
  const { page, faults } = await openConsole(browser, gateway, '/console/settings')
  await page.route('**/api/v1/prices', (route) =>
    route.fulfill({ json: { revision: 'r', prices: [{ model: 'm-*', ...line }], problems: [] } }),
  )
  await signIn(page)
  await page.getByText('1 prices in USD').click()
  t.equal(
    await page.getByRole('row', { name: /^m-\*/ }).getByRole('cell').last().innerText(),
    'each call $0.01; cache write $3.75; reasoning $12; ' +
      'above 200,000 tokens of prompt: input $6, cached $0.3, output $15, reasoning $12; ' +
      'tier flex: input $3, cached $0.3, output $15, cache write $3.75, reasoning $12',
  )
  t.strictSame(faults, [])
})

t.test('settings show sessions, prices, upstreams and the configuration, and end a session', async (t) => {
  const { page, faults } = await openConsole(browser, gateway, '/console/settings')
  await signIn(page)
  const sessions = page.getByRole('region', { name: 'Open sessions' })
  await sessions.getByText('this session').waitFor()
  const administrators = await page.getByRole('region', { name: 'List of administrators' }).innerText()
  t.match(administrators, /admin\s+admin\s+token\s+vera\s+viewer\s+token/)
  await page.getByText('There are no prices').waitFor()
  const settings = page.getByRole('region', { name: 'Settings' })
  await page.getByLabel('Find a setting').fill('UPSTREAM')
  await settings.getByText(upstream.baseUrl).waitFor()
  t.notMatch(await page.content(), UPSTREAM_KEY)
  t.notMatch(await page.content(), VIEWER_TOKEN)
  const other = await openConsole(browser, gateway, '/console/audit')
  await signIn(other.page, VIEWER_TOKEN)
  await page.reload()
  await page.getByRole('button', { name: 'End the session of vera' }).first().click()
  await page.getByRole('button', { name: 'End the session', exact: true }).click()
  await other.page.getByText('Your session has ended').waitFor()
  t.strictSame(faults, [])
})

t.test('everything works by keyboard, and the focus returns after a drawer', async (t) => {
  const { key } = await gateway.createKey('keyboard')
  for (const model of ['first', 'second']) {
    await (await gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] })).text()
  }
  const { page } = await openConsole(browser, gateway, '/console/log')
  await signIn(page, ADMIN_TOKEN, () => page.keyboard.press('Enter'))
  const grid = page.getByRole('grid')
  await grid.focus()
  await page.keyboard.press('ArrowDown')
  t.match(await page.locator('.grid-row.active').innerText(), 'first')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('Request id').waitFor()
  await page.keyboard.press('Escape')
  await page.waitForURL(`${gateway.url}/console/log`)
  t.equal(await page.evaluate('document.activeElement.getAttribute("role")'), 'grid')
  await page.goBack()
  await page.getByRole('dialog').waitFor()
})

t.test('the live view shows a call as it is sealed', async (t) => {
  const { key } = await gateway.createKey('live')
  const { page, faults } = await openConsole(browser, gateway, '/console/log?live=1')
  await signIn(page)
  await page.getByText('Connected. New calls appear at the top.').waitFor()
  await (await gateway.chat(key, { model: 'fresh', messages: [{ role: 'user', content: 'hi' }] })).text()
  await page.getByRole('row', { name: /live fresh/ }).waitFor()
  t.strictSame(faults, [])
})

t.test('a million rows take a bounded number of elements, and the last can be reached', async (t) => {
  const total = 1_000_000
  const { page } = await openConsole(browser, gateway, '/console/log')
  const { logs } = (await gateway.api('GET', '/usage/logs?limit=1')).body
  await page.route('**/api/v1/usage/logs?*', (route) => {
    const query = new URL(route.request().url()).searchParams
    const first = Number(query.get('offset'))
    const rows = Array.from({ length: Math.min(Number(query.get('limit')), total - first) }, (_, n) => ({
      ...logs[0],
      model: `row ${first + n}`,
    }))
    return route.fulfill({ json: { logs: rows, total } })
  })
  await signIn(page)
  await page.getByText('1,000,000 calls').waitFor()
  await page.getByRole('grid').focus()
  for (const [press, row] of [
    ['End', 'row 999999'],
    ['PageUp', /row 9999\d\d/],
    ['Home', 'row 0'],
  ] as const) {
    await page.keyboard.press(press)
    await page.locator('.grid-row.active').getByText(row).waitFor()
    t.ok((await page.locator('.grid-row').count()) < 60, press)
  }
})

t.test('a gateway that stops answering is shown as such, and found again', async (t) => {
  const first = await openGateway(t, { upstreamUrl: upstream.baseUrl })
  const { port } = new URL(first.url)
  const { page } = await openConsole(browser, first, '/console/keys')
  await signIn(page)
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await first.stop()
  await page.getByText('The gateway does not answer.').first().waitFor()
  await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    folder: first.folder,
    config: { listen: { gateway: `127.0.0.1:${port}`, ops: '127.0.0.1:0' } },
  })
  await page.getByText('The gateway does not answer.').first().waitFor({ state: 'detached' })
  await page.getByText('There is no key yet.').waitFor()
  t.equal(new URL(page.url()).pathname, '/console/keys')
})

t.test('a step of a chart opens the log of its time, by keyboard', async (t) => {
  const { key } = await gateway.createKey('chart')
  await (await gateway.chat(key, { model: 'charted', messages: [{ role: 'user', content: 'hi' }] })).text()
  const { page } = await openConsole(browser, gateway, '/console/overview?period=days%3D7')
  await signIn(page)
  const chart = page.getByRole('slider', { name: 'Requests over time' })
  await chart.focus()
  await page.keyboard.press('End')
  t.match(await chart.getAttribute('aria-valuetext'), /: requests \d+$/)
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /chart charted/ }).waitFor()
  const { searchParams } = new URL(page.url())
  const [since, until] = ['since', 'until'].map((name) => Date.parse(searchParams.get(name) ?? ''))
  t.equal(Number(until) - Number(since), 3_600_000, 'one step, an hour')
})

t.test('a rotated key works on for a day, and usage is shown and saved as CSV', async (t) => {
  const { key } = await gateway.createKey('rotated')
  const say = async (secret: string) => {
    const answer = await gateway.chat(secret, { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    await answer.text()
    return answer.status
  }
  const { page } = await openConsole(browser, gateway, '/console/keys?q=rotated')
  await signIn(page)
  await page.getByRole('button', { name: 'Rotate rotated' }).click()
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  const next = await page.getByLabel('API key', { exact: true }).inputValue()
  t.not(next, key)
  t.strictSame([await say(key), await say(next)], [200, 200])
  await page.getByRole('button', { name: 'Close' }).click()
  const older = page.getByRole('row', { name: /replaced by a newer key, valid until \d{4}-/ })
  await older.getByRole('link', { name: 'a newer key' }).click()
  await page.getByRole('cell', { name: 'key rotated' }).waitFor()
  await page.getByRole('link', { name: 'an older key' }).click()
  await page.getByText(/replaced by a newer key, valid until/).waitFor()
  await page.goto(`${gateway.url}/console/usage?by=model`)
  await page.getByRole('link', { name: 'gpt-5', exact: true }).click()
  await page.getByRole('heading', { name: 'Usage log' }).waitFor()
  t.match(page.url(), /since=.*until=.*model=gpt-5$/)
  await page.goto(`${gateway.url}/console/usage`)
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  const lines: string[] = []
  for await (const chunk of await (await download).createReadStream()) lines.push(String(chunk))
  t.match(lines.join(''), /^key,key_name,requests[\s\S]*rotated/)
})
