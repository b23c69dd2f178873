// Takes the screenshot of the README: the overview of the demo after some calls. `npm run screenshot`
// writes .github/console.png.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { ROOT, SOURCE } from '../process/program.ts'
import { inTime } from '../process/until.ts'
import { browserPath, CHROMIUM_ARGUMENTS, signIn } from './browser.ts'

const TARGET = join(ROOT, '.github/console.png')
const MAXIMUM_BYTES = 150_000
const ROUNDS = 6
/** The chart has a step a minute, so the rounds reach over two. */
const ROUND_MS = 15_000
const PROMPTS = [
  'Write to alice@example.com or call +1 415 555 2671.',
  'Summarise the minutes of the last meeting in three sentences.',
  'Tell me about Project Aurora.',
  'My card is 4111 1111 1111 1111.',
]

const folder = mkdtempSync(join(tmpdir(), 'sidegate-screenshot-'))
const demo = spawn(process.execPath, [SOURCE, 'demo', '--gateway', '127.0.0.1:0', '--ops', '127.0.0.1:0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const printed = String((await inTime('the demo starts', once(demo.stdout, 'data')))[0])
  const [, url = ''] = /console +(\S+)\/console\//.exec(printed) ?? []
  const [, token = ''] = /admin token +(\S+)/.exec(printed) ?? []
  const [, key = ''] = /API key +(\S+)/.exec(printed) ?? []
  for (let round = 0; round < ROUNDS; round++) {
    for (const content of PROMPTS.slice(0, 1 + (round % PROMPTS.length))) await call(url, key, content)
    console.log(`calls: round ${round + 1} of ${ROUNDS}`)
    if (round + 1 < ROUNDS) await delay(ROUND_MS)
  }
  const browser = await chromium.launch({
    executablePath: await browserPath(folder),
    args: CHROMIUM_ARGUMENTS,
  })
  const page = await browser.newPage({ locale: 'en-US', viewport: { width: 1180, height: 760 } })
  await page.goto(`${url}/console/`)
  await signIn(page, token)
  await page.getByRole('heading', { name: 'Gateway' }).waitFor()
  await page.screenshot({ path: TARGET, animations: 'disabled' })
  await browser.close()
  const { size } = statSync(TARGET)
  if (size > MAXIMUM_BYTES)
    throw new Error(`${TARGET} has ${size} bytes, at most ${MAXIMUM_BYTES} are allowed`)
  console.log(`${TARGET}: ${size} bytes`)
} finally {
  demo.kill('SIGINT')
  rmSync(folder, { recursive: true, force: true })
}

async function call(url: string, key: string, content: string): Promise<void> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content }] }),
  })
  await answer.text()
}
