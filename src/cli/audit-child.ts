// Runs `sidegate audit verify` in a child process, because reading a damaged database file can kill
// the process. The way the child ended is part of the verdict.

import { isDamageSignal } from '../store/environment/damage.ts'
import { type CommandIo, type ExitCode, writeLine } from './command.ts'
import { spawnSelf } from './pid1.ts'

/** Environment variable that marks the child, which starts no further child. */
export const AUDIT_READER_VARIABLE = 'SIDEGATE_AUDIT_READER'

export const isAuditChild = ({ env }: Pick<CommandIo, 'env'>): boolean =>
  env[AUDIT_READER_VARIABLE] !== undefined

/**
 * Runs the same command line in a child with the same input and output. SIGINT and SIGTERM end both
 * processes.
 * @returns the child's exit code, or the signal that damage killed it with
 */
export function runInAuditChild(io: CommandIo): Promise<ExitCode | { readonly damage: string }> {
  const child = spawnSelf({ ...io.env, [AUDIT_READER_VARIABLE]: '1' })
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
          writeLine(io.err, `sidegate audit: the process that reads the log was killed (${signal})`)
        resolve(code === 0 || code === 1 ? code : 2)
      }
    })
  })
}
