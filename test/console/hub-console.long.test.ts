// The console at a hub: the pages that it has the API for, the fleet, and what a change waits for.

import { randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  cosignCheckpoint,
  type OpenedCheckpoint,
  openCheckpoint,
  signCheckpoint,
} from '../../src/audit/checkpoint.ts'
import { LedgerCheckpoints } from '../../src/ledger/ledger-checkpoints.ts'
import { requestDraft } from '../audit/drafts.ts'
import { TOKENS } from '../hub/fixture.ts'
import { hubOn, makeKey, sidecarOf } from '../hub/pods.ts'
import { openDatabase } from '../ledger/fixture.ts'
import { fleetDatabase, run, takeAway } from '../ledger/postgres.ts'
import { logId, newSigner, ShippedLog } from '../ledger/shipped.ts'
import { registerSidecar, StoredTestLog } from '../ledger/stored-log.ts'
import { ROOT } from '../process/program.ts'
import { until } from '../process/until.ts'
import { examine, openBrowser, openConsole, signIn } from './browser.ts'

t.setTimeout(300_000)

const PAGES = ['overview', 'log', 'security', 'rules', 'keys', 'usage', 'audit', 'fleet']
/** The others are as at a gateway. */
const EXAMINED = new Set(['overview', 'fleet'])
const TITLES = [
  ...['Overview', 'Usage log', 'Security', 'Rules', 'Keys', 'Usage & cost', 'Audit', 'Fleet'],
] as const
/** All files of the console together, compressed. */
const MAXIMUM_WIRE_BYTES = 75 * 1024
const HEARD_MS = 500
/** Entries that the checkpoint covers. */
const PROVED = 6
const HOSTILE = '<img src=x onerror=alert(1)>'

const database = await fleetDatabase()
const queries = openDatabase(t, database.hub)
const hub = await hubOn(t, database)
const api = await hub.signIn()
const { id: keyId } = await makeKey(api)
await registerSidecar(queries, 'id-1', 'shop/web-1')
await registerSidecar(queries, 'id-2', `shop/${HOSTILE}`)
const id = randomUUID()
const nowMs = Date.now()
const draft = requestDraft({ id, key_id: keyId, created_at: new Date(nowMs).toISOString() })
const log = new ShippedLog(logId(7), 'id-1').addCalls(3).add(draft)
await queries.transaction((on) => log.ship(on))
const unsigned = openCheckpoint(log.checkpoint(PROVED), () => []) as OpenedCheckpoint
const checkpoint = { ...unsigned, time: new Date(nowMs).toISOString() }
const note = cosignCheckpoint(signCheckpoint(checkpoint, log.signer), newSigner(logId(99)), nowMs)
await new LedgerCheckpoints(queries).save(checkpoint, note)
const ended = await StoredTestLog.begin(queries, 'id-2', nowMs)
await ended.append([{ draft: { type: 'key_revoked', key_id: 'k', key_name: 'k', actor: 'vera' } }], nowMs)
await run(database.owner, `update sidegate.log_head set state = 'cut' where sidecar = 'id-2'`)
const one = await sidecarOf(t, hub, 'one')
const frozen = await sidecarOf(t, hub, 'frozen', { maxStaleSeconds: 3600 })
const old = await sidecarOf(t, hub, 'old', { features: ['models'] })
/** Sidecars that are not heard are silent. */
const heard = setInterval(() => {
  void one.acknowledge({ nack: [{ rev: one.rev, rule: 'no-tools', reason: `is not ${HOSTILE}` }] })
  void old.acknowledge()
}, HEARD_MS)
t.teardown(() => clearInterval(heard))
const rule = { name: 'no-tools', type: 'tool_access', pattern: ['rm'], action: 'block' }
const made = await api('POST', '/rules?allow_partial=1', rule)
if (made.status !== 201) throw new Error(JSON.stringify(made.body))
frozen.freeze()

const browser = await openBrowser(t)

