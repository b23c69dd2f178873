import t from 'tap'
import { BasePath } from '../../src/server/base-path.ts'

const of = (trustedProxies: string[], header: string | undefined, address = '10.1.2.3', basePath = '/own') =>
  new BasePath({ basePath, trustedProxies }).of(
    header === undefined ? {} : { 'x-forwarded-prefix': header },
    address,
  )

t.test('a trusted proxy says the path, and no other client does', async (t) => {
  const rows: [string[], string | undefined, string, string][] = [
    [[], '/a', '10.1.2.3', '/own'],
    [['10.0.0.0/8'], '/a', '10.1.2.3', '/a'],
    [['10.0.0.0/8'], '/a', '11.1.2.3', '/own'],
    [['10.0.0.0/8'], undefined, '10.1.2.3', '/own'],
    [['10.1.2.3'], '/a/', '10.1.2.3', '/a'],
    [['10.1.2.3'], '/a, /b/c', '10.1.2.3', '/a/b/c'],
    [['fd00::/8', '::1'], '/a', '::1', '/a'],
    [['fd00::/8'], '/a', '10.1.2.3', '/own'],
    [['10.1.2.3'], '/a', '', '/own'],
  ]
  for (const [trusted, header, address, path] of rows)
    t.equal(of(trusted, header, address), path, `${header}`)
})

t.test('a header that is no plain path is as none', async (t) => {
  const headers = [
    'a',
    '//evil.example',
    '/a//b',
    '/..',
    '/a/../b',
    '/.',
    '/"x',
    '/a<b',
    '/a?b',
    '/%2e',
    `/${'a'.repeat(200)}`,
    '/1/2/3/4/5/6/7/8/9',
  ]
  for (const header of headers) t.equal(of(['10.1.2.3'], header), '/own', header)
})

t.test('the base path is removed before what browsers ask for, and nothing else', async (t) => {
  const paths = new BasePath({ basePath: '/a', trustedProxies: [] })
  const rows = [
    ['/a/console/log', '/console/log'],
    ['/a/console', '/console'],
    ['/a', '/'],
    ['/a/', '/'],
    ['/a/api/v1/status', '/api/v1/status'],
    ['/a/openapi.json', '/openapi.json'],
    ['/console/log', '/console/log'],
    ['/api/v1/status', '/api/v1/status'],
    ['/a/v1/chat/completions', '/a/v1/chat/completions'],
    ['/ab/console/', '/ab/console/'],
    ['/a/consoles', '/a/consoles'],
    ['/a/a/console/', '/a/a/console/'],
  ] as const
  for (const [asked, path] of rows) t.equal(paths.below('/a', asked), path, asked)
  t.equal(paths.below('', '/a/console/'), '/a/console/')
})
