// The upstream's credential in bytes, JSON and growing texts.

import t from 'tap'
import {
  CredentialFilter,
  removeFromBytes,
  removeFromJson,
  removeFromText,
} from '../../src/pipeline/scan/credential-filter.ts'
import { plainSpan, rawOf } from '../../src/pipeline/scan/spans.ts'

const KEY = 'sk-"secret"'
const MARK = '[UPSTREAM_CREDENTIAL]'

t.test('replaces the credential everywhere in a text', async (t) => {
  t.equal(removeFromText(`${KEY} and ${KEY}`, KEY), `${MARK} and ${MARK}`)
  t.equal(removeFromText('clean', KEY), 'clean')
  t.equal(removeFromText('clean', null), 'clean', 'without a credential')
})

t.test('returns bytes without the credential as they are', async (t) => {
  const clean = Buffer.from('clean')
  t.equal(removeFromBytes(clean, KEY), clean)
  t.equal(removeFromBytes(clean, null), clean)
  t.equal(removeFromBytes(Buffer.from(`for ${KEY}`), KEY).toString(), `for ${MARK}`)
})

t.test('finds the credential in JSON with any escapes', async (t) => {
  const escaped = '{"a":"for sk-\\u0022secret\\u0022"}'
  t.equal(removeFromJson(Buffer.from(escaped), KEY).toString(), `{"a":"for ${MARK}"}`)
  const clean = Buffer.from('{ "a": 1 }')
  t.equal(removeFromJson(clean, KEY), clean)
  t.equal(removeFromJson(clean, null), clean)
  t.equal(removeFromJson(Buffer.from(`page of ${KEY}`), KEY).toString(), `page of ${MARK}`, 'not JSON')
})

t.test('a growing text holds back the beginning of the credential', async (t) => {
  const filter = new CredentialFilter(KEY)
  t.equal(rawOf(filter.push([plainSpan('for sk-')])), 'for ')
  t.ok(filter.holds)
  t.equal(rawOf(filter.push([plainSpan('other, sk-"sec')])), 'sk-other, ')
  t.equal(rawOf(filter.push([plainSpan('ret" and s')])), `${MARK} and `)
  t.ok(filter.replaced)
  t.equal(rawOf(filter.finish()), 's')
  t.notOk(filter.holds)
})
