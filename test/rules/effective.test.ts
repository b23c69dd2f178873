import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { formatProblem } from '../../src/core/problem.ts'
import type { EffectiveRules } from '../../src/rules/effective.ts'
import { keyOf } from '../policy/keys.ts'
import { firedNames } from '../policy/rules.ts'
import { MemoryStorage, rulesText, setting, snapshot } from './fixture.ts'

const NO_END = { reason: 'incident 12', ttlSeconds: null }
const HOUR = { reason: 'incident 12', ttlSeconds: 3600 }
const WORD = { name: 'mine', type: 'keyword_block', pattern: 'secret', action: 'block', enabled: true }

/** The names of the keyword rules that fire on the text. */
const fires = (rules: EffectiveRules, text: string): string[] =>
  firedNames(rules.current.select(['m'], keyOf('k')), text)

const idOf = (rules: EffectiveRules, name: string): string =>
  rules.list().find((rule) => rule.name === name)?.id ?? ''

async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'accepted'
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.status} ${error.code} ${error.param ?? '-'}: ${error.message}`
  }
}

t.test('rule files', async (t) => {
  t.test('new files come into force together, under a new revision', async (t) => {
    const { rules } = setting(t)
    t.same(rules.list(), [])
    const empty = rules.revision
    rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    t.same(fires(rules, 'alpha beta'), ['alpha', 'beta'])
    t.match(rules.revision, /^[0-9a-f]{16}$/)
    t.not(rules.revision, empty)
    t.match(rules.list(), [
      {
        name: 'alpha',
        source: { kind: 'file', path: 'rules/a.yaml', line: 2 },
        declaredEnabled: true,
        override: null,
      },
      { name: 'beta', source: { kind: 'file', path: 'rules/a.yaml', line: 3 } },
    ])
  })

  t.test('files with errors change nothing but the errors', async (t) => {
    const { rules } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    const { current } = rules
    rules.replaceFiles(snapshot('rules: [{name: x}]'))
    t.equal(rules.current, current)
    t.match(rules.errors().map(formatProblem), [
      /rules\/a.yaml:1:9 rules\[0\].type: is required/,
      /action: is required/,
    ])
    rules.replaceFiles(snapshot(rulesText('alpha')))
    t.same(rules.errors(), [])
  })

  t.test('files with the same rules keep the rule set', async (t) => {
    const { rules, clock } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    const { current } = rules
    const [before] = rules.list()
    clock.nowMs += 1000
    rules.replaceFiles(snapshot(`# moved\n${rulesText('alpha')}`))
    t.equal(rules.current, current, 'running and new calls are judged by one set')
    t.match(rules.list(), [
      { source: { line: 3 }, createdAtMs: before?.createdAtMs, updatedAtMs: before?.updatedAtMs },
    ])
    rules.replaceFiles(snapshot(rulesText('alpha').replace('block}', 'monitor}')))
    t.match(rules.list(), [{ createdAtMs: before?.createdAtMs, updatedAtMs: clock.nowMs }])
  })

  t.test('the time of the last load is that of the last files without errors', async (t) => {
    const { rules, clock } = setting(t)
    t.equal(rules.loadedAtMs, 0)
    for (const [text, isLoaded] of [
      [rulesText('alpha'), true],
      ['rules: [{name: x}]', false],
      [rulesText('alpha'), true],
    ] as const) {
      const before = rules.loadedAtMs
      clock.nowMs += 1000
      rules.replaceFiles(snapshot(text))
      t.equal(rules.loadedAtMs, isLoaded ? clock.nowMs : before)
    }
  })

  t.test('every process gives files the same ids and revision', async (t) => {
    const one = setting(t).rules
    const two = setting(t).rules
    for (const rules of [one, two]) rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    t.equal(one.revision, two.revision)
    t.equal(idOf(one, 'beta'), idOf(two, 'beta'))
  })
})

