// Rules that a sidecar or a hub of another release does not know, over PostgreSQL and real sockets.

import t from 'tap'
import { FEATURES } from '../../src/fleet/protocol.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { until } from '../process/until.ts'
import { rulesText } from '../rules/fixture.ts'
import { sidecarOf } from './pods.ts'
import { hubWith, ready, write } from './policy-hubs.ts'

t.setTimeout(180_000)

t.test('a rule that a connected sidecar cannot enforce is refused with its name', async (t) => {
  const hub = await hubWith(t, await fleetDatabase(), 'rules: []\n')
  const api = await hub.signIn()
  const features = FEATURES.filter((name) => name !== 'rule_per')
  const old = await sidecarOf(t, hub, 'old', { features })
  const fresh = await sidecarOf(t, hub, 'new')
  const limit = { name: 'limit', type: 'rate_limit', pattern: '5 requests/1m', action: 'block' }
  const refused = await api('POST', '/rules', { ...limit, per: 'all' })
  t.match(refused, {
    status: 409,
    body: { error: { message: /cannot enforce rule_per: shop\/old\. Upgrade/ } },
  })
  t.match(await api('POST', '/rules', limit), { status: 201 }, 'one that it knows')
  const partial = await api('POST', '/rules?allow_partial=1', { ...limit, name: 'shared', per: 'all' })
  t.equal(partial.status, 201)
  await until('it is where it can be', async () => fresh.rules.join() === 'limit,shared')
  t.same(old.rules, ['limit'])
  t.match((await api('GET', '/fleet')).body.sidecars, [{ unsent_rules: [] }, { unsent_rules: ['shared'] }])
  const { id } = partial.body
  t.match(await api('PATCH', `/rules/${id}`, { enabled: false }), { status: 200 })
  t.match(await api('PATCH', `/rules/${id}`, { enabled: true }), { status: 409 })

  const file = 'rules: [{name: f, type: rate_limit, pattern: 5 requests/1m, per: all, action: block}]\n'
  write(hub, 'rules.yaml', `namespaces: [web]\n${file}`)
  await until('it does not concern others', async () => (await api('GET', '/rules')).body.total === 3)
  write(hub, 'rules.yaml', file)
  await until('it is refused', async () => (await ready(hub)).rule_errors.length > 0)
  t.match((await ready(hub)).rule_errors, [
    /rules\.yaml:1:\d+ rules\.f: These sidecars cannot enforce rule_per: shop\/old\. Upgrade them/,
  ])
  t.match((await api('GET', '/rules')).body.rules[0], { namespaces: ['web'] })
  await old.leave()
  await until('it counts once the sidecar is gone', async () => fresh.rules[0] === 'f')
  await until('all is well', async () => (await ready(hub)).rules === 'ok')
})

t.test('a rule of a later release is reported, and ends no override', async (t) => {
  const database = await fleetDatabase()
  const hub = await hubWith(t, database, rulesText('one'))
  const api = await hub.signIn()
  const [{ id }] = (await api('GET', '/rules')).body.rules
  await api('PATCH', `/rules/${id}`, { enabled: false, reason: 'incident' })
  const later = JSON.stringify({ name: 'later', type: 'later_type', pattern: '', enabled: true })
  await run(
    database.owner,
    `with next as (update fleet_head set rev = rev + 1 returning rev),
       made as (insert into change (rev, kind, id, op, seq) select rev, 'rule', 'later', 'put', 0 from next)
     insert into rule (id, source, name_key, position, declaration, created_at, updated_at, rev)
       select 'later', 'api', 'later', 0, '${later}', now(), now(), rev from next`,
  )
  await until('it is reported', async () => (await api('GET', '/rules')).body.errors.length > 0)
  t.match((await api('GET', '/rules')).body, {
    rules: [{ name: 'one', override: { reason: 'incident' } }],
    errors: [{ path: 'later.type', file: '/api/v1/rules' }],
  })
  const sidecar = await sidecarOf(t, hub, 'a')
  await until('what sidecars know is in force', async () => sidecar.rules.join() === 'one!')
})
