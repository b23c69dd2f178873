// Files of a hub whose writes fail, wait, or come after those of another hub.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import type { Problem } from '../../src/core/problem.ts'
import { SharedFiles } from '../../src/hub/shared-files.ts'
import { openHubRules, type RuleSnapshot } from '../../src/rules/load.ts'
import { until } from '../process/until.ts'
import { ManualTimers, rulesText, temporaryFolder } from '../rules/fixture.ts'

const PROBLEM: Problem = { file: 'a.yaml', line: 1, column: 1, path: '', message: 'a sidecar is too old' }
const namesIn = ({ rules }: RuleSnapshot): string => rules.map(({ rule }) => rule.name).join()

/** A hub whose database is a string. */
async function open(t: Test, name: string) {
  const path = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(path, rulesText(name))
  const timers = new ManualTimers()
  const hub = {
    inForce: 'before',
    /** What the next writes come to: an error, problems, or success. */
    outcome: null as Error | Problem | null,
    writes: 0,
    loads: [] as string[],
    errors: [] as string[][],
  }
  const logger: any = { info() {}, warn() {}, error: ({ errors = [] }) => hub.errors.push(errors) }
  const files = new SharedFiles<RuleSnapshot>({
    ...{ path, what: 'rule files', open: openHubRules, timers, logger },
    async write(snapshot) {
      hub.writes++
      if (hub.outcome instanceof Error) throw hub.outcome
      if (hub.outcome !== null) return [hub.outcome]
      hub.inForce = namesIn(snapshot)
      return []
    },
    version: () => hub.inForce,
    versionOf: namesIn,
    onLoad: (result) => hub.loads.push(result),
  })
  t.teardown(() => files.close())
  /** Lets a second pass. */
  const second = async () => {
    timers.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { hub, files, second, write: (text: string) => writeFileSync(path, text) }
}
const away = () => new GatewayError('fleet_unavailable', 'The database cannot be reached.')

t.test('files are tried again until the database takes them', async (t) => {
  const { hub, files, second } = await open(t, 'one')
  hub.outcome = away()
  await files.start()
  t.equal(files.isInForce, false)
  t.match(files.problems, [{ message: /cannot be reached/ }])
  await second()
  await second()
  t.same([hub.writes, hub.inForce, hub.errors.length], [3, 'before', 1], 'the same problem is logged once')
  hub.outcome = null
  await second()
  t.same([hub.inForce, files.isInForce, files.health(), hub.loads], ['one', true, 'ok', ['error', 'ok']])
  await second()
  t.equal(hub.writes, 4, 'nothing waits any more')
})

t.test('files that wait give way to what another hub has put in force since', async (t) => {
  const { hub, files, second } = await open(t, 'one')
  hub.outcome = PROBLEM
  await files.start()
  hub.inForce = 'of another hub'
  hub.outcome = null
  await second()
  t.same([hub.writes, hub.inForce, files.problems], [1, 'of another hub', []])
  t.match(files.health(), /of another hub (?:are|is) in force instead/)
  t.equal(files.isInForce, false)
})

t.test('a write that happened without an answer counts', async (t) => {
  const { hub, files, second } = await open(t, 'one')
  hub.outcome = away()
  await files.start()
  hub.inForce = 'one'
  hub.outcome = null
  await second()
  t.same([files.health(), files.isInForce], ['ok', true])
})

t.test('files with errors replace those that wait', async (t) => {
  const { hub, files, second, write } = await open(t, 'one')
  hub.outcome = PROBLEM
  await files.start()
  write('rules: [{}]\n')
  await files.reload()
  t.match(files.problems, [{ path: 'rules[0].name' }, {}])
  hub.outcome = null
  await second()
  t.same([hub.inForce, hub.writes], ['before', 1], 'what the files said before does not count')
  write(rulesText('two'))
  await files.reload()
  await until('it is in force', async () => hub.inForce === 'two')
  t.equal(files.health(), 'ok')
})
