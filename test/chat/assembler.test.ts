import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { Assembler } from '../../src/chat/assembler.ts'
import type { JsonObject } from '../../src/core/json.ts'

const delta = (more: JsonObject, index = 0): JsonObject => ({ id: 'x', choices: [{ index, delta: more }] })

t.test('a text in pieces takes the memory of its length and keeps no chunk alive', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const used = () => {
    gc()
    return process.memoryUsage().heapUsed
  }
  const assembler = new Assembler()
  assembler.add(delta({ content: '', tool_calls: [{ index: 0, function: { arguments: '' } }] }))
  const before = used()
  for (let round = 0; round < 100; round++) {
    // Events are slices of the socket's buffer; a slice keeps all of it alive.
    const received = Buffer.alloc(64 * 1024, 'some words of an answer; ').toString('latin1')
    for (let at = 0; at < 64 * 1024; at += 256) {
      assembler.grow(0, 'content', received.slice(at, at + 20))
      const tool = { index: 0, function: { arguments: received.slice(at, at + 20) } }
      assembler.add(delta({ tool_calls: [tool] }))
    }
  }
  const taken = used() - before
  const { choices } = assembler.result() as { choices: { message: JsonObject }[] }
  const { content, tool_calls: tools } = choices[0]!.message as {
    content: string
    tool_calls: { function: { arguments: string } }[]
  }
  t.same([content.length, tools[0]!.function.arguments.length], [512_000, 512_000])
  t.ok(taken < 3_000_000, `${taken} bytes for a million characters`)
})

t.test('members outside the choices are kept from any chunk, the last of lists and objects', async (t) => {
  const assembler = new Assembler()
  const sources = (...urls: string[]): JsonObject => ({ ...delta({ content: 'a' }), citations: urls })
  assembler.add({
    ...delta({ content: 'a' }),
    model: 'm',
    system_fingerprint: null,
    prompt_filter_results: [],
  })
  assembler.add({ ...sources('https://a.example'), model: 'another', system_fingerprint: 'fp' })
  assembler.add(sources('https://a.example', 'https://b.example'))
  const { characters } = assembler
  for (let round = 0; round < 1000; round++) assembler.add(sources('https://a.example', 'https://b.example'))
  t.equal(assembler.characters - characters, 1000, 'a repeated value is kept once')
  assembler.add({
    id: 'x',
    choices: [],
    ['__proto__']: 1,
    images: [{ url: 'https://c.example' }],
    citations: null,
  })
  t.match(assembler.result(), {
    id: 'x',
    model: 'm',
    system_fingerprint: 'fp',
    prompt_filter_results: [],
    citations: ['https://a.example', 'https://b.example'],
    images: [{ url: 'https://c.example' }],
  })
  const many = () => {
    for (let name = 0; ; name++) assembler.add({ choices: [], [`name${name}`]: 'x'.repeat(1024 * 1024) })
  }
  t.throws(many, { code: 'upstream_unavailable' }, 'and no more than an answer may be long')
})

t.test('an answer is assembled whole from any cut, and its size is counted', async (t) => {
  const said = fc.array(fc.tuple(fc.nat(2), fc.constantFrom('content', 'reasoning'), fc.string()), {
    maxLength: 30,
  })
  fc.assert(
    fc.property(said, fc.integer({ min: 1, max: 3000 }), (pieces, times) => {
      const assembler = new Assembler()
      const expected = new Map<string, string>()
      for (const [choice, name, text] of pieces) {
        const long = text.repeat(times)
        if (!assembler.grow(choice, name, long)) assembler.add(delta({ [name]: long }, choice))
        const key = `${choice} ${name}`
        expected.set(key, (expected.get(key) ?? '') + long)
      }
      const { choices } = assembler.result() as { choices: { index: number; message: JsonObject }[] }
      let characters = 0
      for (const [key, text] of expected) {
        const [choice, name] = key.split(' ')
        t.equal(choices.find(({ index }) => index === Number(choice))?.message[name!], text)
        characters += text.length
      }
      t.ok(assembler.characters >= characters)
    }),
    { numRuns: 60 },
  )
})

t.test('separate texts are not joined', async (t) => {
  const result = (...deltas: JsonObject[]) => {
    const assembler = new Assembler()
    for (const one of deltas) assembler.add(delta(one))
    const { choices } = assembler.result() as { choices: { message: JsonObject }[] }
    return choices[0]!.message
  }
  for (const name of ['title', 'status', 'display_name', 'some.field', 'número'])
    t.same(result({ [name]: 'alice@' }, { [name]: 'example.com' }), {
      role: 'assistant',
      [name]: 'example.com',
    })
  const note = (text: string) => ({ annotations: [{ index: 0, text }] })
  t.same(result(note('alice@'), note('example.com'))['annotations'], [
    { index: 0, text: 'alice@' },
    { index: 0, text: 'example.com' },
  ])
  const part = (input: string) => ({ content: [{ index: 0, type: 'input_json_delta', partial_json: input }] })
  t.match(result(part('alice@'), part('example.com')), { content: [{ partial_json: 'example.com' }] })
})
