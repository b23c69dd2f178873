import t from 'tap'
import { QueryString } from '../../src/server/query-string.ts'

/** Fields an error must have. */
const like = (fields: object) => fields as Error

const KNOWN = ['limit', 'blocked', 'since', 'model']

t.test('valid parameters are read', async (t) => {
  const query = new QueryString('limit=10&blocked=false&since=2026-01-31T12:00:00Z&model=a%2Fb', KNOWN)
  t.equal(query.integer('limit', 50, 1, 1000), 10)
  t.equal(query.boolean('blocked'), false)
  t.equal(query.choice('blocked', ['true', 'false']), 'false')
  t.equal(query.time('since'), Date.UTC(2026, 0, 31, 12))
  t.equal(query.text('model'), 'a/b')
  const empty = new QueryString('', KNOWN)
  t.equal(empty.integer('limit', 50, 1, 1000), 50)
  t.equal(empty.boolean('blocked'), null)
  t.equal(empty.choice('blocked', ['true']), null)
  t.equal(empty.time('since'), null)
  t.equal(new QueryString('since=2026-01-31', KNOWN).time('since'), Date.UTC(2026, 0, 31))
  t.equal(
    new QueryString('since=2028-02-29T00:30:00%2B02:00', KNOWN).time('since'),
    Date.UTC(2028, 1, 28, 22, 30),
  )
  for (const since of ['2028-02-29T00:30:00+02:00', '2028-02-29t00:30:00 02:00', '2028-02-28t22:30:00z'])
    t.equal(new QueryString(`since=${since}`, KNOWN).time('since'), Date.UTC(2028, 1, 28, 22, 30), since)
})

t.test('invalid parameters are refused by name', async (t) => {
  for (const limit of ['0', '1001', '-1', '1.5', 'ten', '', '1e2', ' 5', '99999999999999999999']) {
    const query = new QueryString(`limit=${encodeURIComponent(limit)}`, KNOWN)
    t.throws(
      () => query.integer('limit', 50, 1, 1000),
      like({ code: 'invalid_parameter', param: 'limit' }),
      limit,
    )
  }
  for (const since of [
    'yesterday',
    '2026-13-01',
    '2026-01-31T12:00',
    '1700000000',
    '2026-02-30T25:00:00Z',
    '2026-02-29',
    '2026-04-31T12:00:00+02:00',
    '2026-01-01T24:00:00Z',
    '2026-01-01 12:00:00 02:00',
    '2026-01-01T12:00:00  02:00',
  ]) {
    t.throws(() => new QueryString(`since=${since}`, KNOWN).time('since'), like({ param: 'since' }), since)
  }
  t.throws(() => new QueryString('blocked=1', KNOWN).boolean('blocked'), like({ param: 'blocked' }))
  t.throws(
    () => new QueryString('blocked=1', KNOWN).choice('blocked', ['yes', 'no']),
    like({ param: 'blocked', message: 'blocked must be one of yes, no.' }),
  )
  t.throws(
    () => new QueryString('limt=5', KNOWN),
    like({ code: 'invalid_parameter', param: 'limt', message: /limit/ }),
  )
  t.throws(() => new QueryString('limit=5&limit=6', KNOWN), like({ param: 'limit' }))
})
