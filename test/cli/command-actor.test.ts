// The actor of a command.

import t from 'tap'
import { actorOf, commandActor } from '../../src/cli/command-actor.ts'

t.test('a command is sealed under the name of its user, or the number where the name is unfit', async (t) => {
  const cases: [string | null, string][] = [
    ['root', 'cli:root'],
    ['svc-gateway_1', 'cli:svc-gateway_1'],
    ['vera', 'cli:vera'],
    ['bjørn', 'cli:bjørn'],
    [null, 'cli:1000'],
    ['', 'cli:1000'],
    ['two words', 'cli:1000'],
    ['line\nbreak', 'cli:1000'],
    ['\u001b[31mred', 'cli:1000'],
    ['\ud800', 'cli:1000'],
    ['alice@example.com', 'cli:1000'],
    ['x'.repeat(64), `cli:${'x'.repeat(64)}`],
    ['x'.repeat(65), 'cli:1000'],
  ]
  for (const [user, actor] of cases) t.equal(actorOf(user, 1000), actor, JSON.stringify(user))
  t.match(commandActor(), /^cli:./)
})
