import t from 'tap'
import type { TextPart } from '../../src/core/text-part.ts'
import {
  type Decision,
  decide,
  decideResponse,
  type FactsOfParts,
  judge,
  monitoredInjection,
  NOTHING_SCANNED,
  type Permit,
  type PermittedRequests,
  type PlacedKind,
  type PolicyEvidence,
  usePermit,
} from '../../src/policy/decide.ts'
import type { Rule, RuleReference } from '../../src/policy/rule.ts'
import type { PromptFacts } from '../../src/policy/rule-type.ts'
import { rule, select } from './rules.ts'

const RULES: Rule[] = [
  rule('pii-block', 'us_ssn', { type: 'pii' }),
  rule('pii-redact', 'email', { type: 'pii', action: 'redact' }),
  rule('pii-monitor', 'phone', { type: 'pii', action: 'monitor' }),
  rule('pii-allow', 'ip_address', { type: 'pii', action: 'allow' }),
  rule('injection', '', { type: 'prompt_injection' }),
  rule('injection-trial', 'score>=0.2', { type: 'prompt_injection', action: 'monitor' }),
]
const selection = select(RULES)

const reference = (name: string, action: Rule['action'] = 'block'): RuleReference => ({
  id: name,
  name,
  type: 'keyword_block',
  action,
})
const word = reference('word')
const wordTrial = reference('word-trial', 'monitor')
const limit = reference('limit')
const limitTrial = reference('limit-trial', 'monitor')

const finding = (
  kind: 'email' | 'us_ssn' | 'phone' | 'ip_address' | 'iban',
  place: TextPart = 'user',
): PlacedKind => ({ kind, place })

const REQUESTS: PermittedRequests = [
  {
    upstream: 'u',
    model: 'm',
    method: 'POST',
    target: '/chat/completions',
    body: Buffer.from('{}'),
    defaults: {},
  },
]
/** The rules here read no other fact. */
const scored =
  (injectionScore: number | null): FactsOfParts =>
  () =>
    ({ injectionScore, modelThreshold: 0.5 }) as PromptFacts
const NOTHING_FOUND: PolicyEvidence = {
  ...NOTHING_SCANNED,
  selection,
  facts: scored(0),
  limits: [],
  models: ['gpt-4o'],
  keyModels: null,
}

const decideOn = (evidence: Partial<PolicyEvidence>): Decision =>
  decide({ ...NOTHING_FOUND, ...evidence }, () => REQUESTS)

const cases: [what: string, evidence: Partial<PolicyEvidence>, outcome: string, hits: string[]][] = [
  ['nothing', {}, 'permit', []],
  ['redacted data', { findings: [finding('email')] }, 'permit', ['pii-redact']],
  [
    'watched and allowed data',
    { findings: [finding('phone'), finding('ip_address')] },
    'permit',
    ['pii-monitor'],
  ],
  ['data no rule speaks of', { findings: [finding('iban')] }, 'permit', []],
  [
    'forbidden data',
    { findings: [finding('email'), finding('us_ssn')] },
    'blocked by pii-block',
    ['pii-redact', 'pii-block'],
  ],
  ['a keyword', { keywordHits: [wordTrial, word] }, 'blocked by word', ['word-trial', 'word']],
  ['a keyword on trial', { keywordHits: [wordTrial] }, 'permit', ['word-trial']],
  ['the same rule twice', { keywordHits: [wordTrial, wordTrial] }, 'permit', ['word-trial']],
  ['a low score', { facts: scored(0.19) }, 'permit', []],
  ['a score on trial', { facts: scored(0.2) }, 'permit', ['injection-trial']],
  [
    'a score at the threshold',
    { facts: scored(0.5) },
    'blocked by injection',
    ['injection', 'injection-trial'],
  ],
  ['a limit not reached', { limits: [{ rule: limit, exceeded: false }] }, 'permit', []],
  ['a limit', { limits: [{ rule: limit, exceeded: true }] }, 'rate_limited by limit', ['limit']],
  ['a limit on trial', { limits: [{ rule: limitTrial, exceeded: true }] }, 'permit', ['limit-trial']],
  [
    'content before a limit',
    { keywordHits: [word], limits: [{ rule: limit, exceeded: true }] },
    'blocked by word',
    ['word', 'limit'],
  ],
  [
    'data before words before scores',
    { findings: [finding('us_ssn')], keywordHits: [word], facts: scored(1) },
    'blocked by pii-block',
    ['pii-block', 'word', 'injection', 'injection-trial'],
  ],
]
for (const [what, evidence, outcome, hits] of cases) {
  t.test(what, async (t) => {
    const decision = decideOn(evidence)
    const said = decision.outcome === 'permit' ? 'permit' : `${decision.reason} by ${decision.rule?.name}`
    t.equal(said, outcome)
    t.same(
      decision.hits.map((hit) => hit.rule.name),
      hits,
    )
    t.ok(decision.hits.every((hit) => hit.direction === 'request'))
    t.equal('permit' in decision, outcome === 'permit')
  })
}

