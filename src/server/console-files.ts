// Serves the console's files from memory, with the policy that confines the page to them.

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { GatewayError } from '../core/errors.ts'
import { respond } from './respond.ts'

/** Where the console is. */
const CONSOLE_PATH = '/console/'

/** A file as the build wrote it. */
export interface ConsoleFile {
  /** Path below the console's folder. */
  readonly name: string
  readonly content: Buffer
  /** The content in gzip (RFC 1952). */
  readonly compressed: Buffer
}

/** The page of every path below CONSOLE_PATH that names no file; its scripts read the path. */
const PAGE = 'index.html'
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const HEADERS = {
  // Scripts and styles come from files of the gateway only, and no script makes markup from text.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // A stored copy is used only after the gateway confirms it, so a new release shows at once.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
}

interface ServedFile {
  readonly type: string
  readonly etag: string
  readonly content: Buffer
  readonly compressed: Buffer
}

export class ConsoleFiles {
  readonly #files: ReadonlyMap<string, ServedFile>

  constructor(files: readonly ConsoleFile[]) {
    this.#files = new Map(files.map((file) => [file.name, served(file)]))
  }

  /**
   * Reports whether a request is for the console: a path below CONSOLE_PATH, `/console`, or `/` in
   * a browser.
   */
  takes({ method, headers }: IncomingMessage, path: string): boolean {
    if (method !== 'GET' && method !== 'HEAD') return false
    if (path.startsWith(CONSOLE_PATH) || `${path}/` === CONSOLE_PATH) return true
    return path === '/' && headers.accept?.includes('text/html') === true
  }

  /**
   * Answers a request that `takes` accepts.
   * @param base path below which the browser sees the gateway
   * @throws GatewayError `not_found` for a file that does not exist, or when no console was built
   */
  answer(request: IncomingMessage, response: ServerResponse, path: string, base = ''): void {
    if (!path.startsWith(CONSOLE_PATH)) {
      respond(response, 302, { ...HEADERS, location: base + CONSOLE_PATH }, '')
      return
    }
    const { headers } = request
    const file = below(base, this.#find(path.slice(CONSOLE_PATH.length)))
    const { etag } = file
    if (headers['if-none-match'] === etag) {
      response.writeHead(304, { ...HEADERS, etag }).end()
      return
    }
    const zipped = /\bgzip\b/.test(headers['accept-encoding']?.toString() ?? '')
    const encoding = zipped ? { 'content-encoding': 'gzip' } : {}
    const body = zipped ? file.compressed : file.content
    respond(response, 200, { ...HEADERS, ...encoding, etag, 'content-type': file.type }, body)
  }

  #find(name: string): ServedFile {
    const file = this.#files.get(name)
    if (file !== undefined) return file
    const page = this.#files.get(PAGE)
    if (page === undefined)
      throw new GatewayError(
        'not_found',
        'This gateway runs from source without a built console; run npm run build and start it again.',
      )
    if (name.includes('.')) throw new GatewayError('not_found', 'The console has no such file.')
    return page
  }
}

function served({ name, content, compressed }: ConsoleFile): ServedFile {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  return { type, etag, content, compressed }
}

/** The page names its files by their paths; its scripts find the base path in their own. */
function below(base: string, file: ServedFile): ServedFile {
  if (base === '' || file.type !== TYPES['html']) return file
  const content = Buffer.from(
    file.content.toString().replaceAll(`"${CONSOLE_PATH}`, `"${base}${CONSOLE_PATH}`),
  )
  return served({ name: PAGE, content, compressed: gzipSync(content) })
}
