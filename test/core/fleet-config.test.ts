// The section `fleet` of the configuration, and what `check` says of its errors.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../src/core/config.ts'
import { formatProblem } from '../../src/core/problem.ts'

const clock = { now: () => 0, monotonic: () => 0 }

const parse = (fleet: string, folder = '/etc/sidegate') =>
  parseConfig(`upstream: { baseUrl: "https://host/v1" }\n${fleet}`, join(folder, 'sidegate.yaml'), {}, clock)

t.test('a sidecar has hubs, a token and a limit of staleness', async (t) => {
  const folder = t.testdir({ token: 'abc\n', 'ca.pem': 'pem' })
  const { config, problems } = parse(
    'fleet: { hubs: ["https://hub:8494/", "http://127.0.0.1:8494"], ca: {file: ca.pem}, token: {file: token}, maxStaleSeconds: 60 }',
    folder,
  )
  t.same(problems, [])
  t.match(config?.fleet, {
    hubs: ['https://hub:8494', 'http://127.0.0.1:8494'],
    joinToken: null,
    maxStaleSeconds: 60,
    startWithoutHub: 'wait',
    ship: 'entries+content',
    onUnshippable: 'block',
  })
  t.equal(config?.fleet?.ca?.current(), 'pem')
  writeFileSync(join(folder, 'token'), 'def')
  t.equal(config?.fleet?.token?.current(), 'abc', 'it is read again after a second')
  t.equal(parse('').config?.fleet, null)
})

t.test('errors name the line and the remedy', async (t) => {
  const folder = t.testdir({ token: 'abc' })
  const cases: [fleet: string, problem: RegExp][] = [
    [
      'fleet:\n  hubs: ["http://hub:8494"]\n  token: {file: token}\n  maxStaleSeconds: 60',
      /sidegate\.yaml:3:10 fleet\.hubs\[0\]: must use https/,
    ],
    [
      'fleet:\n  hubs: ["https://hub/x"]\n  token: {file: token}\n  maxStaleSeconds: 60',
      /:3:10 fleet\.hubs\[0\]: must have no path/,
    ],
    [
      'fleet:\n  hubs: ["hub:8494"]\n  token: {file: token}\n  maxStaleSeconds: 60',
      /:3:10 fleet\.hubs\[0\]: is not a URL/,
    ],
    ['fleet:\n  hubs: []\n  token: {file: token}\n  maxStaleSeconds: 60', /:3:9 fleet\.hubs: /],
    ['fleet:\n  hubs: ["https://hub"]\n  token: {file: token}', /:3:3 fleet\.maxStaleSeconds: is required/],
    [
      'fleet:\n  hubs: ["https://hub"]\n  token: {file: token}\n  maxStaleSeconds: 1',
      /:5:\d+ fleet\.maxStaleSeconds: /,
    ],
    [
      'fleet:\n  hubs: ["https://hub"]\n  maxStaleSeconds: 60',
      /:3:3 fleet: needs either token.* or joinToken/,
    ],
    [
      'fleet:\n  hubs: ["https://hub"]\n  token: {file: token}\n  joinToken: {file: token}\n  maxStaleSeconds: 60',
      /:3:3 fleet: needs either token.* or joinToken/,
    ],
    [
      'fleet:\n  hubs: ["https://hub"]\n  token: {file: no}\n  maxStaleSeconds: 60',
      /:4:\d+ fleet\.token.*mount a projected/,
    ],
    ['fleet:\n  hubs: ["https://hub"]\n  token: secret\n  maxStaleSeconds: 60', /:4:10 fleet\.token/],
  ]
  for (const [fleet, problem] of cases) {
    const { problems } = parse(fleet, folder)
    t.match(problems.map(formatProblem), [problem], fleet)
    t.equal(problems.length, 1, fleet)
  }
})
