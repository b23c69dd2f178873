// The claims about a person: where a path leads, what names a group, and which lists were left out.

import t from 'tap'
import { claimAt } from '../../src/core/claim-path.ts'
import { isLeftOut, namesOf } from '../../src/server/claims.ts'

const CLAIMS = {
  groups: ['staff'],
  realm_access: { roles: ['admin', 7, 'user'], deep: { roles: ['x'] } },
  'https://example.com/roles': ['by address'],
  'a.b': ['a name with a dot'],
  a: { b: ['a path'] },
  roles: { editor: { 'org-1': 'acme' }, viewer: {} },
}

t.test('a claim is found by its name or by a path', async (t) => {
  const cases: [string, unknown][] = [
    ['groups', ['staff']],
    ['realm_access.roles', ['admin', 7, 'user']],
    ['realm_access.deep.roles', ['x']],
    ['https://example.com/roles', ['by address']],
    ['a.b', ['a name with a dot']],
    ['nothing', undefined],
    ['realm_access.nothing', undefined],
    ['groups.length', undefined],
    ['groups.0', undefined],
    ['constructor.name', undefined],
    ['realm_access.', undefined],
    ['', undefined],
  ]
  for (const [name, value] of cases) t.strictSame(claimAt(CLAIMS, name), value, name)
})

t.test('groups are a text, the texts of a list, or the keys of an object', async (t) => {
  t.strictSame(namesOf('staff'), ['staff'])
  t.strictSame(namesOf(['admin', 7, null, ['x'], 'user']), ['admin', 'user'])
  t.strictSame(namesOf(CLAIMS.roles), ['editor', 'viewer'])
  for (const none of [undefined, null, 7, true, [], {}]) t.strictSame(namesOf(none), [])
})

t.test('a list that is too long for the token is known as left out', async (t) => {
  t.ok(isLeftOut({ _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }, 'groups'))
  t.ok(isLeftOut({ hasgroups: true }, 'groups'))
  t.ok(isLeftOut({ hasgroups: 'true' }, 'groups'))
  for (const claims of [
    {},
    { hasgroups: false },
    { _claim_names: { roles: 'src1' } },
    { _claim_names: 'groups' },
  ])
    t.notOk(isLeftOut(claims, 'groups'), JSON.stringify(claims))
  t.notOk(isLeftOut({ hasgroups: true }, 'roles'))
})
