import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { formatUsd, usdOf } from '../../src/core/money.ts'
import { formatProblem } from '../../src/core/problem.ts'
import { type Price, PriceBook } from '../../src/prices/price-book.ts'
import { openPrices, parsePrices, whyNoPrices } from '../../src/prices/price-file.ts'
import { PRICES_SCHEMA } from '../../src/prices/price-schema.ts'
import { FREE } from './fixture.ts'

const CONFIG = fileURLToPath(new URL('../../config/', import.meta.url))
const USD = 1e9

const problemsOf = (text: string): string[] => parsePrices(text, 'prices.yaml').problems.map(formatProblem)
/** A file with one line for the model `m`. */
const lineOf = (members: string): string => `prices:\n  m: {${members}}\n`

t.test('what a line leaves out follows from the rest', async (t) => {
  const tokens = (input: number, output: number) => ({
    ...FREE,
    ...{ input, cachedInput: input, cacheWrite: input, cacheWrite1h: input, audioInput: input },
    ...{ output, reasoning: output, audioOutput: output },
  })
  const { tiers: _, request: __, image: ___, above: ____, ...above } = tokens(2.5 * USD, 15 * USD)
  const cases: readonly (readonly [string, Price])[] = [
    ['input: 1.25, output: 10', tokens(1.25 * USD, 10 * USD)],
    [
      'input: 1.25, cachedInput: 0.125, output: 10, reasoning: 20, request: 0.01, image: 0.002',
      {
        ...tokens(1.25 * USD, 10 * USD),
        cachedInput: 0.125 * USD,
        reasoning: 20 * USD,
        request: 0.01 * USD,
        image: 0.002 * USD,
      },
    ],
    [
      'input: 1, cacheWrite: 2, audioInput: 3, output: 4, audioOutput: 5',
      {
        ...tokens(USD, 4 * USD),
        cacheWrite: 2 * USD,
        cacheWrite1h: 2 * USD,
        audioInput: 3 * USD,
        audioOutput: 5 * USD,
      },
    ],
    [
      'input: 0, cachedInput: 1, output: 0, reasoning: 2',
      { ...tokens(0, 0), cachedInput: USD, reasoning: 2 * USD },
    ],
    ['input: 0.000000001, output: 1e-9, request: 1000000', { ...tokens(1, 1), request: 1_000_000 * USD }],
    [
      'input: 1.25, output: 10, above: {tokens: 200000, input: 2.5, output: 15}',
      { ...tokens(1.25 * USD, 10 * USD), above: { tokens: 200_000, prices: above } },
    ],
    [
      'input: 1, output: 2, tiers: {flex: {input: 0.5, output: 1}, "9": {input: 3, output: 4}}',
      {
        ...tokens(USD, 2 * USD),
        tiers: new Map(
          [tokens(3 * USD, 4 * USD), tokens(USD / 2, USD)].map(
            ({ tiers: _, request: __, image: ___, ...tier }, index) => [index === 0 ? '9' : 'flex', tier],
          ),
        ),
      },
    ],
  ]
  for (const [members, price] of cases) {
    const { book, problems } = parsePrices(lineOf(members), 'prices.yaml')
    t.same([problems, book.priceOf('m')], [[], price], members)
  }
  t.equal(parsePrices('prices: {}\n', 'prices.yaml').problems.length, 0, 'a file without lines')
})

t.test('every error has its place and the allowed form', async (t) => {
  const plain = /must be a number: USD .*A plain number such as 1\.25, .* no unit or currency/
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['input: -1, output: 1', '2:14 prices.m.input', /must be from 0 to 1000000/],
    ['input: 1000001, output: 1', '2:14 prices.m.input', /must be from 0 to 1000000/],
    ['input: 1e300, output: 1', '2:14 prices.m.input', /must be from 0 to 1000000/],
    ['input: 1.25 EUR, output: 1', '2:14 prices.m.input', plain],
    ['input: 1, output: USD', '2:25 prices.m.output', plain],
    ['input: $1, output: 1', '2:14 prices.m.input', plain],
    ['input: "1", output: 1', '2:14 prices.m.input', plain],
    ['input: 1_000, output: 1', '2:14 prices.m.input', plain],
    ['input: true, output: 1', '2:14 prices.m.input', plain],
    ['input: .nan, output: 1', '2:14 prices.m.input', plain],
    ['input: .inf, output: 1', '2:14 prices.m.input', plain],
    ['input: 1, output: 1, image: NaN', '2:35 prices.m.image', plain],
    ['input: 1, output: 1, image: null', '2:35 prices.m.image', plain],
    ['input: 0.0000000001, output: 1', '2:14 prices.m.input', /more than nine decimals; round it/],
    ['input: 1.0000000001, output: 1', '2:14 prices.m.input', /more than nine decimals; round it/],
    ['input: 1, output: 1, inputs: 1', '2:28 prices.m.inputs', /not a known key; did you mean `input`\?/],
    ['input: 1', '2:6 prices.m.output', /is required/],
    ['output: 1', '2:6 prices.m.input', /is required/],
  ]
  for (const [members, place, message] of cases) {
    const problems = problemsOf(lineOf(members))
    t.equal(problems.length, 1, members)
    t.ok(problems[0]?.startsWith(`prices.yaml:${place}: `), `${members}: ${problems[0]}`)
    t.match(problems[0], message)
  }
})

