// `sidegate audit erase`: removes captured exchanges from the data directory of a running or stopped gateway.

import type { Config } from '../core/config.ts'
import type { EraseSelection, Erasure } from '../store/log/erase.ts'
import { requireLog } from '../store/verification/log-source.ts'
import { type ExitCode, UsageError } from './command.ts'
import { openBeside } from './open-store.ts'

/** The selection of the options given. @throws UsageError unless there is exactly one */
export function readSelection(
  request: string | undefined,
  key: string | undefined,
  beforeMs: number | null,
): EraseSelection {
  const given: EraseSelection[] = []
  if (request !== undefined) given.push({ requestId: request })
  if (key !== undefined) given.push({ keyId: key })
  if (beforeMs !== null) given.push({ beforeMs })
  const [selection, more] = given
  if (selection === undefined || more !== undefined) {
    throw new UsageError('erase takes exactly one of --request, --key and --before')
  }
  return selection
}

/** Erases and says how much. @throws SourceError when there is no log */
export async function erase(config: Config, selection: EraseSelection): Promise<ExitCode> {
  requireLog(config.data.path)
  const store = openBeside(config)
  try {
    const erasure = await store.log.erase(selection)
    if (erasure === null) {
      const missing =
        'keyId' in selection ? 'key with this id (not its name), nor a call of one,' : 'call with this id'
      console.error(`sidegate audit: there is no ${missing} in the log`)
      return 1
    }
    console.log(process.stdout.isTTY ? describe(erasure) : JSON.stringify(erasure))
    return 0
  } finally {
    await store.close()
  }
}

function describe({ erased, entries }: Erasure): string {
  if (erased === 0) return 'Nothing to erase: no exchange is stored for it.'
  return `Erased ${erased} ${erased === 1 ? 'exchange' : 'exchanges'}; sealed in ${entries} ${entries === 1 ? 'entry' : 'entries'}.`
}