t.test('a hub shows the pages that it has the API for, and asks for nothing else', async (t) => {
  const { page, faults, errors } = await openConsole(browser, hub)
  await signIn(page, TOKENS.platform.token)
  t.strictSame(
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts(),
    TITLES,
  )
  for (const name of PAGES) {
    await page.goto(`${hub.url}/console/${name}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    if (EXAMINED.has(name)) await examine(t, page, name)
  }
  await page.goto(`${hub.url}/console/keys/${keyId}`)
  await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
  await page.goto(`${hub.url}/console/log?entry=${id}`)
  await page.getByRole('dialog').getByText('shop/web-1').waitFor()
  await page.getByRole('button', { name: 'Show the proof' }).click()
  await page.getByText('Proved').waitFor({ timeout: 15_000 })
  await page.goto(`${hub.url}/console/log`)
  await page.getByLabel('Filter by').selectOption({ label: 'Sidecar' })
  await page.getByLabel('Sidecar', { exact: true }).fill('shop/web-1')
  await page.getByRole('button', { name: 'Add filter' }).click()
  await page.getByText('Sidecar: shop/web-1').waitFor()
  await page.getByText('4 calls').waitFor()
  await page.goto(`${hub.url}/console/settings`)
  await page.getByRole('heading', { name: 'No such page' }).waitFor()
  t.strictSame([faults, errors], [[], []])
})

t.test('the fleet says who is behind, what was refused, and where logs ended', async (t) => {
  const { page, faults, errors } = await openConsole(browser, hub, '/console/fleet')
  await signIn(page, TOKENS.platform.token)
  const row = (name: string) => page.getByRole('row', { name }).innerText()
  await page.getByRole('region', { name: 'Sidecars' }).waitFor()
  t.match(await row('shop/one'), /connected[\s\S]*no-tools: is not <img/)
  t.match(await row('shop/old'), /no-tools: not sent/)
  t.match(await row('shop/<img'), /cut at entry 1/)
  t.match(await page.getByRole('region', { name: 'Hubs' }).innerText(), /0\.\d+\.\d+/)
  t.equal(await page.locator('main img').count(), 0)
  t.strictSame([faults, errors], [[], []])
})

t.test('a change names the sidecars that did not confirm it, until one is declared gone', async (t) => {
  const { page, faults } = await openConsole(browser, hub, '/console/keys')
  await signIn(page, TOKENS.platform.token)
  await page.getByRole('button', { name: 'Revoke web' }).click()
  await page.getByLabel('Type the name of the key').fill('web')
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  const banner = page.getByRole('status').filter({ hasText: 'did not confirm the last change' })
  await banner.waitFor()
  t.match(await banner.innerText(), /1 of 3 sidecars did not confirm[\s\S]*: shop\/frozen\./)
  await examine(t, page, 'banner')
  await banner.getByRole('link', { name: 'Show the fleet' }).click()
  const row = page.getByRole('row', { name: 'shop/frozen' })
  await until('the fleet page sees that it is silent', async () => /silent/.test(await row.innerText()))
  t.match(await row.innerText(), /1 behind[\s\S]*refuses keys of the hub 60 min later/)
  frozen.kill()
  await row.getByRole('button', { name: 'Declare gone' }).click()
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Declare gone' })
  t.ok(await confirm.isDisabled(), 'only after a confirmation')
  await examine(t, page, 'dialog')
  await page.getByLabel('It runs no more').check()
  await confirm.click()
  await until('it is gone', async () => (await row.getByRole('button').count()) === 0)
  t.match(await row.innerText(), /gone/)
  t.match(await api('GET', '/audit/changes?limit=1'), { body: { changes: [{ type: 'sidecar_gone' }] } })
  t.strictSame(faults, [])
})

t.test('a reader may declare nothing gone', async (t) => {
  const { page } = await openConsole(browser, hub, '/console/fleet')
  await signIn(page, TOKENS.reader.token)
  await page.getByRole('region', { name: 'Sidecars' }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Declare gone' }).count(), 0)
})

t.test('the whole console takes at most 75 KiB on the wire', async (t) => {
  const folder = join(ROOT, 'dist/console')
  const sizes = readdirSync(folder)
    .filter((name) => name.endsWith('.gz'))
    .map((name) => statSync(join(folder, name)).size)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  t.ok(total <= MAXIMUM_WIRE_BYTES, `${total} bytes`)
})

t.test('the audit page sums up all logs, and names each that is damaged', async (t) => {
  const { page, faults } = await openConsole(browser, hub, '/console/audit')
  await signIn(page, TOKENS.platform.token)
  const card = page.getByRole('region', { name: 'Verification' })
  const verify = () => card.getByRole('button', { name: 'Verify the whole log' }).click()
  await verify()
  await card.getByText(/^Intact: \d+ entries, checked/).waitFor()
  await run(database.owner, `update sidegate.log_head set hash = sha256('x') where log_id = '${log.id}'`)
  await verify()
  await card.getByText(/^Damaged: 1 log, checked/).waitFor()
  const damaged = card.getByRole('list', { name: 'Damaged logs' })
  t.match(await damaged.innerText(), new RegExp(`^shop/web-1, log ${log.id}.*: \\S`))
  await examine(t, page, 'damaged')
  t.strictSame(faults, [])
})

t.test('a page that opens without the database says since when, and recovers', async (t) => {
  const { page, faults } = await openConsole(browser, hub, '/console/usage')
  await signIn(page, TOKENS.platform.token)
  await page.getByRole('heading', { level: 1 }).waitFor()
  const comeBack = await takeAway(database)
  await until('it is away', async () => (await fetch(`http://${hub.opsAddress}/readyz`)).status === 503)
  await page.reload()
  await page.getByText(/^The database of the hub cannot be reached since \d{4}-.*Z; try again\./).waitFor()
  await examine(t, page, 'without the database')
  await comeBack()
  await page.getByRole('heading', { level: 1 }).waitFor()
  t.strictSame(faults, [])
})

t.test('the live view shows a call as a hub stores it', async (t) => {
  const { page, faults, errors } = await openConsole(browser, hub, '/console/log')
  await signIn(page, TOKENS.platform.token)
  await page.getByRole('link', { name: 'Live view' }).click()
  await page.getByText('Connected. New calls appear at the top.').waitFor()
  await ended.append([{ draft: requestDraft({ id: randomUUID(), key_name: 'live fresh' }) }], Date.now())
  await page.getByRole('row', { name: /live fresh/ }).waitFor()
  t.strictSame([faults, errors], [[], []])
})
