// Placeholders stay whole where own kinds and keywords match their letters: in prompts and answers.

import fc from 'fast-check'
import t from 'tap'
import { requestTexts } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import { rulesOfAnswer } from '../../src/pipeline/scan/rules-of-answer.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, INJECTION, scanPieces, selectRules } from './fixture.ts'

const keyword = (pattern: string, extra: object = {}) => rule('word', pattern, { action: 'redact', ...extra })
const kind = (pattern: string) =>
  rule('own', pattern, { type: 'pii_pattern', kind: 'ticket', action: 'redact' })
const ALL = rule('all', '*', { type: 'pii', action: 'restore' })

function redacted(rules: readonly Rule[], text: string): string {
  const body: JsonObject = { model: 'm', messages: [{ role: 'user', content: text }] }
  const walk = atOnce(requestTexts(body))
  atOnce(inspect(walk, selectRules(rules), { kinds: ALL_KINDS, injection: INJECTION }))
  return (body['messages'] as { content: string }[])[0]!.content
}

const scanOf = (rules: readonly Rule[]) =>
  rulesOfAnswer(selectRules(rules), {
    ...{ kinds: ALL_KINDS, placeholderStyle: 'brackets', credential: null, restoration: null },
  })

const CASES: readonly [what: string, rules: readonly Rule[], text: string, sent: string][] = [
  ['a keyword', [keyword('secret')], 'secret [SECRET_1]', '[KEYWORD_1] [SECRET_1]'],
  [
    'a keyword in its own placeholder',
    [keyword('keyword')],
    '[KEYWORD_1] keyword',
    '[KEYWORD_1] [KEYWORD_2]',
  ],
  ['a keyword in a pseudonym', [keyword('k3f9')], '[EMAIL_k3f9a2xx] k3f9', '[EMAIL_k3f9a2xx] [KEYWORD_1]'],
  ['a keyword in Markdown', [keyword('email')], '\\[EMAIL\\_1\\] email', '\\[EMAIL\\_1\\] [KEYWORD_1]'],
  ['a keyword in a URL', [keyword('email')], '%5BEMAIL_1%5D', '%5BEMAIL_1%5D'],
  ['a label of its own', [keyword('project', { placeholder: 'PROJECT' })], '[PROJECT_7]', '[PROJECT_7]'],
  ['a whole placeholder', [keyword('\\[SECRET_1\\]')], '[SECRET_1]', '[SECRET_1]'],
  ['another label', [keyword('aurora')], '[AURORA_2]', '[[KEYWORD_1]_2]'],
  ['a number that is too long', [kind('TICKET_[0-9]{6}')], '[TICKET_204711]', '[[TICKET_1]]'],
  ['an own kind', [kind('[A-Z]+_[0-9]+')], '[EMAIL_1] A_12 [TICKET_1]', '[EMAIL_1] [TICKET_2] [TICKET_1]'],
  ['a match that ends in one', [kind('x.{0,4}')], 'xy[EMAIL_1]', '[TICKET_1][EMAIL_1]'],
  ['a match that begins in one', [kind('1.{0,4}')], '[EMAIL_1]abc', '[EMAIL_1][TICKET_1]'],
  ['no end', [keyword('email')], '[EMAIL_1', '[[KEYWORD_1]_1'],
  ['no number', [keyword('email')], '[EMAIL_] [EMAIL_01]', '[[KEYWORD_1]_] [[KEYWORD_1]_01]'],
]

for (const [what, rules, text, sent] of CASES)
  t.test(`placeholders stay whole: ${what}`, async (t) => {
    t.equal(redacted(rules, text), sent, 'in a prompt')
    const scan = scanOf(rules)
    const { openLabels } = selectRules(rules)
    const numbering = () => {
      const placeholders = new Placeholders(null, {}, false, openLabels)
      placeholders.avoid(text)
      return placeholders
    }
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 6 }), (cuts) => {
        t.equal(scanPieces(cutText(text, cuts), scan, 'plain', numbering()).sent, sent)
      }),
      { numRuns: 20 },
    )
    t.equal(scanPieces([...text], scan, 'plain', numbering()).sent, sent, 'by characters')
  })

t.test('the shapes of placeholders stay whole, too', async (t) => {
  const shaped = rule('all', '*', { type: 'pii', action: 'redact', placeholders: 'shaped' })
  const rules = [shaped, keyword('redacted'), kind('email-[0-9]')]
  const text = 'email-1@redacted.invalid'
  t.equal(redacted(rules, `${text} redacted`), `${text} [KEYWORD_1]`)
  t.equal(scanPieces([...text], scanOf(rules)).sent, text)
})

t.test('placeholders of a call are restored beside keywords that match them', async (t) => {
  const rules = [ALL, keyword('email')]
  t.equal(redacted(rules, 'email ann@corp.com'), '[KEYWORD_1] [EMAIL_1]')
  const restoration = new Restoration(new Map([['[EMAIL_1]', 'ann@corp.com']]))
  const scan = { ...scanOf(rules), restoration }
  for (const pieces of [['email [EMAIL_1]'], [...'email [EMAIL_1]']])
    t.equal(scanPieces(pieces, scan).sent, '[KEYWORD_1] ann@corp.com')
})

t.test('any text is the same whole and in pieces', async (t) => {
  const rules = [keyword('e?mail|k'), kind('[0-9]+.{0,3}')]
  const scan = scanOf(rules)
  const piece = fc.constantFrom(
    '[',
    ']',
    '_',
    'EMAIL',
    '1',
    'k3f9a2xx',
    '\\',
    '%5B',
    '%',
    '5D',
    ' ',
    'TICKET',
    'e',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), fc.array(fc.nat(), { maxLength: 5 }), (words, cuts) => {
      const text = words.join('')
      t.same(scanPieces(cutText(text, cuts), scan), scanPieces([text], scan), text)
    }),
    { numRuns: 150 },
  )
})
