// Runs `sidegate audit verify` in a child process, because reading a damaged database file can kill
// the process. The way the child ended is part of the verdict.

import { isDamageSignal } from '../store/environment/damage.ts'
import type { ExitCode } from './command.ts'
import { spawnSelf } from './pid1.ts'

/** Environment variable that marks the child, which starts no further child. */
const MARK = 'SIDEGATE_AUDIT_READER'

export const isAuditChild = (): boolean => process.env[MARK] !== undefined

/**
 * Runs the same command line in a child with the same input and output. SIGINT and SIGTERM end both
 * processes.
 * @returns the child's exit code, or the signal that damage killed it with
 */
export function runInAuditChild(): Promise<ExitCode | { readonly damage: string }> {
  const child = spawnSelf({ ...process.env, [MARK]: '1' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      child.kill(signal)
      process.kill(process.pid, signal)
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      if (isDamageSignal(signal)) resolve({ damage: signal })
      else {
        // A killed child cannot report it.
        if (signal !== null)
          console.error(`sidegate audit: the process that reads the log was killed (${signal})`)
        resolve(code === 0 || code === 1 ? code : 2)
      }
    })
  })
}
