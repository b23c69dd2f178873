// Paths that servers read in different ways, and the form in which a path is matched and forwarded.

import fc from 'fast-check'
import t from 'tap'
import { looseForm, normalisePath } from '../../src/core/request-path.ts'

t.test('a path is brought to its normal form', async (t) => {
  for (const [path, normal] of [
    ['/v1/images/generations', '/v1/images/generations'],
    ['/v1/im%61ges/%67enerations', '/v1/images/generations'],
    ['/v1/files/a%20b.txt', '/v1/files/a%20b.txt'],
    ['/v1/files/%c3%a9', '/v1/files/%C3%A9'],
    ['/v1/files/a%7eb%2Dc.d', '/v1/files/a~b-c.d'],
    ['/v1/files/a:b@c,d=e&f', '/v1/files/a:b@c,d=e&f'],
    ['/v1/files/', '/v1/files/'],
    ['/v1/files/...a', '/v1/files/...a'],
  ])
    t.equal(normalisePath(path!), normal, String(path))
})

t.test('a path that servers read in different ways has no normal form', async (t) => {
  const dots = ['..', '%2e%2e', '.%2E', '%252e%252e', '%25252e.', '.', '%2e', '%20..', '...', '..%20']
  const others = ['..%2f', 'a%2Fb', 'a%252fb', '..\\', 'a\\b', 'a%5cb', 'a%255cb', '..;', 'a;b', 'a%3bb']
  const more = [
    'a#b',
    'a%23b',
    'a%3fb',
    'a%00',
    'a%2500',
    'a%0d%0ab',
    'a%7f',
    'a%',
    'a%zz',
    'a%e0%a4',
    'é',
    'a b',
  ]
  for (const segment of [...dots, ...others, ...more, '', `a${'%25'.repeat(1)}${'25'.repeat(10)}41`])
    t.equal(normalisePath(`/v1/images/${segment}/x`), null, JSON.stringify(segment))
  for (const path of ['', 'v1/a', '//v1/a', '/v1//a', 'http://host/v1/a', '*'])
    t.equal(normalisePath(path), null, JSON.stringify(path))
})

t.test('a normal form is its own, and means the same', async () => {
  const segment = fc.string({
    unit: fc.constantFrom('a', 'Z', '0', '~', '-', '%41', '%c3%A9', '%20', '%2561'),
  })
  fc.assert(
    fc.property(
      fc.array(
        segment.filter((one) => /[aZ0]/.test(one)),
        { minLength: 1 },
      ),
      (segments) => {
        const path = `/${segments.join('/')}`
        const normal = normalisePath(path)
        return (
          normal !== null &&
          normalisePath(normal) === normal &&
          decodeURIComponent(normal) === decodeURIComponent(path)
        )
      },
    ),
  )
})

t.test('a loose form is what a tolerant server may take a path for', async (t) => {
  for (const path of [
    '/v1/chat/completions/',
    '/V1/Chat/COMPLETIONS',
    '/v1/chat/completions%20',
    '/v1/%20chat/completions',
    '/v1/ch%2561t/completions',
    '/v1/chat/%EF%BD%83ompletions',
  ])
    t.equal(looseForm(path), '/v1/chat/completions', path)
})
