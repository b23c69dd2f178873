// Seals the roots of the logs of sidecars in the log of the hubs, so that one checkpoint over that
// log holds all of them.

import { MAXIMUM_WITNESSED_LOGS } from '../audit/change-draft.ts'
import { Frontier } from '../audit/merkle.ts'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { Queries } from './database.ts'
import type { HubLog } from './hub-log.ts'

interface GrownLog {
  readonly log_id: string
  readonly size: number
  readonly frontier: readonly Buffer[]
}

export class FleetWitness {
  readonly #log: Pick<HubLog, 'change'>

  constructor(log: Pick<HubLog, 'change'>) {
    this.#log = log
  }

  /**
   * Seals size and root of each log that has grown since any hub did this.
   * @returns the number of these logs
   * @throws GatewayError (rejects) `fleet_unavailable`; what was sealed before stays
   */
  async seal(): Promise<number> {
    let sealed = 0
    for (let after: string | null = null; ; ) {
      const grown = await this.#sealAfter(after)
      sealed += grown.length
      if (grown.length < MAXIMUM_WITNESSED_LOGS) return sealed
      after = grown.at(-1)!.log_id
    }
  }

  /** @param after the log after which to begin; null for the first */
  async #sealAfter(after: string | null): Promise<readonly GrownLog[]> {
    const { result } = await this.#log.change(async (queries) => {
      const grown = await grownLogs(queries, after)
      if (grown.length === 0) return { draft: null, feed: [], result: grown }
      await remember(queries, grown)
      const logs = grown.map(({ log_id: log, size, frontier }) => {
        const root = Frontier.read(size, frontier).root()
        return { log, size, root: root.toString('base64') }
      })
      return { draft: { type: 'fleet_witness', logs, actor: GATEWAY_ACTOR }, feed: [], result: grown }
    })
    return result
  }
}

const grownLogs = (queries: Queries, after: string | null): Promise<GrownLog[]> =>
  queries.rows(
    `select h.log_id, h.size, h.frontier from log_head h left join witnessed w on w.log_id = h.log_id
     where h.sidecar is not null and h.size > coalesce(w.size, 0) and ($1::uuid is null or h.log_id > $1)
     order by h.log_id limit ${MAXIMUM_WITNESSED_LOGS}`,
    [after],
  )

const remember = (queries: Queries, grown: readonly GrownLog[]): Promise<unknown> =>
  queries.rows(
    `insert into witnessed (log_id, size) select * from unnest($1::uuid[], $2::bigint[])
     on conflict (log_id) do update set size = excluded.size`,
    [grown.map(({ log_id }) => log_id), grown.map(({ size }) => size)],
  )
