// The section `recognisers` of the configuration: its defaults, and the place and the next step of
// each error.

import t from 'tap'
import { parseConfig } from '../../src/core/config.ts'
import { testClock } from '../store/fixture.ts'

const ONE = 'name: presidio, url: "http://127.0.0.1:5002/analyze", kinds: [person, location]'

const parse = (...items: string[]) => {
  const list = items.map((item) => `  - { ${item} }\n`).join('')
  const section = items.length === 0 ? '' : `recognisers:\n${list}`
  return parseConfig(`upstream: { baseUrl: http://h }\n${section}`, 'sidegate.yaml', {}, testClock())
}
const problems = (...items: string[]) =>
  parse(...items).problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)

t.test('there are no recognisers by default, and one needs three lines', async (t) => {
  t.strictSame(parse().config?.recognisers, [])
  t.strictSame(parse(ONE).config?.recognisers, [
    {
      name: 'presidio',
      url: 'http://127.0.0.1:5002/analyze',
      kinds: ['person', 'location'],
      language: 'en',
      minScore: 0.5,
      timeoutMs: 1000,
      onError: 'block',
      streams: 'sentences',
    },
  ])
})

t.test('every wrong value is an error with its place and the allowed form', async (t) => {
  const url = (text: string) => ONE.replace('http://127.0.0.1:5002/analyze', text)
  const cases: [string[], RegExp][] = [
    [[url('127.0.0.1:5002')], /^3 recognisers\[0\]\.url: is not an http or https URL; use a URL like http:/],
    [[url('ftp://127.0.0.1')], /url: is not an http or https URL/],
    [[url('https://a:b@names.example')], /url: must not carry a credential/],
    [[url('https://names.example/#x')], /url: must have no fragment/],
    [[url('http://names.example/analyze')], /url: must use https, .* http is only for a service on this mac/],
    [[ONE, ONE], /^4 recognisers\[1\]\.name: is the name of recognisers\[0\] too; give each its own/],
    [[ONE.replace('person', 'PERSON')], /kinds\[0\]: .*lower-case letters, with `_` between words/i],
    [[ONE.replace('[person, location]', '[]')], /kinds: must not be empty/],
    [[ONE.replace(', kinds: [person, location]', '')], /kinds: is required/],
    [[`${ONE}, timeoutMs: 5`], /timeoutMs: must be (?:at least|from|>=|a whole).*10/],
    [[`${ONE}, minScore: 2`], /minScore: must be .*1/],
    [[`${ONE}, onError: pass`], /onError: must be one of: block, ignore/],
    [[`${ONE}, streams: all`], /streams: must be one of: sentences, prompts/],
    [[`${ONE}, language: english`], /language: .*two lower-case letters/],
    [[`${ONE}, key: x`], /recognisers\[0\]\.key: is not a known key/],
  ]
  for (const [items, expected] of cases) {
    const found = problems(...items)
    t.equal(found.length, 1, found.join('\n'))
    t.match(found[0], expected)
  }
})

t.test('https is for any host', async (t) => {
  t.strictSame(problems(ONE.replace('http://127.0.0.1:5002', 'https://names.example')), [])
})
