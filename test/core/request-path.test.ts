// Paths that servers read in different ways, and the form in which a path is matched and forwarded.

import fc from 'fast-check'
import t from 'tap'
import { looseForm, normalisePath, splitTarget } from '../../src/core/request-path.ts'

t.test('a target is cut at its first question mark', async (t) => {
  for (const [target, path, search] of [
    ['/v1/models', '/v1/models', ''],
    ['/v1/models?', '/v1/models', ''],
    ['/v1/models?a=1&b=?2', '/v1/models', 'a=1&b=?2'],
    ['?a', '', 'a'],
    ['', '', ''],
  ] as const)
    t.strictSame(splitTarget(target), { path, search }, target)
})

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
    ['/v1/files/%C2%BD%EF%BD%83', '/v1/files/%C2%BD%EF%BD%83'],
  ])
    t.equal(normalisePath(path!), normal, String(path))
})

t.test('a path that servers read in different ways has no normal form', async (t) => {
  const dots = [
    '..',
    '%2e%2e',
    '.%2E',
    '%252e%252e',
    '%25252e.',
    '.',
    '%2e',
    '%20..',
    '...',
    '..%20',
    '.%20.',
    '%20',
    '%C2%A0.',
  ]
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
  const invisible = [
    '%E2%80%8B',
    '%C2%AD',
    '%EF%BB%BF',
    '%E2%80%8E',
    '%E3%85%A4',
    '%CD%8F',
    '%EF%B8%8F',
    '%25C2%25AD',
  ]
  for (const one of invisible)
    for (const segment of [one, `a${one}`, `a${one}b`])
      t.equal(normalisePath(`/v1/images/${segment}`), null, segment)
  for (const one of [
    ...'\uff0e\u2024\u2026\ufe52\u2488\uff0f\u2105\uff3c\ufe68\u037e\uff1b\uff03\uff1f\uff05',
  ])
    for (const text of [`${one}${one}`, `a${one}b`])
      t.equal(normalisePath(`/v1/images/${encodeURIComponent(text)}/chat`), null, JSON.stringify(text))
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
        segment.filter((one) => decodeURIComponent(one).trim() !== ''),
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
    ...['.json', ':', ':batch', '!', '+', '~', '*', '&a=b', ',', '-', '__', '=', '%27', '%60', '%C2%A0x'],
  ].map((path) => (path.startsWith('/') ? path : `/v1/chat/completions${path}`)))
    t.equal(looseForm(path), '/v1/chat/completions', path)
  t.equal(looseForm('/v1/responses.json/resp_1:x'), '/v1/responses/resp_1')
  for (const other of ['/v1/completions-v2', '/v1/chat_completions', '/v1/%C3%A9t%C3%A9'])
    t.equal(looseForm(other), decodeURIComponent(other))
})
