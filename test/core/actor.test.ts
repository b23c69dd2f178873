// Names that an identity provider gives: which of them can name an actor.

import t from 'tap'
import { foldName, looksLike, whyNotActor } from '../../src/core/actor.ts'

t.test('subjects of real providers and names in any script can be sealed', async (t) => {
  const names = [
    'auth0|5f7c8ec7c33c6c004bbafe82',
    '110169484474386276334',
    'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
    'vera@example.com',
    'Åsa Öberg',
    '山田',
    '😀',
    'x'.repeat(255),
  ]
  for (const name of names) t.equal(whyNotActor(name), null, name)
})

t.test('a name that a reader cannot see or could take for another is refused', async (t) => {
  const illegible = [
    '',
    ' ',
    ' vera',
    'vera ',
    'a\nb',
    'a\0',
    'a\u202eb',
    'a\u200bb',
    'a\u2028b',
    '\ud800',
    '\u3164',
    'a\u115f',
    '\u2800',
  ]
  for (const name of [...illegible, 'x'.repeat(256)])
    t.match(
      whyNotActor(name),
      /^must have 1 to 255 characters, no white space at the ends and no characters/,
      encodeURI(name.toWellFormed()),
    )
  for (const name of ['gateway', 'Unknown', 'cli:root', 'ＣＬＩ:root', 'gаteway', 'unkn0wn', 'с1і:root'])
    t.match(whyNotActor(name), /^must not be gateway or unknown/, name)
  t.equal(foldName('ＶＥＲＡ'), foldName('vera'))
})

t.test('names whose letters look alike are one name to a reader', async (t) => {
  for (const [name, other] of [
    ['admin', 'аdmin'],
    ['admin', 'ADMIN'],
    ['admin', 'adm1n'],
    ['paul', 'рauІ'],
    ['olga', '0lga'],
  ] as const)
    t.ok(looksLike(name, other), `${name} ${other}`)
  for (const [name, other] of [
    ['admin', 'admins'],
    ['vera', 'vega'],
    ['анна', 'анне'],
    ['müller', 'muller'],
  ] as const)
    t.notOk(looksLike(name, other), `${name} ${other}`)
})
