// The UTC day as long as a page is open: it may be left open over midnight.

import { useEffect, useState } from 'preact/hooks'
import { DAY_MS } from './dates.ts'

const CHECK_MS = 30_000

const startOfToday = (): number => Math.floor(Date.now() / DAY_MS) * DAY_MS

/** Returns when the UTC day began, in milliseconds since 1970; another number on the next day. */
export function useToday(): number {
  const [today, setToday] = useState(startOfToday)
  useEffect(() => {
    const timer = window.setInterval(() => setToday(startOfToday()), CHECK_MS)
    return () => window.clearInterval(timer)
  }, [])
  return today
}
