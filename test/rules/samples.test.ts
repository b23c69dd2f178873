import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { compileRules } from '../../src/policy/compile.ts'
import { printRules } from '../../src/rules/declaration.ts'
import { loadRules } from '../../src/rules/load.ts'
import { RULES_SCHEMA } from '../../src/rules/schema.ts'
import { snapshotOf } from '../../src/rules/snapshot.ts'
import { keyOf } from '../policy/keys.ts'
import { firedNames } from '../policy/rules.ts'

const CONFIG = fileURLToPath(new URL('../../config/', import.meta.url))

t.test('config/rules.schema.json is the schema that the loader uses', async (t) => {
  t.same(
    JSON.parse(readFileSync(`${CONFIG}rules.schema.json`, 'utf8')),
    JSON.parse(JSON.stringify(RULES_SCHEMA)),
  )
})

t.test('every key of the schema is described', async (t) => {
  const undescribed: string[] = []
  const visit = (schema: object, path: string) => {
    if (!('description' in schema)) undescribed.push(path)
    const { properties = {}, items } = schema as { properties?: Record<string, object>; items?: object }
    for (const [key, child] of Object.entries(properties)) visit(child, `${path}.${key}`)
    if (items !== undefined) visit(items, `${path}[]`)
  }
  visit(RULES_SCHEMA, 'schema')
  t.same(undescribed, [])
})

t.test('the sample rules load, compile and match their samples', async (t) => {
  const { rules, problems } = await loadRules(`${CONFIG}rules`)
  t.same(problems, [])
  for (const path of new Set(rules.map(({ rule }) => rule.path))) {
    t.match(readFileSync(path, 'utf8'), /^# yaml-language-server: \$schema=\.\.\/rules\.schema\.json\n/)
  }
  t.ok(rules.every(({ rule }) => rule.description !== undefined))
  const selection = compileRules(rules, 'r').select(['gpt-4o'], keyOf('app'))
  const names = (text: string) => firedNames(selection, text)
  t.same(names('the Project Aurora launch'), ['unreleased-projects'])
  t.same(names('Strictly confidential'), ['classified-documents'])
  t.same(names('an ordinary question'), [])
  t.equal(selection.pii('email', 'answer').action, 'redact')
  t.match(selection.pii('secret', 'user'), { action: 'redact', rule: { name: 'credentials-in-prompts' } })
  t.equal(selection.pii('secret', 'answer').action, 'redact')
})

t.test('the sample rules load to the same declarations after printing', async (t) => {
  const { rules } = await loadRules(`${CONFIG}rules`)
  const again = snapshotOf([{ name: 'all.yaml', text: printRules(rules.map(({ rule }) => rule)) }])
  t.same(again.problems, [])
  const declared = (list: typeof rules) =>
    list.map(({ rule: { path: _path, line: _line, ...declaration } }) => declaration)
  t.same(declared(again.rules), declared(rules))
})
