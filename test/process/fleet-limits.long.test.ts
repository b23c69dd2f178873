// A limit of a hub over three sidecars, each a process: with more demand than it allows, while the
// hub is killed, and after it is back. A fourth one is frozen meanwhile, with a place of a key.

import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { type FleetHub, type FleetSidecar, RunningFleet } from '../fleet/running-fleet.ts'
import { signIn } from '../hub/fixture.ts'
import { fetchInTime, until } from './until.ts'

t.setTimeout(180_000)

const LIMIT = 300
/** Share of the limit that three sidecars use together without a hub. */
const GUARANTEED = 0.2
/** Part of the limit that is used when demand is above it. */
const USED = 0.9
const RULES = `rules: [{name: calls, type: rate_limit, pattern: "${LIMIT} requests/1h", action: block}]\n`
/** Calls under way at each sidecar. */
const PARALLEL = 4
/** Refusals after which a sidecar is taken to refuse everything. */
const REFUSALS = 5
/** Time after which a sidecar that is silent has no places. */
const SLOT_TIMEOUT_SECONDS = 10
/** Longer than a lease that is not used stays with a sidecar. */
const GIVEN_BACK_MS = 2500

interface Answer {
  readonly status: number
  readonly retryAfter: number
}

const ask = ({ url }: FleetSidecar, key: string, more: object = {}): Promise<Response> =>
  fetchInTime(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more }),
  })

async function call(sidecar: FleetSidecar, key: string): Promise<Answer> {
  const response = await ask(sidecar, key)
  await response.arrayBuffer()
  return { status: response.status, retryAfter: Number(response.headers.get('retry-after')) }
}

/** Calls a sidecar until it refuses. @returns the number that it admitted, and the refusals */
async function exhaust(sidecar: FleetSidecar, key: string): Promise<{ admitted: number; refused: Answer[] }> {
  const refused: Answer[] = []
  let admitted = 0
  const caller = async () => {
    while (refused.length < REFUSALS) {
      const answer = await call(sidecar, key)
      if (answer.status === 200) admitted++
      else refused.push(answer)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, caller))
  return { admitted, refused }
}

async function exhaustAll(sidecars: readonly FleetSidecar[], key: string) {
  const outcomes = await Promise.all(sidecars.map((one) => exhaust(one, key)))
  const each = outcomes.map(({ admitted }) => admitted)
  const refused = outcomes.flatMap((one) => one.refused)
  const saysWhen = refused.every(({ status, retryAfter }) => status === 429 && retryAfter >= 1)
  return { each, saysWhen, admitted: each.reduce((sum, one) => sum + one, 0) }
}

t.test('a limit holds over three sidecars, also while the hub is killed', async (t) => {
  const fleet = new RunningFleet({
    pods: ['web-0', 'web-1', 'web-2', 'frozen'],
    maxStaleSeconds: 600,
    hubConfig: {
      rules: { path: 'rules.yaml' },
      limits: { guaranteedShare: GUARANTEED, slotTimeoutSeconds: SLOT_TIMEOUT_SECONDS },
    },
    hubFiles: { 'rules.yaml': RULES },
  })
  t.teardown(() => fleet.stop())
  await fleet.start()
  const sidecars = fleet.sidecars.slice(0, 3)
  const frozen = fleet.sidecars[3]!
  const [hub] = fleet.hubs as [FleetHub]
  const [first] = sidecars as [FleetSidecar]
  const api = await fleet.signIn()
  const makeKey = async (name: string): Promise<string> => (await api('POST', '/keys', { name })).body.key
  const [one, other] = [await makeKey('one'), await makeKey('other')]
  const place = (await api('POST', '/keys', { name: 'place', max_parallel: 1 })).body.key
  const apis = await Promise.all(sidecars.map(({ url }) => signIn(url, fleet.token)))
  await until('the rule is everywhere', async () => {
    const lists = await Promise.all(apis.map((own) => own('GET', '/rules')))
    return lists.every(({ body }) => body.rules.length === 1)
  })

  const running = await ask(frozen, place, { stream: true })
  frozen.child.signal('SIGSTOP')
  t.equal((await call(first, place)).status, 429, 'the place is taken')

  let admitted = 0
  await until('most of the limit is used', async () => {
    const all = await exhaustAll(sidecars, one)
    t.comment(`admitted ${all.each.join(', ')} of ${LIMIT}`)
    t.ok(all.saysWhen, 'each refusal says when to try again')
    admitted += all.admitted
    return admitted >= LIMIT * USED
  })
  t.ok(admitted <= LIMIT, `${admitted} calls`)
  const { body } = await apis[0]!('GET', '/usage/limits')
  t.match(body.limits, [{ rule_name: 'calls', source: 'hub', unit: 'requests', allowed: LIMIT }])

  // Each has its part of what is set aside after one call. A lease that is not used goes back.
  let used = 0
  for (let round = 0; round < 1; round++) {
    for (const sidecar of sidecars) used += Number((await call(sidecar, other)).status === 200)
    await delay(GIVEN_BACK_MS)
  }
  t.equal(used, 3, 'each call is admitted')
  hub.child.signal('SIGKILL')
  await hub.child.exited
  const away = await exhaustAll(sidecars, other)
  used += away.admitted
  t.comment(`without the hub admitted ${away.each.join(', ')}`)
  t.ok(used <= LIMIT * GUARANTEED, 'no more than what is set aside')
  t.ok(!away.each.includes(0), 'each sidecar uses its share')
  t.ok(away.saysWhen, 'then it refuses')
  t.equal((await call(first, one)).status, 429, 'a limit that is used up stays so')

  hub.child = await fleet.startHub(hub.file)
  await until('the rest is lent', async () => {
    used += (await exhaustAll(sidecars, other)).admitted
    return used >= LIMIT * USED
  })
  t.ok(used <= LIMIT, `${used} calls, and no more than the limit`)

  await until('the place of the frozen one is free', async () => (await call(first, place)).status === 200)
  frozen.child.signal('SIGCONT')
  t.match(await running.text(), /data: \[DONE\]/, 'its call goes on')
  await until('and its place comes back', async () => (await call(frozen, place)).status === 200)
})
