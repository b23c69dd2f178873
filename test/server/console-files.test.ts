import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { ConsoleFiles } from '../../src/server/console-files.ts'

const file = (name: string, text: string) => ({
  name,
  content: Buffer.from(text),
  compressed: gzipSync(text),
})
const FILES = [
  file('index.html', '<!doctype html><script src="/console/console.js"></script>'),
  file('console.js', 'run()'),
]

interface Answered {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** Answers a request; null when it is not the console's. */
function get(
  files: ConsoleFiles,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  base = '',
): Answered | null {
  const request = { method, headers } as any
  if (!files.takes(request, path)) return null
  const answered: Answered = { status: 0, headers: {}, body: Buffer.alloc(0) }
  const response: any = {
    writableLength: 0,
    writableFinished: true,
    socket: null,
    writeHead(status: number, given: Record<string, string>) {
      Object.assign(answered, { status, headers: given })
      return response
    },
    end(body: string | Buffer = '', encoding: BufferEncoding = 'utf8') {
      answered.body = typeof body === 'string' ? Buffer.from(body, encoding) : body
    },
  }
  files.answer(request, response, path, base)
  return answered
}

t.test('the page answers every path without a file name, files answer their own', async (t) => {
  const files = new ConsoleFiles(FILES)
  for (const path of ['/console/', '/console/log', '/console/no/such']) {
    t.match(get(files, path), { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } }, path)
  }
  const script = get(files, '/console/console.js')
  t.match(script, { status: 200, headers: { 'content-type': 'text/javascript; charset=utf-8' } })
  t.equal(String(script?.body), 'run()')
  t.throws(() => get(files, '/console/none.js'), { code: 'not_found' })
})

t.test('a browser at / or /console is sent to the console, and no other client is', async (t) => {
  const files = new ConsoleFiles(FILES)
  const browser = { accept: 'text/html,application/xhtml+xml' }
  t.match(get(files, '/', browser), { status: 302, headers: { location: '/console/' } })
  t.match(get(files, '/console'), { status: 302, headers: { location: '/console/' } })
  t.equal(get(files, '/', { accept: '*/*' }), null)
  t.equal(get(files, '/v1/models', browser), null)
  t.equal(get(files, '/console/', browser, 'POST'), null)
  t.equal(get(files, '/consoles', browser), null)
})

t.test('below a path the page names its files there, and a browser is sent there', async (t) => {
  const files = new ConsoleFiles(FILES)
  const page = get(files, '/console/log', {}, 'GET', '/a/b')
  t.match(String(page?.body), '"/a/b/console/console.js"')
  t.not(page?.headers['etag'], get(files, '/console/log')?.headers['etag'])
  t.match(get(files, '/console', {}, 'GET', '/a/b'), { headers: { location: '/a/b/console/' } })
  t.equal(String(get(files, '/console/console.js', {}, 'GET', '/a/b')?.body), 'run()')
})

t.test('a file is compressed for a client that accepts it, and not sent again unchanged', async (t) => {
  const files = new ConsoleFiles(FILES)
  const zipped = get(files, '/console/console.js', { 'accept-encoding': 'br, gzip' })
  t.equal(zipped?.headers['content-encoding'], 'gzip')
  t.equal(String(gunzipSync(zipped?.body ?? '')), 'run()')
  const plain = get(files, '/console/console.js')
  t.equal(plain?.headers['content-encoding'], undefined)
  t.equal(plain?.headers['etag'], zipped?.headers['etag'])
  const again = get(files, '/console/console.js', { 'if-none-match': plain?.headers['etag'] ?? '' })
  t.match(again, { status: 304, body: Buffer.alloc(0) })
})

t.test('the policy allows files of the gateway only', async (t) => {
  const policy = get(new ConsoleFiles(FILES), '/console/')?.headers['content-security-policy'] ?? ''
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  t.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'$/)
  t.notMatch(policy, /unsafe/)
})

t.test('without a built console the error says how to build it', async (t) => {
  const files = new ConsoleFiles([])
  t.throws(() => get(files, '/console/'), { code: 'not_found', message: /npm run build/ })
  t.throws(() => get(files, '/console/'), GatewayError)
})
