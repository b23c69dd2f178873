// The keys of an issuer at a URL: when they are asked for, and what an answer changes.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Timers } from '../../src/core/timers.ts'
import { MINIMUM_REFRESH_MS, REFRESH_MS, UrlKeys } from '../../src/jwt/issuer-keys.ts'
import { requestKeySet } from '../../src/jwt/key-set-request.ts'
import { keySetOf, newKey } from '../hub/tokens.ts'
import { inTime } from '../process/until.ts'
import { testClock } from '../store/fixture.ts'

const [FIRST, SECOND] = [newKey('one'), newKey('two')]

/** Keys at a URL whose answers a test gives; one timer at a time. */
function urlKeys() {
  const clock = testClock()
  const asked: PromiseWithResolvers<string>[] = []
  const loads: (string | null)[] = []
  let changes = 0
  let timer: { callback: () => void; delayMs: number } | null = null
  const timers: Timers = {
    set: (callback, delayMs) => {
      timer = { callback, delayMs }
      return timer
    },
    clear: () => {
      timer = null
    },
  }
  const keys = new UrlKeys({
    url: 'https://ci.example/jwks',
    request(_url, signal) {
      const one = Promise.withResolvers<string>()
      signal.addEventListener('abort', () => one.reject(new Error('aborted')))
      asked.push(one)
      return one.promise
    },
    clock,
    timers,
    onLoad: (problem) => loads.push(problem),
  })
  keys.onChange = () => changes++
  const answer = async (text: string | Error) => {
    const loading = keys.refresh()
    const { resolve, reject } = asked.at(-1)!
    typeof text === 'string' ? resolve(text) : reject(text)
    await loading
  }
  const fire = () => {
    clock.advance(timer!.delayMs)
    timer!.callback()
  }
  const ids = () => keys.current()?.keys.map(({ kid }) => kid) ?? null
  return { clock, asked, loads, keys, answer, fire, ids, timer: () => timer, changes: () => changes }
}

t.test('keys are asked for at the start, and again every five minutes', async (t) => {
  const { asked, keys, answer, fire, ids, timer, changes, loads } = urlKeys()
  t.equal(ids(), null)
  keys.start()
  await answer(keySetOf(FIRST))
  t.same(ids(), ['one'])
  t.equal(timer()?.delayMs, REFRESH_MS)
  const set = keys.current()
  fire()
  await answer(keySetOf(FIRST))
  t.equal(keys.current(), set, 'the same keys are the same set')
  t.equal(changes(), 1)
  fire()
  await answer(keySetOf(SECOND))
  t.same([ids(), changes(), asked.length], [['two'], 2, 3])
  t.same(loads, [null, null, null])
})

t.test('one request runs at a time, and an unknown key makes one in an interval', async (t) => {
  const { clock, asked, keys, answer } = urlKeys()
  keys.start()
  t.equal(keys.refresh(), keys.refresh(), 'the one that runs')
  t.equal(asked.length, 1)
  await answer(keySetOf(FIRST))
  for (let n = 0; n < 100; n++) t.equal(keys.refresh(), null)
  clock.advance(MINIMUM_REFRESH_MS - 1)
  t.equal(keys.refresh(), null)
  clock.advance(1)
  t.ok(keys.refresh() instanceof Promise)
  for (let n = 0; n < 100; n++) keys.refresh()
  t.equal(asked.length, 2)
})

t.test('what cannot be read leaves the last good keys in force, and is asked for again soon', async (t) => {
  const { keys, answer, fire, ids, timer, loads, clock } = urlKeys()
  keys.start()
  await answer(new Error('ECONNREFUSED'))
  t.same([ids(), timer()?.delayMs, keys.refresh()], [null, MINIMUM_REFRESH_MS, null])
  fire()
  await answer(keySetOf(FIRST))
  clock.advance(MINIMUM_REFRESH_MS)
  for (const text of ['x', '{"keys": []}', new Error('the URL answers 500, not 200')]) {
    clock.advance(MINIMUM_REFRESH_MS)
    await answer(text)
    t.same([ids(), timer()?.delayMs], [['one'], MINIMUM_REFRESH_MS])
  }
  t.same(loads, ['ECONNREFUSED', null, 'is not JSON', 'has no keys', 'the URL answers 500, not 200'])
})

t.test('nothing is asked for once it is closed, and nobody waits', async (t) => {
  const { keys, clock, asked, timer, loads } = urlKeys()
  keys.start()
  const waiting = keys.refresh()
  keys.close()
  await inTime('the end of the wait', waiting!)
  clock.advance(REFRESH_MS)
  t.same([keys.refresh(), asked.length, timer(), loads], [null, 1, null, []])
})

t.test('an answer is bounded in size and time, and must be 200', async (t) => {
  const server = createServer((request, response) => {
    if (request.url === '/never') return
    if (request.url === '/slow') {
      response.write('{')
      return
    }
    if (request.url === '/moved') response.writeHead(302, { location: '/jwks' })
    else if (request.url !== '/jwks' && request.url !== '/large') response.writeHead(404)
    response.end(request.url === '/large' ? 'x'.repeat(300_000) : keySetOf(FIRST))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const never = new AbortController()
  const ask = (path: string, timeoutMs?: number) =>
    inTime('the answer', requestKeySet(base + path, never.signal, timeoutMs))
  t.equal(await ask('/jwks'), keySetOf(FIRST))
  await t.rejects(ask('/none'), { message: 'the URL answers 404, not 200' })
  await t.rejects(ask('/moved'), { message: 'the URL answers 302, not 200' }, 'no redirect is followed')
  await t.rejects(ask('/large'), { message: 'the answer is larger than 262144 bytes' })
  await t.rejects(ask('/never', 50), { message: 'the URL does not answer within 50 ms' })
  await t.rejects(ask('/slow', 50), { message: 'the URL does not answer within 50 ms' })
  await t.rejects(inTime('the answer', requestKeySet('http://127.0.0.1:1/', never.signal)), {
    message: /ECONN|EACCES/,
  })
  const ended = ask('/never')
  never.abort()
  await t.rejects(ended)
})