t.test('errors of globs and of the whole file', async (t) => {
  const price = '{input: 1, output: 1}'
  const long = 'x'.repeat(129)
  const cases: readonly (readonly [string, RegExp])[] = [
    [`prices:\n  a: ${price}\n  "a": ${price}\n`, /^prices\.yaml:3:3 duplicate key; remove one/],
    [`prices:\n  "": ${price}\n`, /^prices\.yaml:2:3 .*must not be empty/],
    [`prices:\n  ${long}: ${price}\n`, /^prices\.yaml:2:3 .*must have at most 128 characters/],
    [`prices:\n  "a\\b": ${price}\n`, /^prices\.yaml:2:\d+ .*control character U\+0008.*single quotes/],
    ['prices:\n  a: 1\n', /^prices\.yaml:2:6 prices\.a: must be an object/],
    ['prices:\n', /^prices\.yaml:1:8 prices: must be an object/],
    ['prices: []\n', /^prices\.yaml:1:9 prices: must be an object/],
    ['price: {}\n', /did you mean `prices`/],
    ['', /must be an object with keys: prices/],
    ['prices: {', /is not valid YAML/],
    [`prices:\n  *x: ${price}\n`, /in single quotes/],
    [
      `prices:\n${Array.from({ length: 2001 }, (_, n) => `  m${n}: ${price}\n`).join('')}`,
      /at most 2000 of its keys/,
    ],
  ]
  for (const [text, message] of cases) {
    const { book } = parsePrices(text, 'prices.yaml')
    t.ok(
      problemsOf(text).some((problem) => message.test(problem)),
      `${message}: ${problemsOf(text)[0]}`,
    )
    t.same([book.lines, book.revision], [[], ''], 'a bad file gives no prices')
  }
  const many = `prices:\n${Array.from({ length: 1500 }, (_, n) => `  m${n}: {input: -1, output: 1}\n`).join('')}`
  t.match(problemsOf(many).at(-1), /and 500 more errors/)
})

t.test('lines keep the order of the file, also those of whole numbers', async (t) => {
  const text =
    'prices:\n  "a*": {input: 1, output: 1}\n  "7": {input: 2, output: 2}\n  "*": {input: 3, output: 3}\n  "4": {input: 4, output: 4}\n'
  const { book } = parsePrices(text, 'prices.yaml')
  t.same(
    book.lines.map(({ glob }) => glob),
    ['a*', '7', '*', '4'],
  )
  t.equal(book.priceOf('4')?.input, 3 * USD, 'an earlier line wins')
})

t.test('a decimal price survives', async () => {
  const amount = fc.nat({ max: 1_000_000 * USD })
  fc.assert(
    fc.property(amount, amount, (input, output) => {
      const text = lineOf(`input: ${formatUsd(input)}, output: ${formatUsd(output)}`)
      const price = parsePrices(text, 'prices.yaml').book.priceOf('m')
      return price?.input === input && price.output === output
    }),
  )
})

t.test('any number is a price or an error', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.double({ min: 0, max: 10 })), (number) => {
      const { book, problems } = parsePrices(lineOf(`input: ${number}, output: 0`), 'prices.yaml')
      const price = book.priceOf('m')
      return problems.length === 0 ? price?.input === usdOf(number) : price === null
    }),
  )
})

t.test('a file is opened by its content', async (t) => {
  const folder = t.testdir({ 'prices.yaml': lineOf('input: 1, output: 2') })
  const file = join(folder, 'prices.yaml')
  const first = await openPrices(file)
  const { book, problems, contentHash } = await first.read()
  t.same([problems, book.revision, contentHash], [[], contentHash, first.contentHash])
  t.match(contentHash, /^[0-9a-f]{64}$/)
  writeFileSync(file, lineOf('input: 1, output: 3'))
  t.not((await openPrices(file)).contentHash, contentHash)
  mkdirSync(join(folder, 'folder.yaml'))
  symlinkSync('nowhere', join(folder, 'dangling.yaml'))
  writeFileSync(join(folder, 'large.yaml'), `#${'x'.repeat(128 * 1024)}\n`)
  writeFileSync(join(folder, 'latin.yaml'), Buffer.from('# caf\xe9\n', 'latin1'))
  const bad: readonly (readonly [string, RegExp, boolean])[] = [
    ['folder.yaml', /is not a regular file/, false],
    ['dangling.yaml', /cannot be read \(ENOENT\)/, true],
    ['large.yaml', /is larger than 131072 bytes; join models with globs/, false],
    ['latin.yaml', /is not valid UTF-8; save it as UTF-8/, false],
  ]
  for (const [name, message, unread] of bad) {
    const source = await openPrices(join(folder, name))
    const snapshot = await source.read()
    t.match(snapshot.problems, [{ line: 0, message }], name)
    t.equal(snapshot.problems[0]?.unread === true, unread)
    t.equal(snapshot.contentHash, source.contentHash)
  }
  t.equal(whyNoPrices(file), null)
  t.match(whyNoPrices(join(folder, 'folder.yaml')), /is not a file; name the price file/)
  t.match(whyNoPrices(join(folder, 'none.yaml')), /cannot be read \(ENOENT\); name a price file/)
})

t.test('the sample file has no errors, and config/prices.schema.json is the schema', async (t) => {
  const text = readFileSync(`${CONFIG}prices.yaml`, 'utf8')
  t.match(text, /^# yaml-language-server: \$schema=prices\.schema\.json\n/)
  const { book, problems } = parsePrices(text, 'prices.yaml')
  t.same(problems, [])
  t.equal(book.priceOf('openai/gpt-5-mini-2025-08-07')?.cachedInput, 0.025 * USD)
  const shadowed = book.lines.filter((line) => {
    const model = line.glob.replaceAll('*', 'x')
    return new PriceBook(book.lines, '').priceOf(model) !== line.price
  })
  t.same(shadowed, [], 'no line is without effect')
  t.same(
    JSON.parse(readFileSync(`${CONFIG}prices.schema.json`, 'utf8')),
    JSON.parse(JSON.stringify(PRICES_SCHEMA)),
  )
})
