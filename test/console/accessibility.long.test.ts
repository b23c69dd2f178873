// axe-core and hostile texts on every page of the console.

import t from 'tap'
import { openGateway } from '../process/gateway.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'
import { examine, openBrowser, openConsole, signIn } from './browser.ts'

t.setTimeout(300_000)

const PAGES = ['overview', 'log', 'security', 'rules', 'keys', 'usage', 'audit', 'settings', 'nowhere']
/** Texts that a page must show as text. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  '</script><svg onload=alert(3)>',
  "javascript:alert(4)//';alert(5)//",
  '{{constructor.constructor("alert(6)")()}}',
  '\u202egnp.exe\u2066',
  '%00\u0000\u0007',
  `${'A'.repeat(5000)}`,
]
const RULES = `
rules:
  - { name: "<b onclick=alert(7)>rule", type: pii, pattern: "*", action: redact }
  - { name: no-aurora, type: keyword_block, pattern: "aurora", action: block }
`

const upstream = await startUpstream(json(completion(`write to bob@example.com ${HOSTILE.join(' ')}`)))
t.teardown(() => upstream.close())
const browser = await openBrowser(t)
const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: RULES })
const ids: string[] = []
const keyPages: string[] = []
for (const text of HOSTILE) {
  // Names have printable characters only.
  const name = text.replace(/\p{C}/gu, '').slice(0, 100)
  const { body } = await gateway.api('POST', '/keys', {
    name,
    owner: name,
    labels: { team: name.slice(0, 64).trim() },
  })
  keyPages.push(`keys/${body.id}`)
  const content = `${text} aurora alice@example.com`
  const answer = await gateway.chat(body.key, { model: name, messages: [{ role: 'user', content }] })
  await answer.text()
  ids.push(answer.headers.get('x-request-id') ?? '')
}

t.test('axe-core finds nothing on any page, in both themes, wide and narrow', async (t) => {
  const { page, faults } = await openConsole(browser, gateway)
  await page.getByLabel('Admin token').waitFor()
  await examine(t, page, 'sign-in')
  await signIn(page)
  for (const name of [...PAGES, keyPages[0]!]) {
    await page.goto(`${gateway.url}/console/${name}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    await examine(t, page, name)
  }
  await page.goto(`${gateway.url}/console/log?entry=${ids[0]}`)
  await page.getByRole('button', { name: 'Show the proof' }).click()
  await page.getByText('Proved').waitFor()
  await examine(t, page, 'drawer')
  await page.goto(`${gateway.url}/console/keys`)
  await page.getByRole('button', { name: 'Create a key' }).click()
  await examine(t, page, 'dialog')
  await page.goto(`${gateway.url}/console/rules`)
  await page.getByRole('button', { name: 'New rule' }).click()
  await examine(t, page, 'form of a rule')
  t.strictSame(faults, [])
})

t.test('hostile prompts, names and models are shown as inert text', async (t) => {
  const { page, faults } = await openConsole(browser, gateway, '/console/keys')
  await signIn(page)
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
  for (const name of [
    ...PAGES,
    ...keyPages,
    'usage?by=label:team',
    'log?label=team%3D%3Cimg%3E&rule=%3Cb%3E',
  ]) {
    await page.goto(`${gateway.url}/console/${name}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  }
  for (const id of ids) {
    await page.goto(`${gateway.url}/console/log?entry=${id}`)
    await page.getByRole('heading', { name: 'Proof' }).waitFor()
  }
  t.notMatch(await page.content(), /\u202e|\u2066/)
  await page.goto(`${gateway.url}/console/log?entry=${ids[5]}`)
  await page.getByText('‹202E›').first().waitFor()
  t.equal(
    await page.locator('main img, main script, main svg, dialog img, dialog script, dialog svg').count(),
    0,
  )
  t.strictSame(faults, [])
})
