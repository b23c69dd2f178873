import t from 'tap'
import { splitAlternatives } from '../../src/keyword/pattern-syntax.ts'
import { parseRule } from '../../src/policy/parse-rule.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule, withoutAction } from './rules.ts'

const problemsOf = (declared: Rule) => {
  const result = parseRule(declared)
  return 'problems' in result ? result.problems : []
}

const alternatives: [pattern: string, parts: string[]][] = [
  ['a|b(c|d)|[|]', ['a', 'b(c|d)', '[|]']],
  ['a\\|b|c', ['a\\|b', 'c']],
  ['[]|]|x', ['[]|]', 'x']],
  ['[^]|]|x', ['[^]|]', 'x']],
  ['[[:alpha:]|]|x', ['[[:alpha:]|]', 'x']],
  ['[\\]|]|x', ['[\\]|]', 'x']],
  ['\\Qa|b\\E|x', ['\\Qa|b\\E', 'x']],
  ['\\Qa|b', ['\\Qa|b']],
  ['\\\\|x', ['\\\\', 'x']],
  ['((a|b)|c)|d', ['((a|b)|c)', 'd']],
  ['(?s)a|b', ['(?s)a', '(?s)b']],
  ['a(?i)b|c(?m)|d', ['a(?i)b', '(?i)c(?m)', '(?i)(?m)d']],
  ['(?s:a|b)|c', ['(?s:a|b)', 'c']],
  ['((?s)a|b)|c', ['((?s)a|b)', 'c']],
  ['|a|', ['', 'a', '']],
  ['a)|b', ['a)', 'b']],
  ['a\\', ['a\\']],
]
for (const [pattern, parts] of alternatives) {
  t.test(`${pattern} splits into ${parts.length} alternatives`, async (t) => {
    t.same(splitAlternatives(pattern), parts)
  })
}

/** The error of a control character. */
const USE_SINGLE_QUOTES = /^contains the control character U\+[\dA-F]{4}\b.*single quotes/

