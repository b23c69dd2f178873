// A damaged database file does not make a read fail, it ends the process that reads. So the data directory is read in
// a child, and how that ended is part of the answer.

import { isDamageSignal } from '../store/damage.ts'
import type { ExitCode } from './command.ts'
import { runAgain } from './pid1.ts'

/** Marks the child; a child of its own it must not have. */
const MARK = 'SIDEGATE_AUDIT_READER'

export const isReader = (): boolean => process.env[MARK] !== undefined

/**
 * Runs this very command once more as a child, with its input and output, which a signal that ends this process ends as
 * well. @returns its exit code, or how it died
 */
export function runAsReader(): Promise<ExitCode | { readonly damage: string }> {
  const child = runAgain({ ...process.env, [MARK]: '1' })
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
        // It had no chance to say so itself.
        if (signal !== null) console.error(`sidegate audit: what reads the log was ended (${signal})`)
        resolve(code === 0 || code === 1 ? code : 2)
      }
    })
  })
}
