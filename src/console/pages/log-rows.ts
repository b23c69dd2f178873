// The rows of the log that the page holds: pages of the API around the rows in view. The list ends
// at a fixed time, so that new calls do not move its rows.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { UsageView } from '../../audit/entry-fields.ts'
import { callApi, withQuery } from '../gateway-api.ts'

const PAGE_ROWS = 100
/** Pages held; the least recently used goes first. */
const MAXIMUM_PAGES = 30
/** Time without scrolling before rows are loaded, milliseconds. */
const SETTLE_MS = 60

interface LogPageAnswer {
  readonly logs: readonly UsageView[]
  readonly total: number
}

export interface LogRows {
  readonly total: number | null
  readonly failure: string | null
  rowAt(index: number): UsageView | undefined
  /** Loads what is missing of the rows from `first` to `last`, exclusive. */
  view(first: number, last: number): void
}

/** @param query filters of the API; another query begins another list */
export function useLogRows(query: string): LogRows {
  const [total, setTotal] = useState<number | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [, redraw] = useState(0)
  const pages = useMemo(() => new Map<number, readonly UsageView[]>(), [query])
  const state = useRef({ aborted: new AbortController(), timer: 0 })
  const load = useCallback(
    async (page: number, signal: AbortSignal) => {
      try {
        const path = withQuery('/usage/logs', { limit: PAGE_ROWS, offset: page * PAGE_ROWS })
        const answer = await callApi<LogPageAnswer>(`${path}&${query}`, { signal })
        pages.set(page, answer.logs)
        for (const oldest of pages.keys()) {
          if (pages.size <= MAXIMUM_PAGES) break
          pages.delete(oldest)
        }
        setTotal(answer.total)
        setFailure(null)
        redraw((count) => count + 1)
      } catch (error) {
        if (!signal.aborted) setFailure((error as Error).message)
      }
    },
    [query, pages],
  )
  useEffect(() => {
    setTotal(null)
    const aborted = new AbortController()
    void load(0, aborted.signal)
    return () => {
      aborted.abort()
      state.current.aborted.abort()
      clearTimeout(state.current.timer)
    }
  }, [load])
  const rowAt = useCallback(
    (index: number) => pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS],
    [pages],
  )
  const view = useCallback(
    (first: number, last: number) => {
      clearTimeout(state.current.timer)
      state.current.timer = window.setTimeout(() => {
        state.current.aborted.abort()
        state.current.aborted = new AbortController()
        const { signal } = state.current.aborted
        for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < last; page++) {
          const held = pages.get(page)
          if (held === undefined) void load(page, signal)
          else {
            pages.delete(page)
            pages.set(page, held)
          }
        }
      }, SETTLE_MS)
    },
    [load, pages],
  )
  return { total, failure, rowAt, view }
}
