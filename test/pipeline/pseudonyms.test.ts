// Pseudonyms: a value has one name with a key, in any call and in any written form.

import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { COMPLETIONS } from '../../src/chat/completions-api.ts'
import { EMBEDDINGS } from '../../src/chat/embeddings-api.ts'
import { requestTexts } from '../../src/chat/texts.ts'
import { PII_KINDS, type PiiKind } from '../../src/core/finding.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { detect } from '../../src/detect/pii/detect.ts'
import { Identifiers } from '../../src/pipeline/prompt/identifiers.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { PSEUDONYM_CHARACTERS, Pseudonyms } from '../../src/pipeline/scan/pseudonyms.ts'
import type { ScanRules } from '../../src/pipeline/scan/text-scanner.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, cutText, scanPieces, selectRules } from './fixture.ts'

const KEY = 'the key of pseudonyms in tests 5'
const FORM = new RegExp(`^\\[EMAIL_${PSEUDONYM_CHARACTERS}\\]$`)
const model = loadInjectionModel()

const pii = (more: Partial<Rule> = {}): Rule =>
  rule('names', '*', { type: 'pii', action: 'pseudonym', ...more })
const names = (key = KEY) => new Pseudonyms(() => key)
const nameOf = (kind: PiiKind, value: string, key = KEY) => names(key).for(kind, value)

const NO_RULES: readonly Rule[] = []
const COUNTING = { asked: 0 }

function look(body: JsonObject, rules: readonly Rule[], walk = requestTexts(body), key = KEY) {
  const inspection = atOnce(
    inspect(atOnce(walk), selectRules(rules), {
      ...{ kinds: ALL_KINDS, injection: model, identifiers: new Identifiers('secret') },
      pseudonyms: {
        key: () => {
          COUNTING.asked++
          return key
        },
        inEmbeddings: true,
      },
    }),
  )
  return { ...inspection, body }
}

const embed = (input: JsonObject[string], rules = NO_RULES, more: JsonObject = {}, key = KEY) => {
  const body: JsonObject = { model: 'm', input, ...more }
  return look(body, rules, EMBEDDINGS.requestTexts(body), key)
}
const inputOf = (...texts: string[]) => embed(texts).body['input'] as string[]
const ask = (content: string, rules: readonly Rule[], ...before: JsonObject[]) =>
  look({ model: 'm', messages: [...before, { role: 'user', content }] }, rules)
const contentOf = ({ body }: { body: JsonObject }) => (body['messages'] as JsonObject[]).at(-1)!['content']

t.test('the name is the kind and eight characters of the keyed hash', async (t) => {
  const hash = createHmac('sha256', KEY).update('ann@example.com').digest()
  const bits = [...hash].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const letters = bits.match(/.{5}/g)!.map((five) => '23456789abcdefghijkmnpqrstuvwxyz'[parseInt(five, 2)])
  t.equal(nameOf('email', 'ann@example.com'), `[EMAIL_${letters.slice(0, 8).join('')}]`)
  t.match(nameOf('email', 'ann@example.com'), FORM)
  t.not(nameOf('email', 'ann@example.com', `${KEY}2`), nameOf('email', 'ann@example.com'))
})

const SAME: [kind: PiiKind, ...spellings: string[]][] = [
  ['email', 'ann@example.com', 'ann@EXAMPLE.com', 'ann%40example.com', 'ann\\u0040example.com'],
  ['credit_card', '4111 1111 1111 1111', '4111-1111-1111-1111', '4111111111111111'],
  ['iban', 'DE89 3704 0044 0532 0130 00', 'de89370400440532013000'],
  ['phone', '+1 415 555 2671', '+1 (415) 555-2671', '+14155552671'],
  ['us_ssn', '123-45-6789', '123 45 6789'],
  ['national_id', '529.982.247-25', '52998224725'],
  ['mac_address', '00:1b:44:11:3a:b7', '00-1B-44-11-3A-B7'],
  ['ip_address', '2001:DB8::1', '2001:db8::1'],
  ['case_number', 'CASE-104233', 'CASE%2D104233', 'CASE\u2013104233'],
]
for (const [kind, ...spellings] of SAME)
  t.test(`spellings of one ${kind} have one name`, async (t) => {
    t.equal(new Set(spellings.map((value) => nameOf(kind, value))).size, 1)
  })

t.test('values that differ have different names', async (t) => {
  t.not(nameOf('email', 'Ann@example.com'), nameOf('email', 'ann@example.com'), 'the local part counts')
  t.not(nameOf('case_number', 'CASE-104233'), nameOf('case_number', 'case-104233'))
  t.not(nameOf('secret', 'sk-ABC'), nameOf('secret', 'sk-abc'))
  t.not(nameOf('person', 'Ann Lee'), nameOf('person', 'Ann Li'))
})

