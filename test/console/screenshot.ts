// Takes pictures of the console of the demo: each page wide and narrow, light and dark, for people to
// look at. `npm run screenshot` writes them to .tap/screenshots, and with `--readme` the overview to
// .github/console.png.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import { ROOT, SOURCE } from '../process/program.ts'
import { inTime } from '../process/until.ts'
import { browserPath, CHROMIUM_ARGUMENTS, LOOKS, signIn } from './browser.ts'

const HELP = `Usage: npm run screenshot [-- [--readme] [NAME…]]

Starts the demo and writes pictures of its console to .tap/screenshots, of each view or of
those named: ${'NAME'}-WIDTH-THEME.png.

  --readme   also write the picture of the README, .github/console.png
  --help     print this text
`
const FOLDER = join(ROOT, '.tap/screenshots')
const README = join(ROOT, '.github/console.png')
const MAXIMUM_README_BYTES = 150_000
const HEIGHT = 800
/** A page that asks for more than this is cut: a list is not looked at to its end. */
const MAXIMUM_HEIGHT = 2600

/** A view: its address below the console's, and what opens it there. */
interface View {
  readonly name: string
  readonly path: string
  readonly open?: (page: Page) => Promise<void>
}

const press = (name: string) => (page: Page) => page.getByRole('button', { name }).first().click()

const VIEWS: readonly View[] = [
  { name: 'overview', path: 'overview' },
  { name: 'log', path: 'log' },
  { name: 'log-filtered', path: 'log?label=team%3Dsupport&blocked=true' },
  { name: 'entry', path: 'log?pii_detected=true', open: openFirstEntry },
  { name: 'entry-refused', path: 'log?key=demo-coding-agent&tool=delete_branch', open: openFirstEntry },
  { name: 'security', path: 'security' },
  { name: 'rules', path: 'rules' },
  { name: 'rule-form', path: 'rules', open: press('New rule') },
  { name: 'keys', path: 'keys' },
  { name: 'key-form', path: 'keys', open: press('Create a key') },
  {
    name: 'key',
    path: 'keys',
    open: (page) => page.getByRole('link', { name: 'demo-nightly-report' }).click(),
  },
  { name: 'usage', path: 'usage' },
  { name: 'usage-team', path: 'usage?by=label:team' },
  { name: 'audit', path: 'audit' },
  { name: 'settings', path: 'settings' },
]

/** Opens the newest call of the log. */
async function openFirstEntry(page: Page): Promise<void> {
  await page.locator('#row-0').click()
  await page.getByRole('heading', { name: 'Proof' }).waitFor()
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { readme: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}

const folder = mkdtempSync(join(tmpdir(), 'sidegate-screenshot-'))
const demo = spawn(process.execPath, [SOURCE, 'demo', '--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const printed = String((await inTime('the demo starts', once(demo.stdout, 'data')))[0])
  const [, url = ''] = /console +(\S+)\/console\//.exec(printed) ?? []
  const [, token = ''] = /admin token +(\S+)/.exec(printed) ?? []
  const browser = await chromium.launch({
    executablePath: await browserPath(folder),
    args: CHROMIUM_ARGUMENTS,
  })
  const page = await openSignedIn(browser, url, token)
  mkdirSync(FOLDER, { recursive: true })
  for (const view of VIEWS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)))
    await takePictures(page, `${url}/console/`, view)
  if (values.readme) await takeReadme(page, url)
  await browser.close()
} finally {
  demo.kill('SIGINT')
  rmSync(folder, { recursive: true, force: true })
}

/** Opens a page for all pictures, because few people may sign in at a time. */
async function openSignedIn(browser: Browser, url: string, token: string): Promise<Page> {
  const page = await browser.newPage({ locale: 'en-US', timezoneId: 'UTC' })
  await page.goto(`${url}/console/`)
  await page.getByLabel('Admin token').waitFor()
  await signIn(page, token)
  return page
}

async function takePictures(page: Page, base: string, { name, path, open }: View): Promise<void> {
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: HEIGHT })
    await page.goto(base + path)
    await settled(page)
    await open?.(page)
    await settled(page)
    const height = await page.evaluate('document.documentElement.scrollHeight')
    const clip = { x: 0, y: 0, width, height: Math.min(Number(height), MAXIMUM_HEIGHT) }
    const target = join(FOLDER, `${name}-${width}-${colorScheme}.png`)
    await page.screenshot({ path: target, animations: 'disabled', fullPage: true, clip })
    console.log(target)
  }
}

/** Waits until nothing loads. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForLoadState('networkidle')
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
}

async function takeReadme(page: Page, url: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 820 })
  await page.goto(`${url}/console/overview`)
  await settled(page)
  await page.screenshot({ path: README, animations: 'disabled' })
  const { size } = statSync(README)
  if (size > MAXIMUM_README_BYTES)
    throw new Error(`${README} has ${size} bytes, at most ${MAXIMUM_README_BYTES} are allowed`)
  console.log(`${README}: ${size} bytes`)
}
