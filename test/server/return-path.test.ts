// Where a sign-in may lead: tables of pages and of traps, and a property for any text.

import fc from 'fast-check'
import t from 'tap'
import { returnPath } from '../../src/server/return-path.ts'

t.test('a page of the console is kept', async (t) => {
  for (const path of ['/console/', '/console/log', '/console/log?model=a&key=b', '/console/#/keys'])
    t.equal(returnPath(path), path)
  t.equal(returnPath('/console/a b<c>"d"'), '/console/a%20b%3Cc%3E%22d%22', 'as a browser requests it')
})

t.test('anything else leads to the start of the console', async (t) => {
  const others = [
    null,
    '',
    '/',
    '/console',
    '/consoles/',
    'console/',
    'https://evil.example/console/',
    '//evil.example/console/',
    '/\\evil.example/console/',
    ' /console/',
    '/console/../api/v1/keys',
    '/console/%2e%2e/api/v1/keys',
    '/console/..\\api',
    '/console/\t../../api',
    'javascript:alert(1)//console/',
    `/console/${'x'.repeat(512)}`,
  ]
  for (const path of others) t.equal(returnPath(path), '/console/', String(path))
})

t.test('no text leads anywhere else', async () => {
  const piece = fc.constantFrom(
    '/console/',
    '..',
    '/',
    '\\',
    '//',
    '%2e',
    '@',
    ':',
    '?',
    '#',
    '\t',
    'evil.example',
  )
  const text = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
    fc.string().map((end) => `/console/${end}`),
  )
  fc.assert(
    fc.property(text, (asked) => {
      const { origin, pathname } = new URL(returnPath(asked), 'http://gateway.example')
      return origin === 'http://gateway.example' && pathname.startsWith('/console/')
    }),
  )
})
