// The zone in which the page shows times: UTC or the browser's. The reader's choice stays in the
// browser.

import { createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { UTC } from './dates.ts'

const STORED = 'sidegate-zone'

/** The zone of the browser; UTC when it cannot be known. */
const BROWSER_ZONE = (() => {
  try {
    return new Intl.DateTimeFormat('en').resolvedOptions().timeZone || UTC
  } catch {
    return UTC
  }
})()

export const ZONES = BROWSER_ZONE === UTC ? [UTC] : [UTC, BROWSER_ZONE]

/** A browser may refuse to store anything. */
function stored(): string | null {
  try {
    return localStorage.getItem(STORED)
  } catch {
    return null
  }
}

export const ZoneContext = createContext(BROWSER_ZONE)

/** The zone of the page. */
export const useZone = (): string => useContext(ZoneContext)

/** The zone that was chosen, and what chooses another. */
export function useChosenZone(): [string, (zone: string) => void] {
  const [zone, setZone] = useState(() => (stored() === UTC ? UTC : BROWSER_ZONE))
  const choose = (next: string) => {
    setZone(next)
    try {
      localStorage.setItem(STORED, next === UTC ? UTC : 'browser')
    } catch {
      // The choice lasts as long as the page.
    }
  }
  return [zone, choose]
}
