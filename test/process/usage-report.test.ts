// Usage reports of a real gateway, over REST and by the command; what they count after a kill; and a
// rebuild beside a running gateway.

import { join } from 'node:path'
import t from 'tap'
import { csvName } from '../../src/usage/report-table.ts'
import { openGateway, prompt, type TestGateway } from './gateway.ts'
import { deployProgram } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { completion, json } from './upstream.ts'

t.setTimeout(300_000)

const { upstream, gateway, key } = await deployProgram(t, json(completion('Hello.')), {
  rules: 'rules:\n  - { name: no-aurora, type: keyword_block, pattern: aurora, action: block }\n',
})
const file = join(gateway.folder, 'sidegate.yaml')
const call = async (on: TestGateway, model: string, text = 'hello', more = {}) => {
  const response = await on.chat(key, { ...prompt(text, more), model })
  await response.text()
}
const report = async (on: TestGateway, search = '') => (await on.api('GET', `/usage/report${search}`)).body
/** What an agent adds to a call: a tool, and its run. */
const AGENT = {
  tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }],
  metadata: { run_id: 'run-1' },
}
const FORMULA = '=HYPERLINK("http://x","y")'

/** Sums of the entries in the log. */
async function sumOfLog(on: TestGateway) {
  const { logs } = (await on.api('GET', '/usage/logs?limit=1000')).body
  const sum = (of: (entry: any) => number) => logs.reduce((total: number, entry: any) => total + of(entry), 0)
  return {
    requests: logs.length,
    blocked: sum(({ blocked }) => Number(blocked)),
    prompt_tokens: sum(({ prompt_tokens: tokens }) => tokens),
    completion_tokens: sum(({ completion_tokens: tokens }) => tokens),
    total_tokens: sum(({ total_tokens: tokens }) => tokens),
  }
}

t.test('a report groups the calls of this month, by key unless asked otherwise', async (t) => {
  await call(gateway, 'm1')
  await call(gateway, 'm1', 'about aurora')
  await call(gateway, 'm2', 'hello', { user: 'ann', ...AGENT })
  await call(gateway, FORMULA)
  const byKey = await report(gateway)
  t.match(byKey, { rows: [{ key_name: 'app', requests: 4, blocked: 1 }], complete: true })
  t.match(byKey.total, await sumOfLog(gateway))
  t.match(byKey.since, /-01T00:00:00\.000Z$/)
  t.match(byKey.until, /:00:00\.000Z$/)
  const { rows } = await report(gateway, '?group_by=model,api,user')
  t.equal(rows.length, 3)
  t.match(
    rows.find((row: any) => row.model === 'm2'),
    { api: 'chat', user: /^[0-9a-f]{32}$/, requests: 1 },
  )
})

t.test('a report by tool or run has their calls, and the total of all', async (t) => {
  const { rows, total } = await report(gateway, '?group_by=tool,model')
  t.match(rows, [{ tool: 'bash', model: 'm2', requests: 1, total_tokens: 0, tool_calls: 0 }])
  t.equal(rows.length, 1)
  t.equal(total.requests, 4)
  const runs = await report(gateway, '?group_by=run')
  const tokens = (await report(gateway, '?group_by=model')).rows.find(
    (row: any) => row.model === 'm2',
  ).total_tokens
  t.match(runs.rows, [{ run: /^[0-9a-f]{32}$/, requests: 1, total_tokens: tokens }])
  t.equal((await gateway.api('GET', `/usage/logs?run=${runs.rows[0].run}`)).body.total, 1)
})

t.test('CSV has a header, and runs nothing in a spreadsheet', async (t) => {
  const answer = await gateway.api('GET', '/usage/report?group_by=model&format=csv')
  t.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
  const month = new Date().toISOString().slice(0, 7)
  t.equal(answer.headers.get('content-disposition'), `attachment; filename="sidegate-usage-${month}.csv"`)
  const [header, ...lines] = answer.body.trimEnd().split('\r\n')
  t.equal(header, ['model', ...Object.keys((await report(gateway)).total)].join())
  t.match(header, /^model,requests,blocked,prompt_tokens,.*\bcost,/)
  t.equal(lines.length, 3)
  t.ok(
    lines.some((line: string) => line.startsWith(`"'=HYPERLINK(""http://x"",""y"")",1,`)),
    answer.body,
  )
})

t.test('a file of CSV has the name of its month, or of its days', async (t) => {
  for (const [since, until, name] of [
    ['2026-11-01T00:00:00.000Z', '2026-11-28T13:00:00.000Z', '2026-11'],
    ['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z', '2026-11'],
    ['2026-10-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z', '2026-10-01-to-2026-11-30'],
    ['2026-11-02T10:00:00.000Z', '2026-11-03T00:00:00.000Z', '2026-11-02-to-2026-11-02'],
  ] as const)
    t.equal(csvName({ since, until }), `sidegate-usage-${name}.csv`)
})

