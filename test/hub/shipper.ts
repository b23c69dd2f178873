// Ships entries to a hub as the sidecar of a Pod.

import { logPath, printShipment, SHIPMENT_TYPE, type ShippedEntry } from '../../src/fleet/shipping.ts'
import { fetchInTime } from '../process/until.ts'
import { clusterKey } from './pods.ts'
import { podClaims, signed } from './tokens.ts'

/** The token of a Pod. */
export const podToken = (pod: string): Promise<string> =>
  signed(podClaims(Date.now(), { pod, uid: `uid-shop-${pod}` }), clusterKey)

/** What a hub answers. */
export interface ShipperAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: any
}

/** Returns what sends bodies to a log of a hub as a Pod, and entries. */
export async function shipperOf(url: string, pod: string) {
  const token = await podToken(pod)
  const post = async (
    log: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ShipperAnswer> => {
    const response = await fetchInTime(url + logPath(log), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': SHIPMENT_TYPE, ...headers },
      body,
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  return {
    token,
    post,
    ship: (log: string, entries: readonly ShippedEntry[]) => post(log, printShipment(entries)),
  }
}
