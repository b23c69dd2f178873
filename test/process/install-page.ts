// The shell blocks of the installation page, which tests run as they stand.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './program.ts'

/** Returns the first shell block of a section of charts/INSTALL.md. @throws Error without one */
export function installBlock(section: string): string {
  const page = readFileSync(join(ROOT, 'charts/INSTALL.md'), 'utf8')
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const block = /^```sh\n(.*?)^```$/ms.exec(text)?.[1]
  if (block === undefined) throw new Error(`charts/INSTALL.md has no commands for ${section}`)
  return block
}
