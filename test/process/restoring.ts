// Deploys a gateway whose rules restore values, with a prompt that has one value of each kind.

import type { Test } from 'tap'
import { openAi } from './client.ts'
import { type Deployment, deploy, writtenBy } from './gateway.ts'

const RULES = `
rules:
  - { name: give-back, type: pii, pattern: "email|credit_card|secret", action: restore, enabled: true }
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true, match: { direction: response } }
  - { name: phones-one-way, type: pii, pattern: phone, action: restore, enabled: true, match: { direction: request } }
  - { name: phones-back, type: pii, pattern: phone, action: monitor, enabled: true, match: { direction: response } }
`
export const ALICE = 'alice.restored@example.com'
export const CARD = '4111 1111 1111 1111'
export const KEY = 'AKIAIOSFODNN7EXAMPL1'

export const model = 'test/model'
export const say = (content: string) => [{ role: 'user' as const, content }]
export const PROMPT = say(`I am ${ALICE}, card ${CARD}, key ${KEY}`)

/** Deploys the rules until the end of the test. */
export async function deployRestoring(t: Pick<Test, 'teardown'>) {
  const deployment = await deploy(t, undefined, { rules: RULES })
  const { gateway, key } = deployment
  return {
    ...deployment,
    client: openAi(gateway, key),
    /** The newest entry with its exchange. */
    newest: async () => (await gateway.api('GET', `/usage/logs/${(await gateway.newestEntry()).id}`)).body,
  }
}

/**
 * Stops the gateway and asserts that no value is in anything that it wrote or sent to the upstream.
 */
export async function assertNoValueIsLeft(t: Test, { gateway, upstream }: Deployment): Promise<void> {
  const metrics = await gateway.metrics()
  const { body: list } = await gateway.api('GET', '/usage/logs?limit=1000')
  const details = await Promise.all(
    list.logs.map(async ({ id }: { id: string }) => (await gateway.api('GET', `/usage/logs/${id}`)).body),
  )
  const { body: report } = await gateway.api('GET', '/usage/security?limit=1000')
  await gateway.stop()
  const places: Record<string, string> = {
    ...writtenBy(gateway),
    upstream: upstream.received.map(({ body, headers }) => body + JSON.stringify(headers)).join('\n'),
    'usage log': JSON.stringify(details),
    'security events': JSON.stringify(report),
    metrics,
  }
  for (const [place, text] of Object.entries(places)) {
    for (const value of ['.restored@example', CARD, KEY]) t.notOk(text.includes(value), `${place}: ${value}`)
  }
  t.match(metrics, /action="restore"/)
}
