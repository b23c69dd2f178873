// Tests private keys that continue in another text.

import t from 'tap'
import { isOpenKey, restOfKey } from '../../../src/detect/pii/keyblock.ts'

const BODY = `${'MIIEpAIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL\n'.repeat(2)}`
const END = '-----END RSA PRIVATE KEY-----'

t.test('a key without its END line is open', async (t) => {
  t.ok(isOpenKey(`-----BEGIN RSA PRIVATE KEY-----\n${BODY}`))
  t.notOk(isOpenKey(`-----BEGIN RSA PRIVATE KEY-----\n${BODY}${END}`))
  t.notOk(isOpenKey('ghp_abcdefghijklmnopqrstuvwxyz0123456789'))
})

t.test('the rest of a key ends after its END line', async (t) => {
  t.same(restOfKey(`${BODY}${END}\nand more`), { end: BODY.length + END.length, isOver: true })
})

t.test('a text of key material only continues the key', async (t) => {
  t.same(restOfKey(BODY), { end: BODY.length, isOver: false })
})

t.test('any other text does not continue the key', async (t) => {
  t.same(restOfKey(`${BODY}and some words`), { end: 0, isOver: false })
  t.same(restOfKey(''), { end: 0, isOver: false })
})