/** Two addresses with the same eight characters. */
const [ONE, OTHER] = ['user675940@example.com', 'user1469366@example.com']

t.test('values with the same first characters get longer names, in any order', async (t) => {
  t.equal(nameOf('email', ONE), nameOf('email', OTHER), 'each alone')
  const [one, other] = inputOf(ONE, OTHER)
  t.not(one, other)
  t.match(one, /^\[EMAIL_\w{16}\]$/)
  t.same(inputOf(OTHER, 'ann@example.com', ONE), [other, nameOf('email', 'ann@example.com'), one])
  const placeholders = new Placeholders(null, {}, false, new Set(), () => KEY)
  const known = placeholders.pseudonyms.for('email', ONE)
  t.equal(known, nameOf('email', ONE))
  t.equal(placeholders.fork().pseudonyms.for('email', OTHER), other, 'one that is new in an answer')
  t.equal(placeholders.fork().pseudonyms.for('email', ONE), known)
})

const VALUES = ['ann@example.com', 'bob@example.org', '4111 1111 1111 1111', '+1 415 555 2671', ONE]
const WORDS = ['write to', 'about', 'and', 'or', 'the invoice of', '[EMAIL_1]', '[EMAIL_k3f9a2xz]', '«', '—']
const aText = fc
  .array(fc.constantFrom(...VALUES, ...WORDS), { minLength: 1, maxLength: 8 })
  .map((list) => list.join(' '))

t.test('a text is forwarded alike in every batch, order and call', async () => {
  fc.assert(
    fc.property(fc.array(aText, { minLength: 1, maxLength: 8 }), (texts) => {
      const alone = texts.map((text) => inputOf(text)[0]!)
      const together = inputOf(...texts)
      const backwards = inputOf(...[...texts].reverse()).reverse()
      const single = texts.map((text) => embed(text).body['input'])
      return [together, backwards, single].every((one) => JSON.stringify(one) === JSON.stringify(alone))
    }),
    { numRuns: 30 },
  )
})

t.test('a text of a conversation is forwarded alike in every call', async () => {
  fc.assert(
    fc.property(aText, fc.array(aText, { maxLength: 3 }), (text, others) => {
      const before = others.map((content) => ({ role: 'user', content: `${content} end of it.` }))
      const sent = contentOf(ask(`Look: ${text}`, [pii()], ...before))
      return sent === contentOf(ask(`Look: ${text}`, [pii()]))
    }),
    { numRuns: 30 },
  )
})

t.test('no name is personal data, a number or an injection', async (t) => {
  const all = names()
  const form = new RegExp(PSEUDONYM_CHARACTERS)
  for (let index = 0; index < 500; index++) {
    const kind = PII_KINDS[index % PII_KINDS.length]!
    const name = all.for(kind, `value ${index}`)
    if (!form.test(name)) t.fail(name)
    const text = `Mail ${name}, call ${name}; password=${name} "api_key": "${name}" (${name}).`
    const found = detect(text, ALL_KINDS)
    if (found.length > 0) t.fail(`${text}: ${JSON.stringify(found)}`)
  }
  const list = Array.from({ length: 40 }, (_, index) => all.for('email', `user${index}@example.com`))
  const { injection } = look(
    { model: 'm', messages: [{ role: 'user', content: `Sort these: ${list.join(' ')}` }] },
    [rule('scored', '', { type: 'prompt_injection', action: 'monitor' })],
  )
  t.ok(injection!.score < 0.5)
})

t.test('embeddings name what other calls number, and follow the other actions', async (t) => {
  const name = nameOf('email', 'ann@example.com')
  const action = (one: Rule['action']) => embed('to ann@example.com', [pii({ action: one! })]).body['input']
  t.equal(embed('to ann@example.com').body['input'], `to ${name}`)
  for (const one of ['redact', 'restore', 'pseudonym'] as const) t.equal(action(one), `to ${name}`, one)
  t.equal(action('monitor'), 'to ann@example.com')
  t.equal(
    embed('to ann@example.com', [pii({ action: 'redact', placeholders: 'shaped' })]).body['input'],
    `to ${name}`,
  )
  t.same(embed([{ type: 'text', text: 'ann@example.com' }] as JsonObject[]).body['input'], [
    { type: 'text', text: name },
  ])
  t.same(embed([[1, 2, 3]] as never).body['input'], [[1, 2, 3]], 'token ids')
  t.equal(embed('x', NO_RULES, { user: 'ann@example.com' }).body['user'], name, 'the same in every replica')
  const body = { model: 'm', prompt: 'to ann@example.com' }
  t.equal(look(body, NO_RULES, COMPLETIONS.requestTexts(body)).body['prompt'], 'to [EMAIL_1]')
})