t.test('only a score that nothing but monitoring rules read may be missing from a decision', async (t) => {
  t.throws(() => decideOn({ facts: scored(null) }), /the prompt was not scored/)
  t.equal(selection.watchesInjection, false)
  t.equal(select([]).watchesInjection, false)
  const trial = select(RULES.filter(({ name }) => name === 'injection-trial'))
  t.equal(trial.watchesInjection, true)
  t.match(decideOn({ selection: trial, facts: scored(null) }), { outcome: 'permit', hits: [] })
  t.same(monitoredInjection(trial, scored(0.19)), [])
  t.match(monitoredInjection(trial, scored(0.2)), [
    { rule: { name: 'injection-trial' }, direction: 'request' },
  ])
})

t.test('a permit holds the requests of the call and is used once', async (t) => {
  const decision = decideOn({})
  if (decision.outcome !== 'permit') throw new Error('expected a permit')
  t.equal(usePermit(decision.permit), REQUESTS)
  t.throws(() => usePermit(decision.permit), /was used before/)
})

t.test('an object that only looks like a permit is refused', async (t) => {
  // @ts-expect-error a permit has private state, so no literal is one
  const literal: Permit = { requests: REQUESTS }
  // @ts-expect-error the class is exported as a type only
  const construct = () => new Permit(REQUESTS)
  t.throws(construct, ReferenceError)
  t.throws(() => usePermit(literal), TypeError)
})

t.test('the bytes of a denied call are never made, and a judgement has no permit', async (t) => {
  const unmade = (): PermittedRequests => {
    throw new Error('made')
  }
  t.equal(decide({ ...NOTHING_FOUND, keywordHits: [word] }, unmade).outcome, 'denial')
  t.same(judge(NOTHING_FOUND), { outcome: 'permit', hits: [] })
})

t.test('answers', async (t) => {
  t.same(decideResponse(selection, { findings: [], keywordHits: [] }), { blocked: null, hits: [] })
  const blocked = decideResponse(selection, { findings: [finding('email')], keywordHits: [wordTrial, word] })
  t.equal(blocked.blocked, word)
  t.match(blocked.hits, [
    { rule: { name: 'pii-redact' }, direction: 'response' },
    { rule: wordTrial, direction: 'response' },
    { rule: word, direction: 'response' },
  ])
  t.equal(
    decideResponse(selection, { findings: [finding('us_ssn')], keywordHits: [] }).blocked?.name,
    'pii-block',
  )
})

t.test(
  'a rule that restores fires both ways unless it is for prompts alone, and refuses nothing',
  async (t) => {
    const restore = (match?: Rule['match']) =>
      select([
        rule('undo', 'email', { type: 'pii', action: 'restore', ...(match === undefined ? {} : { match }) }),
      ])
    const findings = [finding('email')]
    const none = { ...NOTHING_SCANNED, limits: [] }
    const model = { models: ['gpt-4o'], keyModels: null }
    const asked = judge({ ...none, ...model, selection: restore(), findings })
    t.match(asked, {
      outcome: 'permit',
      hits: [{ rule: { name: 'undo', action: 'restore' }, direction: 'request' }],
    })
    t.match(decideResponse(restore(), { findings, keywordHits: [] }), {
      blocked: null,
      hits: [{ rule: { name: 'undo', action: 'restore' }, direction: 'response' }],
    })
    const oneWay = restore({ direction: 'request' })
    t.equal(oneWay.pii('email', 'user').action, 'restore')
    t.equal(oneWay.pii('email', 'answer').action, 'redact', 'what is new in the answer, without another rule')
    t.same(decideResponse(oneWay, { findings, keywordHits: [] }).hits, [])
  },
)

