// Measures the console on a full log with many keys: bytes on the wire, the time to first data, and
// frames while its lists scroll. Run by hand on a quiet machine: `npm run screenshot:figures`.

import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type CDPSession, chromium, type Page } from 'playwright-core'
import { fillLog } from '../bench/filled.ts'
import { startGateway } from '../process/gateway.ts'
import { browserPath, CHROMIUM_ARGUMENTS, signIn } from './browser.ts'

const HELP = `Usage: npm run screenshot:figures [-- [--rows N] [--keys N]]

Fills a log, starts a gateway on it, and measures its console in Chromium: bytes on the
wire in all, milliseconds to first data, and frames while lists scroll.

  --rows N   entries of the log (default 1000000, which takes minutes and a GiB of disk)
  --keys N   API keys (default 10000)
  --help     print this text
`
const WIDTH = 1280
const HEIGHT = 800
/** Length and speed of a scroll. */
const SCROLL_PX = 12_000
const SCROLL_PX_PER_SECOND = 3000
/** A frame that takes longer than this missed one of the sixty of a second. */
const LATE_MS = 1.5 * (1000 / 60)
/** Pages that the keyboard jumps down before it jumps to the end. */
const JUMPS = 60
const NO_UPSTREAM = 'http://127.0.0.1:9/v1'
const MAXIMUM_LOG_BYTES = 100 * 1024 ** 3

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '10000' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}

const folder = mkdtempSync(join(tmpdir(), 'sidegate-figures-'))
try {
  mkdirSync(join(folder, 'data'))
  await fillLog(join(folder, 'data'), Number(values.rows))
  const keys = Array.from({ length: Number(values.keys) }, (_, index) => ({
    name: `key-${index}`,
    sha256: createHash('sha256').update(String(index)).digest('hex'),
    labels: { team: `team-${index % 20}` },
  }))
  const gateway = await startGateway({
    folder,
    upstreamUrl: NO_UPSTREAM,
    rules: 'rules: []\n',
    config: { keys, audit: { maxBytes: MAXIMUM_LOG_BYTES } },
  })
  const browser = await chromium.launch({
    executablePath: await browserPath(folder),
    args: CHROMIUM_ARGUMENTS,
  })
  const page = await browser.newPage({ locale: 'en-US', viewport: { width: WIDTH, height: HEIGHT } })
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Network.enable')
  await measure(page, cdp, `${gateway.url}/console/`)
  await browser.close()
  await gateway.stop()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measure(page: Page, cdp: CDPSession, base: string): Promise<void> {
  await page.addInitScript(noteFirstData)
  print('bytes on the wire', String(await bytesOf(cdp, () => page.goto(base, { waitUntil: 'networkidle' }))))
  await signIn(page)
  for (const [name, selector] of [
    ['overview', '.tiles strong'],
    ['log', '#row-0 time'],
    ['keys', 'tbody tr'],
  ] as const) {
    await page.goto(base + name)
    await page.locator(selector).first().waitFor()
    const ms = await page.evaluate((wanted) => (globalThis as any).firstData[wanted], selector)
    print(`first data: ${name}`, `${Math.round(ms)} ms`)
  }
  await page.goto(`${base}log`)
  await page.locator('#row-0 time').waitFor()
  print('frames: log, scrolled', await frames(page, () => scroll(cdp)))
  await page.getByRole('grid').focus()
  print('frames: log, jumps', await frames(page, () => jump(page)))
  await page.goto(`${base}keys`)
  await page.locator('tbody tr').first().waitFor()
  print('frames: keys, scrolled', await frames(page, () => scroll(cdp)))
}

/** Runs in the page: notes when what a selector names is there first. */
function noteFirstData(): void {
  const scope = globalThis as any
  scope.firstData = {}
  const wanted = ['.tiles strong', '#row-0 time', 'tbody tr']
  new scope.MutationObserver(() => {
    for (const selector of wanted)
      if (scope.document.querySelector(selector) !== null) scope.firstData[selector] ??= performance.now()
  }).observe(scope.document, { childList: true, subtree: true })
}

async function bytesOf(cdp: CDPSession, load: () => Promise<unknown>): Promise<number> {
  let bytes = 0
  cdp.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  await load()
  return bytes
}

/** Scrolls down as a finger does. */
async function scroll(cdp: CDPSession): Promise<void> {
  await cdp.send('Input.synthesizeScrollGesture', {
    ...{ x: WIDTH / 2, y: HEIGHT / 2, yDistance: -SCROLL_PX },
    speed: SCROLL_PX_PER_SECOND,
    gestureSourceType: 'touch',
  })
}

async function jump(page: Page): Promise<void> {
  for (let count = 0; count < JUMPS; count++) await page.keyboard.press('PageDown')
  await page.keyboard.press('End')
}

/** Says how frames came while something went on. */
async function frames(page: Page, work: () => Promise<unknown>): Promise<string> {
  await page.evaluate(() => {
    const scope = globalThis as any
    scope.frameTimes = []
    scope.isCounting = true
    const note = (now: number) => {
      scope.frameTimes.push(now)
      if (scope.isCounting) scope.requestAnimationFrame(note)
    }
    scope.requestAnimationFrame(note)
  })
  await work()
  const times: number[] = await page.evaluate(() => {
    const scope = globalThis as any
    scope.isCounting = false
    return scope.frameTimes
  })
  const gaps = times.slice(1).map((time, index) => time - times[index]!)
  const sorted = gaps.toSorted((one, other) => one - other)
  const at = (part: number): string =>
    `${(sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1)} ms`
  const perSecond = (1000 * gaps.length) / ((times.at(-1) ?? 0) - (times[0] ?? 0))
  const late = gaps.filter((gap) => gap > LATE_MS).length
  return `${perSecond.toFixed(1)} a second, p50 ${at(0.5)}, p95 ${at(0.95)}, longest ${at(1)}, ${late} of ${gaps.length} late`
}

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(24)} ${figure}`)
}
