// What a trial must not do, whatever an upstream has answered.

import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import { Call } from '../../src/pipeline/call.ts'
import { Shadow } from '../../src/pipeline/shadow.ts'
import { compileRules } from '../../src/policy/compile.ts'

const clock = { now: () => 0, monotonic: () => 0 }
const counter = { inc: () => {} } as never
const injection = loadInjectionModel()

function trial() {
  const errors: unknown[] = []
  const candidate = compileRules([], 'candidate')
  const shadow = new Shadow({
    candidate: () => candidate,
    kinds: DEFAULT_KINDS,
    injection,
    metrics: { candidateCalls: counter, candidateDifferences: counter },
    clock,
    onError: (error) => errors.push(error),
  })
  return { shadow, errors }
}

function call(response: JsonObject, responseBytes = 0): Call {
  const one = new Call(clock, 'id', { id: 'k', name: 'k' }, 0, 'live')
  one.request = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}')
  one.response = response
  one.responseBytes = responseBytes
  return one
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('an answer that cannot be judged is skipped and told of, and those after it are judged', async (t) => {
  const { shadow, errors } = trial()
  const pieces = Array.from({ length: 200_001 }, () => 'x')
  shadow.observe(call({ choices: [{ message: { content: pieces } }] }))
  shadow.observe(call({ choices: [{ message: { content: 'fine' } }] }))
  await turns(10)
  t.match(shadow.report(), { calls: 1, skipped: 1 })
  t.match(errors, [{ message: /more than 200000 texts/ }])
})

t.test('what waits is bounded by its bytes, and what has been judged makes room', async (t) => {
  const { shadow } = trial()
  const large = 30 * 1024 ** 2
  for (let n = 0; n < 3; n++) shadow.observe(call({}, large))
  t.equal(shadow.report().skipped, 1)
  await turns(10)
  shadow.observe(call({}, large))
  await turns(10)
  t.match(shadow.report(), { calls: 3, skipped: 1 })
})
