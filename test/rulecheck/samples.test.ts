import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { RuleAction } from '../../src/core/rule-action.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import { CASES_SCHEMA } from '../../src/rulecheck/case-schema.ts'
import { findCaseFiles, loadCases } from '../../src/rulecheck/cases.ts'
import { compareCases } from '../../src/rulecheck/compare.ts'
import { lintRules } from '../../src/rulecheck/lint.ts'
import { readSources } from '../../src/rulecheck/rule-sources.ts'

const CONFIG = fileURLToPath(new URL('../../config/', import.meta.url))
const ENVIRONMENT = {
  kinds: DEFAULT_KINDS,
  injection: loadInjectionModel(),
  binaryParts: 'pass' as const,
  placeholderStyle: 'brackets' as const,
  pseudonyms: { key: () => 'a key', inEmbeddings: true },
}

const loadSamples = async () => loadCases(await findCaseFiles([`${CONFIG}rules`]))

t.test('the sample rules pass their tests', async (t) => {
  const { files, problems } = await loadSamples()
  t.same(problems, [])
  const verdicts = await compareCases(files, ENVIRONMENT)
  t.ok(verdicts.length > 10)
  t.same(
    verdicts.filter(({ mismatches }) => mismatches.length > 0),
    [],
  )
})

t.test('a sample test fails when any rule but a token limit is disabled or changed', async (t) => {
  const { files } = await loadSamples()
  const fails = async (name: string, change: { enabled?: boolean; action?: RuleAction }) => {
    const changed = files.map((file) => ({
      ...file,
      rules: file.rules.map(({ rule, pattern }) => ({
        rule: rule.name === name ? { ...rule, ...change } : rule,
        pattern,
      })),
    }))
    return (await compareCases(changed, ENVIRONMENT)).filter(({ mismatches }) => mismatches.length > 0)
  }
  const rules = files[0]!.rules.map(({ rule }) => rule)
  for (const { name, type, action } of rules.filter((rule) => rule.type !== 'rate_limit')) {
    t.ok((await fails(name, { enabled: false })).length > 0, `${name} off`)
    const other = action === 'monitor' ? 'block' : 'monitor'
    t.ok((await fails(name, { action: other })).length > 0, `${name} (${type}) ${other}`)
  }
})

t.test('the sample rules give no warnings', async (t) => {
  const { files } = await readSources([`${CONFIG}rules`])
  t.same(lintRules(files), [])
})

t.test('config/rules-test.schema.json is the schema of the reader, with every key described', async (t) => {
  const copy = JSON.parse(readFileSync(`${CONFIG}rules-test.schema.json`, 'utf8'))
  t.same(copy, JSON.parse(JSON.stringify(CASES_SCHEMA)))
  const undescribed: string[] = []
  const visit = (schema: object, path: string) => {
    if (!('description' in schema)) undescribed.push(path)
    const { properties = {}, items } = schema as { properties?: Record<string, object>; items?: object }
    for (const [key, child] of Object.entries(properties)) visit(child, `${path}.${key}`)
    if (items !== undefined) visit(items, `${path}[]`)
  }
  visit(CASES_SCHEMA, 'schema')
  t.same(undescribed, [])
})
