// `sidegate audit erase`: removes captured exchanges from the data directory of a running or
// stopped gateway.

import type { Config } from '../core/config.ts'
import { readUserKey } from '../store/files/user-key.ts'
import type { EraseSelection, Erasure } from '../store/log/erase.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import { type ExitCode, UsageError } from './command.ts'
import { commandActor } from './command-actor.ts'
import { openConfiguredStore } from './open-store.ts'

/** Returns the selection of the options. @throws UsageError unless exactly one is given */
export function readSelection(
  request: string | undefined,
  key: string | undefined,
  user: string | undefined,
  beforeMs: number | null,
): EraseSelection {
  const given: EraseSelection[] = []
  if (request !== undefined) given.push({ requestId: request })
  if (key !== undefined) given.push({ keyId: key })
  if (user !== undefined) given.push({ user })
  if (beforeMs !== null) given.push({ beforeMs })
  const [selection, more] = given
  if (selection === undefined || more !== undefined) {
    throw new UsageError('give exactly one of --request, --key, --user and --before')
  }
  return selection
}

/**
 * Erases the selection and prints the counts.
 * @throws SourceError (rejects) when there is no log, or a damaged key of end users
 */
export async function erase(config: Config, selection: EraseSelection): Promise<ExitCode> {
  requireLog(config.data.path)
  const store = openConfiguredStore(config, 'user' in selection ? userKeyOf(config.data.path) : null)
  try {
    const erasure = await store.log.erase(selection, commandActor())
    if (erasure === null) {
      const missing =
        'keyId' in selection
          ? 'no key and no call of a key with this id; give the id, not the name (sidegate keys list)'
          : 'no call with this id'
      console.error(`sidegate audit: the log has ${missing}`)
      return 1
    }
    console.log(process.stdout.isTTY ? describe(erasure) : JSON.stringify(erasure))
    return 0
  } finally {
    await store.close()
  }
}

function userKeyOf(path: string): Buffer | null {
  try {
    return readUserKey(path)
  } catch (error) {
    throw new SourceError((error as Error).message, { cause: error })
  }
}

function describe({ erased, entries }: Erasure): string {
  if (entries === 0) return 'Nothing to erase: no exchange and no end user is stored for it.'
  return `Erased ${erased} ${erased === 1 ? 'exchange' : 'exchanges'}; sealed in ${entries} ${entries === 1 ? 'entry' : 'entries'}.`
}
