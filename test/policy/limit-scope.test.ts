import t from 'tap'
import { readScope, subjectOf } from '../../src/policy/limit-scope.ts'
import { callKey } from './keys.ts'

t.test('calls share a count by key, by label or all together', async (t) => {
  const search = callKey('a', { labels: { team: 'search' } }, 'k1')
  const also = callKey('b', { labels: { team: 'search', env: 'test' } }, 'k2')
  const legal = callKey('c', { labels: { team: 'legal' } }, 'k3')
  const none = callKey('d', {}, 'k4')
  const subjects = (per: string | undefined) =>
    [search, also, legal, none].map((key) => subjectOf(readScope(per), key))
  t.same(subjects(undefined), ['k1', 'k2', 'k3', 'k4'])
  t.same(subjects('key'), subjects(undefined))
  t.equal(new Set(subjects('all')).size, 1)
  const [one, same, other, missing] = subjects('label:team')
  t.equal(one, same)
  t.equal(new Set([one, other, missing]).size, 3)
  t.not(subjects('label:env')[1], one, 'labels of another name count apart')
  t.equal(subjects('label:__proto__')[0], subjects('label:__proto__')[3], 'no label of that name')
})

t.test('a key and its successor share a count', async (t) => {
  const old = callKey('a', {}, 'k1')
  t.equal(subjectOf('key', { ...callKey('a', {}, 'k2'), line: 'k1' }), subjectOf('key', old))
})