t.test('a wrong parameter is named with what it may be', async (t) => {
  for (const [search, param, message] of [
    ['group_by=colour', 'group_by', /key, model, api, upstream, day, month, user, tool, run and label:NAME/],
    ['group_by=key,key', 'group_by', /each once/],
    ['group_by=tool,user', 'group_by', /only one of user, tool, run/],
    ['group_by=', 'group_by', /list of/],
    ['group_by=label:', 'group_by', /list of/],
    ['format=xml', 'format', /json or csv/],
    ['since=yesterday', 'since', /date or a time/],
    ['since=2026-02-01&until=2026-01-01', 'until', /later than since/],
    ['by=key', 'by', /known parameters: group_by, key_id, since, until, format/],
  ] as const) {
    const { status, body } = await gateway.api('GET', `/usage/report?${search}`)
    t.match([status, body.error], [400, { code: 'invalid_parameter', param, message }], search)
  }
})

t.test('the command reports the same beside a running gateway', async (t) => {
  const { code, stdout } = await runProgram(['usage', '--by', 'model,user', '--config', file])
  t.equal(code, 0)
  t.strictSame(JSON.parse(stdout), await report(gateway, '?group_by=model,user'))
  const csv = await runProgram(['usage', '--by', 'model', '--format', 'csv', '--config', file])
  t.equal(csv.stdout, (await gateway.api('GET', '/usage/report?group_by=model&format=csv')).body)
  const table = await runProgram(['usage', '--format', 'table', '--config', file])
  t.match(table.stdout, /costs in USD\nkey +key_name +requests .*\n[0-9a-f-]{36} +app +4 .*\ntotal +4 /)
  for (const [args, message] of [
    [['--by', 'colour'], /--by takes a list of key, model/],
    [['--format', 'xml'], /--format takes table, csv, json/],
    [['--since', 'x'], /--since takes a time/],
    [['--since', '2026-02-01', '--until', '2026-01-01'], /--until must be later than --since/],
    [['--config', join(gateway.folder, 'none.yaml')], /none\.yaml/],
  ] as const)
    t.match(
      await runProgram(['usage', '--config', file, ...args]),
      { code: 2, stderr: message },
      args.join(' '),
    )
  const old = await runProgram(['usage', '--since', '2001-01-01', '--config', file])
  t.match([old.code, old.stderr], [0, /older than what is counted/])
})

t.test('a rebuild beside a running gateway gives the same sums', async (t) => {
  const GROUPINGS = ['model,user,day', 'model,tool,day', 'model,run,day']
  const all = () => Promise.all(GROUPINGS.map((fields) => report(gateway, `?group_by=${fields}`)))
  const before = await all()
  const { code, stdout } = await runProgram(['audit', 'rollup', '--rebuild', '--config', file])
  t.same([code, JSON.parse(stdout)], [0, { calls: 4, since: null }])
  t.strictSame(await all(), before)
  await call(gateway, 'm1')
  t.match((await report(gateway)).total, await sumOfLog(gateway))
  t.match(await runProgram(['audit', 'rollup', '--config', file]), { code: 2, stderr: /needs --rebuild/ })
  t.match(await runProgram(['audit', 'verify', '--rebuild', '--config', file]), {
    code: 2,
    stderr: /verify takes no --rebuild/,
  })
})

t.test('a report of one key sums only its calls, by tool too', async (t) => {
  const other = await gateway.createKey('other')
  for (const more of [{}, AGENT])
    await (await gateway.chat(other.key, { ...prompt('hello', more), model: 'm2' })).text()
  const own = await report(gateway, `?group_by=key,day&key_id=${other.id}`)
  t.match(own, { rows: [{ key: other.id, requests: 2 }], total: { requests: 2 } })
  t.equal(own.rows.length, 1)
  const tools = await report(gateway, `?group_by=tool&key_id=${other.id}`)
  t.match(tools, { rows: [{ tool: 'bash', requests: 1 }], total: { requests: 2 } })
  t.match(await report(gateway, '?key_id=none'), { rows: [], total: { requests: 0 } })
})

t.test('an erased user is not named any more', async (t) => {
  t.equal((await gateway.api('POST', '/audit/erase', { user: 'ann' })).status, 200)
  const { rows } = await report(gateway, '?group_by=user')
  t.same(new Set(rows.map(({ user }: any) => user)), new Set([null, 'erased']))
})

t.test('a kill loses no acknowledged call', async (t) => {
  let acknowledged = (await report(gateway)).total.requests
  const callers = Array.from({ length: 4 }, async () => {
    for (;;) {
      try {
        await call(gateway, 'm3', 'hello', AGENT)
        acknowledged++
      } catch {
        return
      }
      if (acknowledged >= 40) void gateway.kill('SIGKILL')
    }
  })
  await Promise.all(callers)
  const again = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  const { total } = await report(again)
  t.ok(total.requests >= acknowledged)
  t.match(total, await sumOfLog(again))
  for (const field of ['tool', 'run']) {
    const { rows } = await report(again, `?group_by=${field}`)
    const sealed = (await again.api('GET', `/usage/logs?${field}=${rows[0].run ?? 'bash'}`)).body.total
    t.match(rows, [{ requests: sealed }], field)
  }
})
