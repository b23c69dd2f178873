// Certificates: which pairs a listener may serve, and the names of a client certificate.

import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { clientName, clientNamesOf, findTlsFaults, validityOf } from '../../src/core/certificate.ts'
import {
  type AlternativeName,
  type CertificateTerms,
  DAY_MS,
  ecKeys,
  makeCertificate,
  rsaKeys,
  type TestCertificate,
} from '../server/certificate.ts'

const NOW_MS = Date.UTC(2027, 0, 15)
const [FROM_MS, UNTIL_MS] = [NOW_MS - DAY_MS, NOW_MS + DAY_MS]
const make = (terms: CertificateTerms = {}): TestCertificate =>
  makeCertificate({ fromMs: FROM_MS, untilMs: UNTIL_MS, ...terms })
const faults = (certificate: string | null, key: string | null, clientCa: string | null = null) =>
  findTlsFaults({ certificate, key, clientCa }, NOW_MS).map(({ part, reason }) => `${part} ${reason}`)
const faultsOf = ({ certificate, key }: TestCertificate) => faults(certificate, key)

const AUTHORITY = make({ subject: 'authority', isAuthority: true })

t.test('a pair is good when it fits, is valid now and is strong', async (t) => {
  t.same(faultsOf(make()), [])
  t.same(faultsOf(make({ keys: rsaKeys(2048) })), [])
  t.same(faultsOf(make({ keys: ecKeys('P-384') })), [])
  t.same(faultsOf(make({ issuer: AUTHORITY })), [])
  t.same(validityOf(make().certificate), { fromMs: FROM_MS, untilMs: UNTIL_MS })
  const leaf = make({ issuer: AUTHORITY })
  const old = make({ subject: 'root', keys: rsaKeys(1024), hash: 'sha1' })
  t.same(faults(leaf.certificate + old.certificate, leaf.key), [], 'a root that is sent is not checked')
})

t.test('each fault of a pair names its part and what to do', async (t) => {
  const good = make()
  const weak = rsaKeys(1024)
  const between = make({ subject: 'between', issuer: AUTHORITY, keys: weak })
  const cases: [string | null, string | null, RegExp][] = [
    ['', good.key, /^certificate holds no certificate in PEM/],
    ['x', null, /^certificate holds no certificate in PEM/],
    [good.certificate.replace(/[A-Z]{2}/, '!!'), null, /^certificate holds no certificate/],
    [good.certificate, 'x', /^key is not a private key in PEM without a passphrase/],
    [good.certificate, make().key, /^key is not the key of the certificate/],
    [good.certificate + between.certificate, good.key, /^certificate has an RSA key of 1024 bits; use at/],
  ]
  for (const [certificate, key, wanted] of cases) t.match(faults(certificate, key), [wanted], `${wanted}`)
  const terms: [CertificateTerms, RegExp][] = [
    [{ untilMs: NOW_MS }, /^certificate expired at 2027-01-15T00:00:00.*; renew it/],
    [{ fromMs: NOW_MS + 1000 }, /^certificate is not valid before 2027-01-15T00:00:01/],
    [{ keys: weak }, /^certificate has an RSA key of 1024 bits; use at least 2048/],
    [{ keys: ecKeys('secp224r1') }, /^certificate has an EC key on the curve secp224r1; use/],
    [{ hash: 'sha1' }, /^certificate is signed with SHA-1; have one issued with SHA-256/],
    [{ keys: rsaKeys(2048), hash: 'sha1' }, /^certificate is signed with SHA-1/],
    [{ keys: rsaKeys(2048), hash: 'md5' }, /^certificate is signed with MD5/],
  ]
  for (const [term, wanted] of terms) t.match(faultsOf(make(term)), [wanted], `${wanted}`)
})

t.test('authorities of clients are certificates that may sign, and one is valid', async (t) => {
  const authorities = (...terms: CertificateTerms[]) =>
    faults(null, null, terms.map((one) => make({ isAuthority: true, ...one }).certificate).join(''))
  t.same(authorities({}), [])
  t.same(authorities({}, { untilMs: NOW_MS }), [], 'the old one beside the new one')
  t.match(authorities({ untilMs: NOW_MS }), [/^clientCa expired at 2027/])
  t.match(authorities({}, { isAuthority: false }), [/^clientCa holds a certificate that is not an auth/])
  t.match(authorities({ keys: rsaKeys(1024) }), [/^clientCa has an RSA key of 1024 bits/])
  t.match(faults(null, null, 'x'), [/^clientCa holds no certificate/])
})

const namesOf = (names: readonly AlternativeName[], rawNames?: Buffer) =>
  clientNamesOf(new X509Certificate(make({ names, ...(rawNames && { rawNames }) }).certificate))

t.test('the names of a client are its URIs and DNS names, each as it is', async (t) => {
  const id = 'spiffe://cluster.local/ns/shop/sa/web'
  const cases: [readonly AlternativeName[], readonly string[]][] = [
    [[['uri', id]], [`URI:${id}`]],
    [[['dns', 'web.shop']], ['DNS:web.shop']],
    [
      [
        ['dns', 'a'],
        ['uri', id],
        ['dns', 'b'],
      ],
      ['DNS:a', `URI:${id}`, 'DNS:b'],
    ],
    [
      [
        ['email', 'a@b'],
        ['ip', [10, 0, 0, 1]],
      ],
      [],
    ],
    // A list in text form would show these as two names.
    [[['dns', `a, URI:${id}`]], []],
    [[['dns', `a,URI:${id}`]], [`DNS:a,URI:${id}`]],
    [[['uri', `${id}\0.evil`]], []],
    [[['uri', `${id}\n`]], []],
    [[['dns', 'wéb']], []],
    [[['dns', '']], []],
    [[], []],
  ]
  for (const [names, wanted] of cases) t.same(namesOf(names), wanted, JSON.stringify(names))
  t.same(namesOf([], Buffer.from('3082ffff', 'hex')), [], 'not DER')
  t.same(namesOf([], Buffer.from('30808200', 'hex')), [], 'a length that DER does not have')
})

t.test('a declared name is found exactly where a certificate has it', async (t) => {
  const text = fc.string({ unit: fc.constantFrom(...'ab:/.*-,"\\ \0'), minLength: 1, maxLength: 6 })
  const name = fc.tuple(fc.constantFrom('dns', 'uri', 'email'), text)
  const property = fc.property(fc.array(name, { maxLength: 3 }), text, (names, san) => {
    const kind = san.includes(':') ? 'uri' : 'dns'
    const isNamed = !/[ \0]/.test(san) && names.some(([one, other]) => one === kind && other === san)
    return namesOf(names as AlternativeName[]).includes(clientName(san)) === isNamed
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 }))
})
