// A real Chromium for the console: the system's, or the one that an npm package ships, so that the
// tests run on any machine after `npm ci`.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { ADMIN_TOKEN, type TestGateway } from '../process/gateway.ts'
import { until } from '../process/until.ts'

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
export const CHROMIUM_ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
/** Longest wait for an element or a page. */
const WAIT_MS = 60_000

/** Starts the browser, which ends with the test. @throws Error when the machine can run none */
export async function openBrowser(t: Test): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-chromium-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const browser = await chromium.launch({
    executablePath: await browserPath(folder),
    args: CHROMIUM_ARGUMENTS,
    timeout: WAIT_MS,
  })
  t.teardown(() => browser.close())
  return browser
}

/**
 * Returns the path of the system's Chromium, or of one unpacked into the folder: each process has a
 * copy of its own, because a second one could start a file that is written half.
 */
export async function browserPath(folder: string): Promise<string> {
  const installed = SYSTEM.find((path) => existsSync(path))
  if (installed !== undefined) return installed
  process.env['TMPDIR'] = folder
  const { default: packaged } = await import('@sparticuz/chromium')
  return packaged.executablePath()
}

export interface ConsolePage {
  readonly page: Page
  /** Violations of the content security policy, errors of scripts, and requests to other hosts. */
  readonly faults: string[]
  /** Errors in the browser's log, such as those of refused requests. */
  readonly errors: string[]
}

/** Opens a page of the console in a context of its own, signed out. */
export async function openConsole(
  browser: Browser,
  gateway: Pick<TestGateway, 'url'>,
  path = '/console/',
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ locale: 'en-US', ...options })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const faults: string[] = []
  await page.exposeFunction('reportViolation', (directive: string) => faults.push(`CSP: ${directive}`))
  await page.addInitScript(() =>
    (globalThis as any).document.addEventListener('securitypolicyviolation', (event: any) =>
      (globalThis as any).reportViolation(`${event.violatedDirective} in ${event.sourceFile}`),
    ),
  )
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error.stack)))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!/^(?:blob|data):/.test(request.url()) && !request.url().startsWith(gateway.url))
      faults.push(`request: ${request.url()}`)
  })
  await page.goto(gateway.url + path)
  return { page, faults, errors }
}

/** Signs in at the form of the page shown, again when other tests signed in too often before. */
export async function signIn(
  page: Page,
  token = ADMIN_TOKEN,
  send = () => page.getByRole('button', { name: 'Sign in' }).click(),
): Promise<void> {
  await page.getByLabel('Admin token').fill(token)
  await until('a sign-in', async () => {
    const answer = page.waitForResponse((response) => response.request().method() === 'POST')
    await send()
    return (await answer).status() !== 429
  })
  // On narrow screens the pages are behind a button.
  await page.getByRole('banner').waitFor()
}

/** Returns what axe-core finds on the page, a line for each element. */
async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const violations = await page.evaluate(async () => (await (globalThis as any).axe.run()).violations)
  return violations.flatMap(({ id, help, nodes }: any) =>
    nodes.map(({ target, failureSummary }: any) => `${id}: ${help} at ${target}: ${failureSummary}`),
  )
}

export const LOOKS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, width })),
)

/** Examines what the page shows in both themes, wide and narrow. */
export async function examine(t: Test, page: Page, what: string): Promise<void> {
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    const look = `${what}, ${colorScheme}, ${width} px wide`
    t.strictSame(await findBarriers(page), [], look)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    t.ok(Number(overflow) <= 0, `${look}, does not scroll sideways`)
  }
}