t.test('a model is allowed when the key and every rule allow it', async (t) => {
  const set = select([
    rule('chat', ['gpt-*', '!gpt-secret'], { type: 'model_access' }),
    rule('watched', ['gpt-4*'], { type: 'model_access', action: 'monitor' }),
    rule('hr', ['hr/good'], { type: 'model_access', match: { models: ['hr/*'] } }),
  ])
  const judgeModels = (models: string[], keyModels: readonly string[] | null = null) =>
    judge({ ...NOTHING_FOUND, selection: set, models, keyModels })
  t.match(judgeModels(['gpt-4o']), { outcome: 'permit', hits: [] })
  t.match(judgeModels(['gpt-5']), { outcome: 'permit', hits: [{ rule: { name: 'watched' } }] })
  t.match(judgeModels(['gpt-secret']), {
    reason: 'model_not_allowed',
    rule: { name: 'chat' },
    model: 'gpt-secret',
    globs: ['gpt-*', '!gpt-secret'],
  })
  t.match(judgeModels(['gpt-4o', 'llama']), { reason: 'model_not_allowed', model: 'llama' }, 'a fallback')
  t.match(judgeModels(['gpt-4o'], ['o3']), { reason: 'model_not_allowed', rule: null, globs: ['o3'] })
  t.match(judgeModels(['gpt-4o'], []), { reason: 'model_not_allowed', rule: null, globs: [] })
  t.match(judgeModels(['gpt-4o'], ['gpt-*']), { outcome: 'permit' })
  t.match(judgeModels(['Gpt-4o'], ['gpt-*']), { reason: 'model_not_allowed' }, 'case counts')
})

t.test('a refused tool denies a call after models and before content and limits', async (t) => {
  const tool = rule('no-bash', ['*', '!bash'], { type: 'tool_access' })
  const set = select([tool])
  const named = { id: 'no-bash', name: 'no-bash', type: 'tool_access', action: 'block' } as const
  const tools = { hits: [named], denied: { rule: named, tool: 'bash' } }
  const denied = { outcome: 'denial', reason: 'tool_not_allowed', rule: { name: 'no-bash' }, tool: 'bash' }
  const evidence = { ...NOTHING_FOUND, selection: set, tools, limits: [{ rule: limit, exceeded: true }] }
  t.match(judge(evidence), { ...denied, hits: [{ rule: named, direction: 'request' }, { rule: limit }] })
  t.match(judge({ ...evidence, keyModels: [] }), { reason: 'model_not_allowed' })
  t.match(judge({ ...evidence, tools: { hits: [named], denied: null }, limits: [] }), {
    outcome: 'permit',
    hits: [{ rule: named }],
  })
})

t.test("the key's own limit denies a call without a rule", async (t) => {
  t.match(judge({ ...NOTHING_FOUND, limits: [{ rule: null, exceeded: true }] }), {
    reason: 'rate_limited',
    rule: null,
    hits: [],
  })
})

t.test(
  'a call that is not scanned is denied by lists, and by limits, and by no rule on content',
  async (t) => {
    const unscanned = { ...NOTHING_FOUND, ...NOTHING_SCANNED, models: null }
    t.match(judge(unscanned), { outcome: 'permit', hits: [] }, 'a blocking injection rule has no prompt')
    t.match(judge({ ...unscanned, limits: [{ rule: limit, exceeded: true }] }), { reason: 'rate_limited' })
    const open = [null, ['*'], ['a', '*']]
    for (const keyModels of open) t.match(judge({ ...unscanned, keyModels }), { outcome: 'permit' })
    const lists = [[], ['gpt-*'], ['!gpt-*'], ['*', '!gpt-*']]
    for (const keyModels of lists)
      t.match(judge({ ...unscanned, keyModels }), {
        reason: 'model_not_allowed',
        model: null,
        globs: keyModels,
      })
    const access = (glob: string, action: Rule['action'] = 'block') =>
      judge({ ...unscanned, selection: select([rule('list', [glob], { type: 'model_access', action })]) })
    t.match(access('gpt-*'), { reason: 'model_not_allowed', rule: { name: 'list' }, model: null })
    t.match(access('gpt-*', 'monitor'), { outcome: 'permit', hits: [{ rule: { name: 'list' } }] })
    t.match(access('*'), { outcome: 'permit', hits: [] })
  },
)