t.test('embeddings name keywords, which have one name in all disguises', async (t) => {
  const code = rule('code', 'aurora|boreal', { action: 'redact', placeholder: 'PROJECT' })
  const [aurora, boreal] = [nameOf('project', 'aurora'), nameOf('project', 'boreal')]
  t.same(embed(['on Aurora', 'on boreal and ＡURORA'], [code]).body['input'], [
    `on ${aurora}`,
    `on ${boreal} and ${aurora}`,
  ])
  t.same(embed(['on boreal'], [code]).body['input'], [`on ${boreal}`], 'without its neighbours')
  t.equal(embed('x', [code], { user: 'aurora' }).body['user'], aurora, 'the same in every replica')
  t.equal(contentOf(ask('Aurora, aurora', [code])), '[PROJECT_1], [PROJECT_1]', 'numbers elsewhere')
})

t.test('a call without such values never asks for the key', async (t) => {
  COUNTING.asked = 0
  embed('nothing here')
  ask('to ann@example.com', NO_RULES)
  ask('to ann@example.com', [pii({ pattern: 'phone' })])
  t.equal(COUNTING.asked, 0)
  embed(['ann@example.com', 'bob@example.com'])
  t.equal(COUNTING.asked, 1)
})

t.test('a rule names values in prompts of a kind, a part and a JSON number', async (t) => {
  const [mail, card] = [nameOf('email', 'ann@example.com'), nameOf('credit_card', '4111111111111111')]
  t.equal(contentOf(ask('to ann@example.com with 4111111111111111', [pii()])), `to ${mail} with ${card}`)
  const mixed = ask('to ann@example.com with 4111111111111111', [pii({ pattern: 'email' })])
  t.equal(contentOf(mixed), `to ${mail} with [CREDIT_CARD_1]`)
  t.equal(contentOf(ask('{"card": 4111111111111111}', [pii()])), `{"card": "${card}"}`)
  t.equal(
    contentOf(ask('http://x.example/?m=ann%40example.com', [pii()])),
    `http://x.example/?m=%5B${mail.slice(1, -1)}%5D`,
  )
  t.equal(mixed.restoration, null)
})

const scanOf = (rules: readonly Rule[], restoration: ScanRules['restoration'] = null): ScanRules => {
  const selection = selectRules(rules)
  return {
    ...{ kinds: ALL_KINDS, shapes: null, keywords: null, credential: null, restoration },
    decide: (kind) => selection.pii(kind, 'answer'),
  }
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })

t.test('an answer has the same names, however it is cut', async (t) => {
  const { placeholders } = ask('to ann@example.com', [pii()])
  const answer = 'Ask ann@example.com or bob@example.org, card 4111 1111 1111 1111, again bob@example.org.'
  const [ann, bob] = [nameOf('email', 'ann@example.com'), nameOf('email', 'bob@example.org')]
  const expected = `Ask ${ann} or ${bob}, card ${nameOf('credit_card', '4111111111111111')}, again ${bob}.`
  fc.assert(
    fc.property(cuts, (at) => {
      const { sent } = scanPieces(cutText(answer, at), scanOf([pii()]), 'plain', placeholders.fork())
      return sent === expected
    }),
  )
  t.equal(scanPieces([expected], scanOf([pii()]), 'plain', placeholders.fork()).sent, expected, 'and again')
})

t.test('restore: true puts back the values of the prompt, and names what is new', async () => {
  const rules = [pii({ restore: true })]
  const { placeholders, restoration } = ask('to Ann@Example.com and 4111 1111 1111 1111', rules)
  const [ann, bob] = [nameOf('email', 'Ann@example.com'), nameOf('email', 'bob@example.org')]
  const card = nameOf('credit_card', '4111111111111111')
  const escaped = ann.replace(/[[\]_]/g, (sign) => `\\${sign}`)
  const strange = nameOf('email', 'carl@example.org')
  const answer = `Mail ${ann}, ${escaped} (%5B${ann.slice(1, -1)}%5D), not bob@example.org or ${strange}: ${card}`
  const expected = `Mail Ann@Example.com, Ann@Example.com (Ann%40Example.com), not ${bob} or ${strange}: 4111 1111 1111 1111`
  fc.assert(
    fc.property(cuts, (at) => {
      const scanned = scanPieces(
        cutText(answer, at),
        scanOf(rules, restoration),
        'plain',
        placeholders.fork(),
      )
      return scanned.sent === expected && scanned.logged === answer.replace('bob@example.org', bob)
    }),
  )
})