const refused: [what: string, rule: Rule, problems: [path: string, message: RegExp][]][] = [
  ['an empty pattern', rule('r', ''), [['pattern', /must not be empty/]]],
  ['an empty alternative', rule('r', 'a||b'), [['pattern', /alternative 2 matches the empty text/]]],
  ['an invisible alternative', rule('r', 'a|\u200b'), [['pattern', /alternative 2 matches the empty text/]]],
  [
    'a pattern that may match nothing',
    rule('r', 'a*'),
    [['pattern', /alternative 1 matches the empty text/]],
  ],
  [
    'an assertion alone',
    rule('r', '\\b|^|$'),
    [
      ['pattern', /1 matches/],
      ['pattern', /2 matches/],
      ['pattern', /3 matches/],
    ],
  ],
  ['a pattern of dots alone', rule('r', '.*'), [['pattern', /alternative 1 matches the empty text/]]],
  [
    'a broken group',
    rule('r', 'ok|(a'),
    [['pattern', /alternative 2 is not a valid RE2 expression: missing closing \): `\(a`/]],
  ],
  [
    'an expression that needs a control character',
    rule('r', 'ok|\\x08art'),
    [['pattern', /^alternative 2 matches no text: .*control characters/]],
  ],
  [
    'an expression that needs a zero-width character',
    rule('r', 'a[\\x{200b}-\\x{200d}]+b'),
    [['pattern', /^alternative 1 matches no text/]],
  ],
  ['an empty class', rule('r', 'a[^\\x00-\\x{10ffff}]'), [['pattern', /^alternative 1 matches no text/]]],
  ['a broken class', rule('r', '[a'), [['pattern', /missing closing \]/]]],
  ['a lookahead', rule('r', 'a(?=b)'), [['pattern', /not a valid RE2 expression/]]],
  ['a back reference', rule('r', '(a)\\1'), [['pattern', /not a valid RE2 expression/]]],
  ['a repetition beyond RE2', rule('r', 'a{1001}'), [['pattern', /not a valid RE2 expression/]]],
  [
    'a program too large',
    rule('r', '(?:abc){500}'),
    [['pattern', /too large: 15\d\d steps of at most 1000/]],
  ],
  [
    'an expression too long',
    rule('r', `a+${'b'.repeat(2048)}`),
    [['pattern', /longer than 2048 characters/]],
  ],
  ['a word too long', rule('r', 'b'.repeat(1025)), [['pattern', /longer than 1024 characters/]]],
  ['a pattern too long', rule('r', 'ab|'.repeat(30_000)), [['pattern', /at most 65536 characters/]]],
  [
    'an action of another type',
    rule('r', 'a', { action: 'allow' }),
    [['action', /is not allowed for keyword_block rules; use `block`, `redact` or `monitor`$/]],
  ],
  [
    'a keyword rule that restores',
    rule('r', 'a', { action: 'restore' }),
    [['action', /is not allowed for keyword_block rules; use `block`, `redact` or `monitor`$/]],
  ],
  [
    'conditions of a rule on tools on another type',
    rule('r', 'x', { after: ['a'], afterInjection: 0.5 }),
    [
      ['after', /^is allowed for tool_access rules only; remove it$/],
      ['afterInjection', /^is allowed for tool_access rules only; remove it$/],
    ],
  ],
  [
    'conditions that cannot be read',
    rule('r', ['bash'], { type: 'tool_access', arguments: [{ path: 'x', pattern: '(' }] }),
    [
      ['pattern', /^needs the tools that it refuses/],
      ['arguments[0].path', /^must be a JSON pointer/],
      ['arguments[0].pattern', /^alternative 1/],
    ],
  ],
  [
    'a capture rule with an action',
    rule('r', 'metadata', { type: 'capture' }),
    [['action', /^must be removed: capture rules have no action$/]],
  ],
  [
    'a rule without an action',
    withoutAction('pii', '*'),
    [['action', /^is required; use `redact`, .* or `allow`$/]],
  ],
  [
    'a capture rule for one direction',
    { ...withoutAction('capture', 'none'), match: { direction: 'request' } },
    [
      ['pattern', /^must be `full` or `metadata`$/],
      ['match.direction', /whole call/],
    ],
  ],
  [
    'a rule that restores in answers alone',
    rule('r', 'email', { type: 'pii', action: 'restore', match: { direction: 'response' } }),
    [['match.direction', /must be `request` or `both`/]],
  ],
  [
    'pseudonyms restored in answers alone',
    rule('r', 'email', { type: 'pii', action: 'pseudonym', restore: true, match: { direction: 'response' } }),
    [['match.direction', /must be `request` or `both`/]],
  ],
  [
    'restore beside another action',
    rule('r', 'email', { type: 'pii', action: 'redact', restore: true }),
    [['restore', /with the action `pseudonym` only; .* `action: restore`$/]],
  ],
  [
    'restore in a rule of another type',
    rule('r', 'a', { restore: true }),
    [['restore', /^is allowed for pii and pii_pattern rules only/]],
  ],
  [
    'a shape for pseudonyms',
    rule('r', 'email', { type: 'pii', action: 'pseudonym', placeholders: 'shaped' }),
    [['placeholders', /with the actions `redact` and `restore` only/]],
  ],
  [
    'an unknown kind',
    rule('r', 'emial', { type: 'pii', action: 'block' }),
    [['pattern', /did you mean `email`/]],
  ],
  [
    'a rule with several errors',
    rule('r', 'score', { type: 'prompt_injection', action: 'allow', match: { direction: 'response' } }),
    [
      ['action', /use `block` or `monitor`/],
      ['pattern', /score>=0.70/],
      ['match.direction', /only prompts/],
    ],
  ],
  [
    'a way to write what is not replaced',
    rule('r', 'email', { type: 'pii', placeholders: 'shaped' }),
    [['placeholders', /with the actions `redact` and `restore` only/]],
  ],
  [
    'a way to write what a keyword replaces',
    rule('r', 'a', { placeholders: 'shaped' }),
    [['placeholders', /^is allowed for pii and pii_pattern rules only/]],
  ],
  [
    'a limit for some parts',
    rule('r', '5/1m', { type: 'rate_limit', match: { parts: ['user'] } }),
    [['match.parts', /^is allowed for keyword_block, pii, pii_pattern and prompt_injection rules only/]],
  ],
  [
    'parts that no answer has',
    rule('r', 'a', { match: { direction: 'response', parts: ['user', 'system'] } }),
    [['match.parts', /must name `assistant`/]],
  ],
  [
    'a token limit in one direction',
    rule('r', '5/1m', { type: 'rate_limit', match: { direction: 'request' } }),
    [['match.direction', /whole call/]],
  ],
  [
    'a rule longer than a log entry',
    rule('r', `a${'\u200b'.repeat(65_000)}`, {
      match: { models: Array(100).fill('가'.repeat(128)), keys: Array(100).fill('가'.repeat(128)) },
    }),
    [['pattern', /27\d\d\d\d bytes of JSON; at most 245760 are allowed/]],
  ],
  ['a backspace in keywords', rule('r', '\bart\b'), [['pattern', USE_SINGLE_QUOTES]]],
  [
    'a backspace in one alternative of many',
    rule('r', 'project aurora|\bzenith\b'),
    [['pattern', /U\+0008, which `\\b` means.*write `\\\\b`/]],
  ],
  ['an escape in an expression', rule('r', '\x1b\\d+'), [['pattern', USE_SINGLE_QUOTES]]],
  ['a form feed', rule('r', 'a\fb'), [['pattern', USE_SINGLE_QUOTES]]],
  ['a vertical tab', rule('r', 'a\vb'), [['pattern', USE_SINGLE_QUOTES]]],
  ['a delete', rule('r', 'a\x7fb'), [['pattern', USE_SINGLE_QUOTES]]],
  ['a C1 control character', rule('r', 'a\x9bb'), [['pattern', USE_SINGLE_QUOTES]]],
  [
    'a backspace in a list of kinds',
    rule('r', '\bemail', { type: 'pii', action: 'redact' }),
    [['pattern', USE_SINGLE_QUOTES]],
  ],
  [
    'a backspace in a threshold',
    rule('r', '\bscore>=0.7', { type: 'prompt_injection' }),
    [['pattern', USE_SINGLE_QUOTES]],
  ],
  [
    'a backspace in a token limit',
    rule('r', '\b5/1m', { type: 'rate_limit' }),
    [['pattern', USE_SINGLE_QUOTES]],
  ],
  [
    'a backspace in globs',
    rule('r', 'a', { match: { models: ['\bgpt*'], keys: ['ok', '\bteam'] } }),
    [
      ['match.models[0]', USE_SINGLE_QUOTES],
      ['match.keys[1]', USE_SINGLE_QUOTES],
    ],
  ],
  [
    'a glob too long',
    rule('r', 'a', { match: { keys: ['ok', 'x'.repeat(129)] } }),
    [['match.keys[1]', /at most 128/]],
  ],
]
for (const [what, declaration, problems] of refused) {
  t.test(`${what} is refused`, async (t) => {
    const found = problemsOf(declaration)
    t.equal(found.length, problems.length)
    for (const [index, [path, message]] of problems.entries()) t.match(found[index], { path, message })
  })
}

const accepted = [
  rule('r', 'project aurora|project borealis'),
  rule('r', '(?:abc){300}'),
  rule('r', 'b'.repeat(1024)),
  rule('r', '*', { type: 'pii', action: 'allow' }),
  rule('r', '*', { type: 'pii', action: 'pseudonym', restore: true }),
  rule('r', 'email|phone', { type: 'pii', action: 'restore', match: { direction: 'request' } }),
  rule('r', '', { type: 'prompt_injection', match: { direction: 'request', parts: ['tool_result'] } }),
  rule('r', 'a', { match: { direction: 'response', parts: ['user', 'assistant'] } }),
  rule('r', '', { type: 'prompt_injection', match: { direction: 'both' } }),
  rule('r', '60000/1m', { type: 'rate_limit', match: { direction: 'both' } }),
  { ...withoutAction('capture', 'metadata'), match: { models: ['hr/*'], keys: ['hr'] } },
]
for (const declaration of accepted) {
  t.test(`${declaration.type} ${declaration.pattern.slice(0, 20)} is accepted`, async (t) => {
    t.same(problemsOf(declaration), [])
  })
}
