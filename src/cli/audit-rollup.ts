// `sidegate audit rollup --rebuild`: counts the calls of the log into the sums of usage again.

import type { Config } from '../core/config.ts'
import { isoTime } from '../core/time.ts'
import { requireLog } from '../store/verification/log-source.ts'
import { progressBar } from './audit-verify.ts'
import type { ExitCode } from './command.ts'
import { openConfiguredStore } from './open-store.ts'

/** @throws SourceError (rejects) when there is no log */
export async function rebuildRollups(config: Config): Promise<ExitCode> {
  requireLog(config.data.path)
  const store = openConfiguredStore(config)
  const bar = progressBar(process.stderr, 'counting')
  try {
    const { calls, sinceMs } = await store.rebuildRollups(bar)
    bar(1)
    const since = isoTime(sinceMs)
    const text =
      sinceMs === 0 ? `Counted ${calls} calls of the whole log.` : `Counted ${calls} calls since ${since}.`
    console.log(process.stdout.isTTY ? text : JSON.stringify({ calls, since: sinceMs === 0 ? null : since }))
    return 0
  } finally {
    await store.close()
  }
}
