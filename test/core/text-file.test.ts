import t from 'tap'
import { decodeText } from '../../src/core/text-file.ts'

const UTF16 = /^is in UTF-16, not UTF-8; save it as UTF-8$/
const bigEndian = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

const CASES: readonly (readonly [what: string, bytes: Uint8Array, result: object])[] = [
  ['UTF-8', Buffer.from('é'), { text: 'é' }],
  ['UTF-8 with a byte order mark', Buffer.from('\ufeffé'), { text: 'é' }],
  ['nothing', Buffer.alloc(0), { text: '' }],
  ['one byte', Buffer.from('a'), { text: 'a' }],
  ['UTF-16 with a byte order mark', Buffer.from('\ufeffé', 'utf16le'), { problem: UTF16 }],
  ['big-endian UTF-16 with a byte order mark', bigEndian('\ufeffé'), { problem: UTF16 }],
  ['UTF-16 without a mark', Buffer.from('a: 1', 'utf16le'), { problem: UTF16 }],
  ['big-endian UTF-16 without a mark', bigEndian('a: 1'), { problem: UTF16 }],
  ['Latin-1', Buffer.from('caf\u00e9', 'latin1'), { problem: /^is not valid UTF-8; save it as UTF-8$/ }],
]
for (const [what, bytes, result] of CASES) {
  t.test(`a file of ${what}`, async (t) => t.match(decodeText(bytes), result))
}
