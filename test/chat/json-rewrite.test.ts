// Writing a changed value in the form of its source.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { rewriteSteps } from '../../src/chat/json-rewrite.ts'
import { parseJson, parseReceived } from '../../src/chat/strict-json.ts'
import { requestTexts } from '../../src/chat/texts.ts'
import { isObject, type JsonObject, type JsonValue } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

const rewrite = (source: string, value: JsonValue) => atOnce(rewriteSteps(source, value))
const parse = (text: string) => parseJson(Buffer.from(text))

/** Writes JSON with white space, escapes, and members in the order given. */
type Tree = string | number | boolean | null | { list: Tree[] } | { members: [string, Tree][] }
const name = fc.oneof(
  fc.constantFrom('2026', '7', 'name', 'a"b', 'é', '4155552671'),
  fc.string({ maxLength: 4 }),
)
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.constantFrom<Tree>(1, 0.5, -0, 1e21, true, false, null, 'x\n"\\'),
    fc.array(tie('tree'), { maxLength: 4 }).map((list) => ({ list })),
    fc
      .uniqueArray(fc.tuple(name, tie('tree')), { maxLength: 4, selector: ([one]) => one })
      .map((members) => ({ members: members as [string, Tree][] })),
  ),
}))
const space = fc.constantFrom('', ' ', '\n  ', '\t')
const escaped = (text: string) =>
  `"${text.replace(/[^a-z]/gu, (c) =>
    c
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )}"`

function written(one: Tree, s: string, isEscaped: boolean): string {
  const text = (value: string) => (isEscaped ? escaped(value) : JSON.stringify(value))
  if (typeof one === 'string') return text(one)
  if (typeof one === 'number')
    return Object.is(one, -0) ? '-0.0' : one === 1 ? '1.0' : one === 0.5 ? '5e-1' : String(one)
  if (one === null || typeof one === 'boolean') return String(one)
  if ('list' in one)
    return `[${s}${one.list.map((item) => written(item, s, isEscaped)).join(`${s},${s}`)}${s}]`
  const members = one.members.map(([key, value]) => `${text(key)}${s}:${s}${written(value, s, isEscaped)}`)
  return `{${s}${members.join(`${s},${s}`)}${s}}`
}

const source = fc
  .tuple(tree, space, fc.boolean())
  .map(([one, s, isEscaped]) => s + written(one, s, isEscaped) + s)
  .filter((text) => text.isWellFormed() && !/__proto__|\\ud[89a-f]|005f/i.test(text))

t.test('a long text is written in steps', async (t) => {
  const text = 'a "b"\n'.repeat(50_000)
  const source = JSON.stringify({ a: ['x', 1], b: { c: 'y' } })
  for (const value of [
    { a: [text, 1], b: { c: text } },
    { a: [text], b: {}, d: text },
  ]) {
    t.equal(rewrite(source, value), JSON.stringify(value))
    t.ok([...rewriteSteps(source, value)].length > text.length / (64 * 1024))
  }
  t.equal(rewrite('"x"', text), JSON.stringify(text))
})

t.test('what did not change is the source itself', async () => {
  fc.assert(
    fc.property(source, (text) => rewrite(text, parse(text)) === text),
    { numRuns: 2000 },
  )
})

/** Changes some places of a value, in place. */
function change(value: JsonValue, dice: () => number): JsonValue {
  if (dice() === 0) return ['new', { text: 'a' }, 7, null, 'x'][dice() % 5]!
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = change(item, dice)
    if (dice() === 1) value.splice(dice(), 1)
    if (dice() === 2) value.push('added')
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (dice() === 3) delete value[key]
      else value[key] = change(value[key]!, dice)
    }
    if (dice() === 4) value['added'] = { one: 1 }
  }
  return value
}

/** The value of a JSON text, as JSON.stringify writes it: without zeros below zero. */
const meaning = (text: string) => parseReceived(JSON.stringify(parseReceived(text)))

t.test('a changed value is written, in each place that changed', async () => {
  fc.assert(
    fc.property(source, fc.array(fc.nat(7), { minLength: 1, maxLength: 30 }), (text, rolls) => {
      let roll = 0
      const value = change(parse(text), () => rolls[roll++ % rolls.length]!)
      return isDeepStrictEqual(meaning(rewrite(text, value)), meaning(JSON.stringify(value)))
    }),
    { numRuns: 3000 },
  )
})

