import t from 'tap'
import { forecast, monthOf, periodBefore, showChange } from '../../src/console/forecast.ts'
import { changedTerms, draftOf, labelsIn, NO_KEY_TERMS, newKeyBody } from '../../src/console/key-draft.ts'

const TERMS = {
  models: ['gpt-*', '!gpt-5-pro'],
  expires_at: '2027-01-31T12:00:00.000Z',
  owner: 'Ann',
  labels: { team: 'search' },
  capture: 'metadata',
  max_parallel: 5,
}

t.test('a new key has only the terms that were filled in', async (t) => {
  t.strictSame(newKeyBody('a', NO_KEY_TERMS, 'UTC'), { name: 'a', labels: {} })
  t.strictSame(newKeyBody('a', draftOf(TERMS, 'Europe/Paris'), 'Europe/Paris'), { name: 'a', ...TERMS })
})

t.test('a change has only the terms that were edited, and null for one that is gone', async (t) => {
  const before = draftOf(TERMS, 'UTC')
  const rows: [object, object][] = [
    [{}, {}],
    [{ models: ' gpt-* ,!gpt-5-pro' }, {}],
    [{ models: '' }, { models: null }],
    [{ expires: '' }, { expires_at: null }],
    [{ expires: '2027-02-01T12:00' }, { expires_at: '2027-02-01T12:00:00.000Z' }],
    [{ owner: ' ' }, { owner: null }],
    [{ labels: [] }, { labels: {} }],
    [
      {
        labels: [
          { name: ' team ', value: 'batch' },
          { name: '', value: '' },
        ],
      },
      { labels: { team: 'batch' } },
    ],
    [{ capture: '' }, { capture: null }],
    [{ parallel: '7' }, { max_parallel: 7 }],
  ]
  for (const [edit, body] of rows)
    t.strictSame(changedTerms(before, { ...before, ...edit }, 'UTC'), body, JSON.stringify(edit))
})

t.test('a key that may call no model does not become one that may call all', async (t) => {
  const before = draftOf({ ...TERMS, models: [] }, 'UTC')
  t.equal(before.models, '!*')
  t.strictSame(changedTerms(before, { ...before, owner: 'Bob' }, 'UTC'), { owner: 'Bob' })
})

t.test('labels of other keys are suggestions', async (t) => {
  const found = labelsIn([
    { labels: { team: 'b' } },
    { labels: { team: 'a', tier: 'x' } },
    { labels: { team: 'b' } },
  ])
  t.strictSame(
    [...found],
    [
      ['team', ['a', 'b']],
      ['tier', ['x']],
    ],
  )
})

t.test('a forecast is a line to the end of the month, once a day of it is over', async (t) => {
  const month = monthOf(Date.parse('2026-11-26T10:00:00Z'))
  t.strictSame(month, { startMs: Date.parse('2026-11-01'), endMs: Date.parse('2026-12-01') })
  const rows: [string, number | null][] = [
    ['2026-11-01T10:00:00Z', null],
    ['2026-11-02T00:00:00Z', 300],
    ['2026-11-16T00:00:00Z', 20],
    ['2026-12-01T00:00:00Z', 10],
  ]
  for (const [now, expected] of rows) t.equal(forecast(10, Date.parse(now), month), expected, now)
  t.strictSame(periodBefore(100, 130), { sinceMs: 70, untilMs: 100 })
  const changes: [number, number, string | null][] = [
    [12, 10, '+20 %'],
    [5, 10, '−50 %'],
    [10, 10, '±0 %'],
    [1, 0, null],
  ]
  for (const [now, before, shown] of changes) t.equal(showChange(now, before), shown)
})
