import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createMetrics } from '../../src/metrics/registry.ts'
import { findTool, missing } from '../charts/tools.ts'
import { STATE } from './fixture.ts'

const LOOP_DELAY = /^sidegate_event_loop_delay_seconds\{percentile="0.99"\} (\S+)$/m

t.test('gauges show the state, which is read once for each page', async (t) => {
  let reads = 0
  const metrics = createMetrics('1.2.3', () => {
    reads++
    return { ...STATE, activeKeys: reads, checkpoint: { sequence: 5, fingerprint: 6, timeSeconds: 7 } }
  })
  t.match(await metrics.page(), /^sidegate_keys_active 1$/m)
  const page = await metrics.page()
  t.equal(reads, 2)
  for (const line of [
    'sidegate_build_info{version="1.2.3"} 1',
    'sidegate_rules_revision_info{revision="r1"} 1',
    'sidegate_rules{source="file",enabled="true"} 2',
    'sidegate_rules{source="api",enabled="false"} 1',
    'sidegate_keys_active 2',
    'sidegate_audit_checkpoint_sequence 5',
    'sidegate_audit_checkpoint_fingerprint 6',
    'sidegate_audit_verified -1',
    'sidegate_audit_available 1',
    'sidegate_refusals_total{code="overloaded"} 0',
    'sidegate_audit_pruned_entries_total 0',
  ])
    t.ok(page.includes(`\n${line}\n`), line)
})

t.test('names of models become labels up to a limit, and credentials never', async (t) => {
  const { modelLabel } = createMetrics('1', () => STATE)
  for (const model of ['gpt-4o', 'claude-3-5-sonnet@20240620', '@cf/meta/llama-3.1-8b'])
    t.equal(modelLabel(model), model)
  for (const text of ['ghp_16C7e42F292c691aE77b0c83a834Ae17aB4a', 'somebody@example.com', 'a b', ''])
    t.equal(modelLabel(text), 'other', text)
  for (let index = 0; index < 97; index++) t.equal(modelLabel(`m${index}`), `m${index}`)
  t.equal(modelLabel('one-more'), 'other')
  t.equal(modelLabel('gpt-4o'), 'gpt-4o', 'known before')
})

t.test('open kinds of personal data become labels up to a limit', async (t) => {
  const metrics = createMetrics('1', () => STATE)
  t.equal(metrics.kindLabel('case_number'), 'case_number')
  for (let index = 1; index < 100; index++) metrics.kindLabel(`kind_${index}`)
  t.same(['case_number', 'email', 'one_more'].map(metrics.kindLabel), ['case_number', 'email', 'other'])
})

t.test('names of keys become labels up to a limit, or not at all', async (t) => {
  const { keyLabel } = createMetrics('1', () => STATE)
  for (let index = 0; index < 200; index++) t.equal(keyLabel(`key ${index}`), `key ${index}`)
  t.equal(keyLabel('one more'), 'other')
  t.equal(keyLabel('key 0'), 'key 0', 'known before')
  t.equal(createMetrics('1', () => STATE, false).keyLabel('key 0'), null)
})

t.test('the delay of the event loop excludes the interval of its samples', async (t) => {
  const metrics = createMetrics('1', () => STATE)
  t.equal(LOOP_DELAY.exec(await metrics.page())?.[1], '0', 'before the first sample')
  await sleep(1500)
  const endMs = performance.now() + 1800
  while (performance.now() < endMs);
  await sleep(1500)
  const page = await metrics.page()
  const delay = Number(LOOP_DELAY.exec(page)?.[1])
  t.ok(delay > 0.5 && delay < 3, `${delay} s after a block of 1.8 s`)
  t.equal(Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(page)?.[1]), delay)
  t.match(page, /^nodejs_eventloop_lag_seconds /m)
})

t.test('pages that follow each other at once have no value that is not a number', async (t) => {
  const metrics = createMetrics('1', () => STATE)
  for (let round = 0; round < 20; round++) {
    const pages = [...(await Promise.all([metrics.page(), metrics.page()])), await metrics.page()]
    const values = pages.flatMap((page) => page.split('\n').filter((line) => /^[a-z]/.test(line)))
    t.same(
      values.filter((line) => !Number.isFinite(Number(line.slice(line.lastIndexOf(' ') + 1)))),
      [],
    )
    // Also just after the first sample.
    if (round % 10 === 9) await sleep(1100)
  }
})

t.test('promtool accepts every metric of the gateway', { skip: missing('promtool') }, async (t) => {
  const page = await createMetrics('1', () => STATE).page()
  const { stdout, stderr } = spawnSync(findTool('promtool') ?? '', ['check', 'metrics'], {
    input: page,
    encoding: 'utf8',
    timeout: 60_000,
  })
  // prom-client's own metrics have some that it does not accept.
  t.same(
    `${stdout}${stderr}`.split('\n').filter((line) => line.includes('sidegate_')),
    [],
  )
})