t.test('members keep their order and numbers their digits where a text is replaced', async (t) => {
  const text = `{ "model":"m", "temperature": 1.0, "messages": [{"role":"user","content":"ann\\u0040example.com \\u00e9"}],
  "tools": [{"properties": {"name": 1, "2026": 0.10, "2025": 12345678901234567890, "bob@example.com": {"b": 1e3, "1": 2}}}], "seed": -0 }`
  const body = parse(text) as JsonObject
  const walk = atOnce(requestTexts(body))
  for (const one of walk.texts)
    if (one.text.includes('@')) one.replace(one.text.replace(/\w+@[\w.]+/, '[EMAIL_1]'))
  walk.commit()
  t.equal(
    rewrite(text, body),
    text
      .replace('"ann\\u0040example.com \\u00e9"', '"[EMAIL_1] é"')
      .replace('"bob@example.com"', '"[EMAIL_1]"'),
  )
})

t.test('members that are removed or added leave the others as they are', async (t) => {
  const text = '{ "a" : 1.0 , "b" : [ 1.0 , 2.0 ] , "c" : { } }'
  const without = (...names: string[]) => {
    const value = parse(text) as JsonObject
    for (const one of names) delete value[one]
    return value
  }
  t.equal(rewrite(text, without('a')), '{ "b" : [ 1.0 , 2.0 ] , "c" : { } }')
  t.equal(rewrite(text, without('b')), '{ "a" : 1.0 , "c" : { } }')
  t.equal(rewrite(text, without('c')), '{ "a" : 1.0 , "b" : [ 1.0 , 2.0 ] }')
  t.equal(rewrite(text, without('a', 'b', 'c')), '{ }')
  t.equal(rewrite(text, { ...without('a', 'b'), d: 1 }), '{ "c" : { },"d":1 }')
  t.equal(rewrite(text, { ...without(), b: [1] }), '{ "a" : 1.0 , "b" : [ 1.0 ] , "c" : { } }')
  t.equal(rewrite('{}', { d: 1 }), '{"d":1}')
  t.equal(rewrite(' [ ] ', [1, 2]), ' [1,2 ] ')
})

t.test('items that are removed leave those after them as they are', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(tree, fc.boolean()), { maxLength: 6 }), (items) => {
      const text = (kept: readonly (readonly [Tree, boolean])[]) =>
        `{"a":${written({ list: kept.map(([item]) => item) }, '', false)},"b":1.0}`
      const value = parse(text(items)) as { a: JsonValue[] }
      const gone = items.flatMap(([, isKept], index) => (isKept ? [] : [index]))
      value.a = value.a.filter((_, index) => !gone.includes(index))
      const removed = new Map([[value.a, new Set(gone)]])
      const kept = items.filter(([, isKept]) => isKept)
      return atOnce(rewriteSteps(text(items), value, removed)) === text(kept)
    }),
    { numRuns: 1000 },
  )
})

t.test('what changes next to removed items is written, and what does not stays', async () => {
  const rolls = fc.array(fc.nat(7), { minLength: 1, maxLength: 30 })
  const lists = fc.array(fc.tuple(tree, fc.boolean()), { maxLength: 6 })
  fc.assert(
    fc.property(lists, tree, space, rolls, (items, other, s, rolls) => {
      const source = `{"a":${written({ list: items.map(([item]) => item) }, s, false)},"b":${written(other, s, false)}}`
      const value = parse(source) as { a: JsonValue[]; b: JsonValue }
      const gone = items.flatMap(([, isKept], index) => (isKept ? [] : [index]))
      let roll = 0
      const dice = () => rolls[roll++ % rolls.length]!
      value.b = change(value.b, dice)
      value.a = value.a.flatMap((item, index) => (gone.includes(index) ? [] : [change(item, dice)]))
      const removed = new Map([[value.a, new Set(gone)]])
      const text = atOnce(rewriteSteps(source, value, removed))
      return isDeepStrictEqual(meaning(text), meaning(JSON.stringify(value)))
    }),
    { numRuns: 2000 },
  )
})

t.test('a step is bounded', async (t) => {
  const long = JSON.stringify(Array.from({ length: 100_000 }, (_, index) => ({ index })))
  let steps = 0
  for (const work = rewriteSteps(long, parse(long)); work.next().done !== true; ) steps++
  t.ok(steps >= 10, String(steps))
})