t.test('API rules', async (t) => {
  t.test('an API rule is in force when create resolves', async (t) => {
    const { rules, editor, storage, changes } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    const rule = await editor.create(WORD, 'vera')
    t.match(rule, {
      ...WORD,
      id: 'api-1',
      source: { kind: 'api' },
      createdAtMs: 1_000_000,
      updatedAtMs: 1_000_000,
    })
    t.same(fires(rules, 'my secret'), ['mine'])
    t.equal(storage.rules.size, 1)
    t.same(changes, ['rule_created mine api'])
  })

  t.test('an API rule is enabled and disabled without an override, and can be deleted', async (t) => {
    const { rules, editor, clock, changes, storage } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    const { id } = await editor.create(WORD, 'vera')
    clock.nowMs += 5
    t.match(await editor.setEnabled(id, false, NO_END, 'vera'), {
      enabled: false,
      declaredEnabled: false,
      override: null,
      updatedAtMs: clock.nowMs,
    })
    t.same(fires(rules, 'my secret'), [])
    t.match(await editor.setEnabled(id, false, NO_END, 'vera'), { enabled: false }, 'again')
    t.match(await editor.delete(id, 'vera'), { name: 'mine' })
    t.same(
      rules.list().map(({ name }) => name),
      ['alpha'],
    )
    t.same(changes, ['rule_created mine api', 'rule_changed mine api', 'rule_deleted mine api'])
    t.equal(storage.rules.size, 0)
  })

  t.test('API rules survive a restart', async (t) => {
    const storage = new MemoryStorage()
    const before = setting(t, { storage })
    before.rules.replaceFiles(snapshot(rulesText('alpha')))
    await before.editor.create(WORD, 'vera')
    const after = setting(t, { storage })
    after.rules.replaceFiles(snapshot(rulesText('alpha')))
    t.equal(after.rules.revision, before.rules.revision)
    t.same(fires(after.rules, 'secret'), ['mine'])
  })

  t.test('a file that declares the name replaces the API rule', async (t) => {
    const { rules, editor, storage, changes, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    await editor.create(WORD, 'vera')
    const file = snapshot(rules.toYaml())
    t.same(file.problems, [])
    rules.replaceFiles(file)
    t.same(
      rules.list().map(({ name, source }) => [name, source.kind]),
      [
        ['alpha', 'file'],
        ['mine', 'file'],
      ],
    )
    t.same(fires(rules, 'secret'), ['mine'])
    await settled()
    t.equal(storage.rules.size, 0)
    t.same(changes, ['rule_created mine api', 'rule_deleted mine declared_in_file'])
  })

  t.test('a stored rule that this version refuses is reported and not in force', async (t) => {
    const storage = new MemoryStorage()
    storage.rules.set('old', {
      ...WORD,
      id: 'old',
      pattern: 'a(',
      type: 'keyword_block',
      action: 'block',
      createdAtMs: 0,
      updatedAtMs: 0,
    })
    const { rules } = setting(t, { storage })
    rules.replaceFiles(snapshot(rulesText('alpha')))
    t.same(fires(rules, 'alpha a('), ['alpha'])
    t.match(rules.errors().map(formatProblem), [
      /^\/api\/v1\/rules mine\.pattern: alternative 1 is not a valid RE2 expression/,
    ])
  })

  t.test('a stored rule whose name no new rule may have stays in force', async (t) => {
    const storage = new MemoryStorage()
    const rule = { ...WORD, name: 'mi\u3164ne', type: 'keyword_block', action: 'block' } as const
    storage.rules.set('old', { ...rule, id: 'old', createdAtMs: 0, updatedAtMs: 0 })
    const { rules } = setting(t, { storage })
    rules.replaceFiles(snapshot(rulesText('alpha')))
    t.same(fires(rules, 'my secret'), ['mi\u3164ne'])
    t.same(rules.errors(), [])
  })

  const bad: [what: string, fields: Record<string, unknown>, refusal: RegExp][] = [
    ['no name', { ...WORD, name: undefined }, /^400 missing_required_parameter name: name is required\.$/],
    ['an empty name', { ...WORD, name: '' }, /^400 invalid_body name: name must not be empty/],
    ...['i\u3164', 'i\u2800', 'a\u034fb', '\u115f', 'a\ufe0f', 'a\u200bb', ' a'].map(
      (name): (typeof bad)[number] => [
        `the name ${encodeURI(name)}`,
        { ...WORD, name },
        /^400 invalid_body name: name .*no white space at the ends and no characters that nobody sees\.$/,
      ],
    ),
    [
      'no type',
      { name: 'x', action: 'block' },
      /^400 missing_required_parameter type: type is required \(one of: keyword_block, pii, pii_pattern, prompt_injection, rate_limit, model_access, tool_access, capture\)\.$/,
    ],
    [
      'no pattern',
      { ...WORD, pattern: undefined },
      /^400 missing_required_parameter pattern: pattern must not be empty/,
    ],
    ['an empty pattern', { ...WORD, pattern: '' }, /^400 invalid_body pattern: pattern must not be empty/],
    [
      'a wrong type',
      { ...WORD, type: 'keyword' },
      /^400 invalid_body type: type must be one of: keyword_block, pii, pii_pattern, prompt_injection, rate_limit/,
    ],
    [
      'a wrong action',
      { ...WORD, action: 'allow' },
      /^400 invalid_body action: action `allow` is not allowed for keyword_block rules; use `block`/,
    ],
    [
      'no action',
      { ...WORD, action: undefined },
      /^400 missing_required_parameter action: action is required; use `block`, `redact` or `monitor`\.$/,
    ],
    [
      'an action of a capture rule',
      { ...WORD, type: 'capture', pattern: 'metadata' },
      /^400 invalid_body action: action must be removed: capture rules have no action\.$/,
    ],
    [
      'a wrong kind',
      { ...WORD, type: 'pii', pattern: 'emial' },
      /^400 invalid_body pattern: .*did you mean `email`.*us_ssn/,
    ],
    [
      'a wrong limit',
      { ...WORD, type: 'rate_limit', pattern: '5' },
      /^400 invalid_body pattern: pattern must be <tokens>\/<window>/,
    ],
    [
      'a pattern that is no text',
      { ...WORD, pattern: 5 },
      /^400 invalid_body pattern: pattern must be a string/,
    ],
    [
      'a flag that is no flag',
      { ...WORD, enabled: 'yes' },
      /^400 invalid_body enabled: enabled must be a boolean/,
    ],
    ['an unknown field', { ...WORD, colour: 1 }, /^400 invalid_body colour: colour is not a known key/],
    [
      'a wrong glob',
      { ...WORD, match: { models: ['a', 5] } },
      /^400 invalid_body match\.models\[1\]: match\.models\[1\] must be a string/,
    ],
  ]
  for (const [what, fields, expected] of bad) {
    t.test(`a rule with ${what} is refused`, async (t) => {
      const { rules, editor, changes } = setting(t)
      rules.replaceFiles(snapshot(rulesText('alpha')))
      const given = JSON.parse(JSON.stringify(fields))
      t.match(await refusal(editor.create(given, 'vera')), expected)
      t.same(changes, [])
    })
  }

  t.test('a name that exists is refused, also in parallel', async (t) => {
    const { rules, editor, storage } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    t.match(
      await refusal(editor.create({ ...WORD, name: 'alpha' }, 'vera')),
      /^409 conflict -: .*`alpha` exists already \(rules\/a\.yaml:2\)/,
    )
    const answers = await Promise.all([1, 2, 3].map(() => refusal(editor.create(WORD, 'vera'))))
    t.same(
      answers.map((answer) => answer.slice(0, 3)),
      ['acc', '409', '409'],
    )
    t.equal(storage.rules.size, 1)
  })

  t.test('a rule whose name a file takes during the write is refused', async (t) => {
    const { rules, editor } = setting(t)
    const answer = refusal(editor.create({ ...WORD, name: 'alpha' }, 'vera'))
    // The name has been checked and the rule is not stored yet.
    await Promise.resolve()
    rules.replaceFiles(snapshot(rulesText('alpha')))
    t.match(await answer, /^409 conflict -: .*`alpha` exists already \(rules\/a\.yaml:2\)/)
    t.match(rules.list(), [{ name: 'alpha', source: { kind: 'file' } }])
  })

  t.test('a name that differs only in case or Unicode form is the same name', async (t) => {
    const { rules, editor } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha', 'Caf\u00e9')))
    t.equal(
      await refusal(editor.create({ ...WORD, name: 'ALPHA' }, 'vera')),
      '409 conflict -: A rule named `ALPHA` exists already (rules/a.yaml:2 as `alpha`, which differs only in case); choose another name.',
    )
    t.match(
      await refusal(editor.create({ ...WORD, name: 'Cafe\u0301' }, 'vera')),
      /a\.yaml:3 as `Caf\u00e9`.*Unicode form/,
    )
    await editor.create({ ...WORD, name: 'Beta' }, 'vera')
    t.match(
      await refusal(editor.create({ ...WORD, name: 'BETA' }, 'vera')),
      /\(made through the API as `Beta`/,
    )
    rules.replaceFiles(snapshot(rulesText('beta')))
    t.same(
      rules.list().map(({ name }) => name),
      ['beta'],
      'the rule of the file replaces the rule of the API',
    )
  })

  t.test('a rule that could not be stored is not in force', async (t) => {
    const { rules, editor, storage, changes } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    storage.failure = new GatewayError('audit_unavailable', 'disk full')
    t.match(await refusal(editor.create(WORD, 'vera')), /^503 audit_unavailable/)
    t.same(fires(rules, 'secret'), [])
    t.same(changes, [])
    t.equal(await refusal(editor.create(WORD, 'vera')), 'accepted', 'the next write succeeds')
  })
})

t.test('overrides', async (t) => {
  t.test('an override of a file rule works at once, is listed, and can be withdrawn', async (t) => {
    const { rules, editor, storage, changes, clock } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    const { revision } = rules
    const id = idOf(rules, 'alpha')
    clock.nowMs += 7
    t.match(await editor.setEnabled(id, false, HOUR, 'vera'), {
      enabled: false,
      declaredEnabled: true,
      override: { reason: 'incident 12', expiresAtMs: clock.nowMs + 3_600_000 },
      updatedAtMs: clock.nowMs,
    })
    t.same(fires(rules, 'alpha beta'), ['beta'])
    t.not(rules.revision, revision)
    t.match(await editor.setEnabled(id, true, NO_END, 'vera'), { enabled: true, override: null })
    t.same(fires(rules, 'alpha beta'), ['alpha', 'beta'])
    t.equal(rules.revision, revision)
    t.equal(storage.stored.size, 0)
    t.same(changes, ['rule_override alpha false incident 12', 'rule_override_ended alpha withdrawn'])
  })

  t.test('setting what is declared makes no override', async (t) => {
    const { rules, editor, storage, changes } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    t.match(await editor.setEnabled(idOf(rules, 'alpha'), true, HOUR, 'vera'), {
      enabled: true,
      override: null,
    })
    t.equal(storage.stored.size, 0)
    t.same(changes, [])
  })

  t.test('an override counts until its time and not after expire', async (t) => {
    const { rules, editor, storage, changes, clock, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    await editor.setEnabled(idOf(rules, 'alpha'), false, HOUR, 'vera')
    clock.nowMs += 3_599_999
    t.same(fires(rules, 'alpha'), [])
    rules.expire(clock.nowMs)
    t.same(fires(rules, 'alpha'), [])
    clock.nowMs += 1
    rules.expire(clock.nowMs)
    t.same(fires(rules, 'alpha'), ['alpha'])
    t.match(rules.list(), [{ override: null, enabled: true }])
    await settled()
    t.equal(storage.stored.size, 0)
    t.same(changes, ['rule_override alpha false incident 12', 'rule_override_ended alpha expired'])
  })

  t.test('a timer ends an override when nothing calls expire', async (t) => {
    const { rules, editor, clock, timers, changes, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    await editor.setEnabled(idOf(rules, 'alpha'), false, { reason: 'x', ttlSeconds: 100_000 }, 'vera')
    // Longer than one wait of the timer.
    for (const stepMs of [86_400_000, 13_600_000]) {
      t.equal(changes.length, 1)
      clock.nowMs += stepMs
      timers.advance(stepMs)
    }
    await settled()
    t.same(changes, ['rule_override alpha false x', 'rule_override_ended alpha expired'])
    t.equal(timers.waiting, 0)
  })

  t.test('an override ends when the declaration changes', async (t) => {
    const { rules, editor, storage, changes, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    await editor.setEnabled(idOf(rules, 'alpha'), false, NO_END, 'vera')
    rules.replaceFiles(snapshot(rulesText('gamma', 'alpha')))
    t.same(fires(rules, 'alpha'), [], 'a move in the file is no change')
    rules.replaceFiles(snapshot(rulesText('alpha').replace('pattern: alpha', 'pattern: alpha|omega')))
    t.same(fires(rules, 'alpha'), ['alpha'])
    await settled()
    t.equal(storage.stored.size, 0)
    t.same(changes, [
      'rule_override alpha false incident 12',
      'rule_override_ended alpha declaration_changed',
    ])
  })

  t.test('an override ends with its rule and does not return with it', async (t) => {
    const { rules, editor, changes, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    await editor.setEnabled(idOf(rules, 'alpha'), false, NO_END, 'vera')
    rules.replaceFiles(snapshot(rulesText('beta')))
    rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    t.same(fires(rules, 'alpha'), ['alpha'])
    await settled()
    t.same(changes, ['rule_override alpha false incident 12', 'rule_override_ended alpha rule_removed'])
  })

  t.test('overrides survive files with errors and a restart', async (t) => {
    const storage = new MemoryStorage()
    const before = setting(t, { storage })
    before.rules.replaceFiles(snapshot(rulesText('alpha')))
    await before.editor.setEnabled(idOf(before.rules, 'alpha'), false, NO_END, 'vera')
    before.rules.replaceFiles(snapshot('rules: 5'))
    t.same(fires(before.rules, 'alpha'), [])
    const after = setting(t, { storage })
    t.same(after.rules.list(), [])
    after.rules.replaceFiles(snapshot(rulesText('alpha')))
    t.same(fires(after.rules, 'alpha'), [])
    t.equal(storage.stored.size, 1)
  })

  t.test('an override that cannot be deleted ends and is reported', async (t) => {
    const { rules, editor, storage, changes, clock, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    await editor.setEnabled(idOf(rules, 'alpha'), false, HOUR, 'vera')
    clock.nowMs += 3_600_000
    storage.failure = new Error('disk full')
    rules.expire(clock.nowMs)
    t.same(fires(rules, 'alpha'), ['alpha'])
    await settled()
    t.equal(storage.stored.size, 1)
    t.same(fires(rules, 'alpha'), ['alpha'])
    t.same(changes.slice(1), ['state_write_failed disk full'])
    rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
    await settled()
    t.equal(storage.stored.size, 0, 'retried when rules change')
    t.same(changes.slice(2), ['rule_override_ended alpha expired'])
  })

  t.test('an override that could not be deleted does not return with its declaration', async (t) => {
    const { rules, editor, storage, changes, settled } = setting(t)
    const declared = snapshot(rulesText('alpha'))
    rules.replaceFiles(declared)
    await editor.setEnabled(idOf(rules, 'alpha'), false, NO_END, 'vera')
    storage.failure = new Error('disk full')
    rules.replaceFiles(snapshot(rulesText('alpha').replace('action: block', 'action: monitor')))
    await settled()
    t.equal(storage.stored.size, 1)
    storage.failure = new Error('disk full')
    rules.replaceFiles(declared)
    t.same(fires(rules, 'alpha'), ['alpha'])
    await settled()
    t.same(fires(rules, 'alpha'), ['alpha'])
    t.equal(storage.stored.size, 1)
    rules.storeAvailable()
    await settled()
    t.equal(storage.stored.size, 0, 'retried when the store can be written')
    t.same(changes.slice(1).at(-1), 'rule_override_ended alpha declaration_changed')
  })

  t.test('deleting an ended override leaves a new one in force', async (t) => {
    const { rules, editor, storage, clock, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    const id = idOf(rules, 'alpha')
    await editor.setEnabled(id, false, HOUR, 'vera')
    clock.nowMs += 3_600_000
    const again = editor.setEnabled(id, false, HOUR, 'vera')
    rules.expire(clock.nowMs)
    t.match(await again, { enabled: false })
    await settled()
    t.equal(storage.stored.size, 1)
    t.same(fires(rules, 'alpha'), [])
  })

  t.test('a change of an API rule with a time to live is an override', async (t) => {
    const { rules, editor, clock, changes, settled } = setting(t)
    rules.replaceFiles(snapshot(rulesText('alpha')))
    const { id } = await editor.create(WORD, 'vera')
    t.match(await editor.setEnabled(id, false, HOUR, 'vera'), {
      enabled: false,
      declaredEnabled: true,
      override: { reason: 'incident 12' },
    })
    clock.nowMs += 3_600_000
    rules.expire(clock.nowMs)
    t.match(rules.list(), [{}, { name: 'mine', enabled: true, override: null }])
    await settled()
    t.same(changes.slice(1), ['rule_override mine false incident 12', 'rule_override_ended mine expired'])
  })
})

t.test('disabled rules cannot be enabled beyond the limits of the rule set', async (t) => {
  const { rules, editor, storage } = setting(t)
  rules.replaceFiles(snapshot(rulesText('alpha')))
  const pattern = Array.from({ length: 4 }, (_, n) => `${n}`.repeat(1000)).join('|')
  const made = []
  for (let n = 0; n < 70; n++)
    made.push(await editor.create({ ...WORD, name: `w${n}`, pattern, enabled: false }, 'vera'))
  const refusals = []
  for (const { id } of made)
    refusals.push(
      await refusal(editor.setEnabled(id, true, refusals.length % 2 === 0 ? NO_END : HOUR, 'vera')),
    )
  const first = refusals.findIndex((text) => text.startsWith('400 invalid_body'))
  t.ok(first > 0, 'the first ones fit')
  t.ok(refusals.slice(first).every((text) => /^400 invalid_body .*keywords together/.test(text)))
  const after = setting(t, { storage })
  after.rules.replaceFiles(snapshot(rulesText('alpha')))
  t.same(after.rules.errors(), [], 'the next start has no errors')
})

t.test('unknown ids and file rules cannot be changed as API rules', async (t) => {
  const { rules, editor } = setting(t)
  rules.replaceFiles(snapshot(rulesText('alpha')))
  t.match(await refusal(editor.setEnabled('nobody', true, NO_END, 'vera')), /^404 not_found/)
  t.match(await refusal(editor.delete('nobody', 'vera')), /^404 not_found/)
  t.match(
    await refusal(editor.delete(idOf(rules, 'alpha'), 'vera')),
    /^409 conflict -: The rule is declared in rules\/a\.yaml:2/,
  )
})

t.test('with apiWrites readonly only file rules are in force, and refusals name the file', async (t) => {
  const storage = new MemoryStorage()
  const overlay = setting(t, { storage })
  overlay.rules.replaceFiles(snapshot(rulesText('alpha')))
  await overlay.editor.create(WORD, 'vera')
  await overlay.editor.setEnabled(idOf(overlay.rules, 'alpha'), false, NO_END, 'vera')
  const { rules, editor, changes } = setting(t, { storage, apiWrites: 'readonly' })
  rules.replaceFiles(snapshot(rulesText('alpha')))
  t.same(fires(rules, 'alpha secret'), ['alpha'])
  const id = idOf(rules, 'alpha')
  t.match(
    await refusal(editor.setEnabled(id, false, HOUR, 'vera')),
    /^409 conflict -: The rule is declared in rules\/a\.yaml:2; change it there/,
  )
  t.match(
    await refusal(editor.delete(id, 'vera')),
    /^409 conflict -: The rule is declared in rules\/a\.yaml:2/,
  )
  t.match(await refusal(editor.create(WORD, 'vera')), /^409 conflict -: Rules are declared in files only/)
  t.match(
    await refusal(editor.create({ ...WORD, name: 'alpha' }, 'vera')),
    /^409 conflict -: .*rules\/a\.yaml:2/,
  )
  t.equal(storage.rules.size, 1, 'the stored rule stays stored')
  t.same(changes, [])
})

t.test('toYaml prints a file that loads to the rules in force', async (t) => {
  const { rules, editor } = setting(t)
  rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
  await editor.create(
    {
      ...WORD,
      description: 'a: "b"\n# c',
      match: { models: ['gpt*'], direction: 'request' },
    },
    'vera',
  )
  await editor.setEnabled(idOf(rules, 'beta'), false, NO_END, 'vera')
  const yaml = rules.toYaml()
  t.equal(yaml, rules.toYaml())
  const { rules: again, problems } = snapshot(yaml)
  t.same(problems, [])
  const other = setting(t)
  other.rules.replaceFiles(snapshot(yaml))
  t.equal(other.rules.toYaml(), yaml)
  t.match(again, [
    { rule: { name: 'alpha', enabled: true } },
    { rule: { name: 'beta', enabled: false } },
    {
      rule: { name: 'mine', description: 'a: "b"\n# c', match: { models: ['gpt*'], direction: 'request' } },
    },
  ])
})

t.test('drift lists overridden rules and API rules', async (t) => {
  const { rules, editor } = setting(t)
  rules.replaceFiles(snapshot(rulesText('alpha', 'beta')))
  const names = () => rules.drift().map(({ name }) => name)
  t.same(names(), [])
  t.equal(rules.revision, rules.declaredRevision)
  await editor.setEnabled(idOf(rules, 'beta'), false, NO_END, 'vera')
  const { id } = await editor.create(WORD, 'vera')
  t.same(names(), ['beta', 'mine'])
  t.not(rules.revision, rules.declaredRevision)
  await editor.setEnabled(idOf(rules, 'beta'), true, NO_END, 'vera')
  await editor.delete(id, 'vera')
  t.same(names(), [])
  t.equal(rules.revision, rules.declaredRevision)
})

t.test('files that exceed a limit together with API rules are refused', async (t) => {
  const { rules, editor } = setting(t)
  const words = (from: number) =>
    Array.from({ length: 60 }, (_, index) => `${from + index}${'x'.repeat(1000)}`).join('|')
  rules.replaceFiles(snapshot(rulesText('alpha')))
  for (const from of [0, 60, 120, 180])
    await editor.create({ ...WORD, name: `r${from}`, pattern: words(from) }, 'vera')
  t.match(
    await refusal(editor.create({ ...WORD, name: 'more', pattern: words(240) }, 'vera')),
    /^400 invalid_body pattern: all keywords together/,
  )
  rules.replaceFiles(
    snapshot(`rules: [{name: f, type: keyword_block, action: block, pattern: ${words(300)}}]`),
  )
  t.match(rules.errors().map(formatProblem), [/^rules\/a\.yaml all keywords together/])
  t.same(fires(rules, 'alpha'), ['alpha'], 'the last good rules stay')
})
