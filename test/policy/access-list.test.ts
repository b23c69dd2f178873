import fc from 'fast-check'
import t from 'tap'
import { accessOf, allowsEvery, compileAccessList } from '../../src/policy/access-list.ts'

t.test('a list allows what a positive glob matches and no negative one does', async (t) => {
  const cases: [list: string[], allowed: string[], refused: string[]][] = [
    [
      ['gpt-*', '!gpt-secret'],
      ['gpt-4o', 'gpt-'],
      ['gpt-secret', 'llama', 'GPT-4o'],
    ],
    [['!gpt-secret'], ['gpt-4o', 'llama', ''], ['gpt-secret']],
    [['!gpt-*', '!o?'], ['llama'], ['gpt-4o', 'o3']],
    [[], [], ['gpt-4o', '']],
    [['*'], ['gpt-4o', ''], []],
    [['*', '!*'], [], ['gpt-4o']],
    [['a/b:free'], ['a/b:free'], ['a/b']],
  ]
  for (const [list, allowed, refused] of cases) {
    const allows = compileAccessList(list)
    for (const model of allowed) t.ok(allows(model), `[${list}] allows ${model}`)
    for (const model of refused) t.notOk(allows(model), `[${list}] refuses ${model}`)
  }
})

t.test('no list allows everything', async (t) => {
  fc.assert(fc.property(fc.string(), (model) => accessOf(null)(model)))
  const list = ['gpt-*']
  t.equal(accessOf(list), accessOf(list), 'compiled once')
})

t.test('only a list of everything allows a model that is not known', async (t) => {
  for (const list of [['*'], ['**'], ['gpt-*', '*']]) t.ok(allowsEvery(list), list.join())
  for (const list of [[], ['gpt-*'], ['!x'], ['*', '!x'], ['?*'], ['']])
    t.notOk(allowsEvery(list), list.join())
})

t.test('a negative glob never allows more', async () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '-'), minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(fc.array(name, { minLength: 1 }), name, name, (globs, negative, model) => {
      const allowed = compileAccessList(globs)(model)
      const narrowed = compileAccessList([...globs, `!${negative}`])(model)
      return allowed || !narrowed
    }),
  )
})
