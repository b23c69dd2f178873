// The rows of the log that the page holds: pages of the API around the rows in view. The list
// begins with the call that was the newest, so that new calls do not move its rows.

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
  readonly total_is_lower_bound?: true
}

export interface LogRows {
  readonly total: number | null
  /** Whether there may be more rows than the total. */
  readonly isMore: boolean
  readonly failure: string | null
  rowAt(index: number): UsageView | undefined
  /** Loads what is missing of the rows from `first` to `last`, exclusive. */
  view(first: number, last: number): void
}

/**
 * @param query filters of the API; another query begins another list
 * @param begun another value begins another list too
 * @param isPinned false where the API cannot begin with a call, and the query must end at a time
 */
export function useLogRows(query: string, begun: string, isPinned: boolean): LogRows {
  const [total, setTotal] = useState<number | null>(null)
  const [isMore, setIsMore] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  const [, redraw] = useState(0)
  const pages = useMemo(() => new Map<number, readonly UsageView[]>(), [query, begun])
  /** Id of the first call of the list. */
  const newest = useRef<string | null>(null)
  const state = useRef({ aborted: new AbortController(), timer: 0 })
  const load = useCallback(
    async (page: number, signal: AbortSignal) => {
      try {
        const range = { limit: PAGE_ROWS, offset: page * PAGE_ROWS, newest: newest.current }
        const path = withQuery('/usage/logs', range)
        const answer = await callApi<LogPageAnswer>(`${path}&${query}`, { signal })
        if (isPinned) newest.current ??= answer.logs[0]?.id ?? null
        pages.set(page, answer.logs)
        for (const oldest of pages.keys()) {
          if (pages.size <= MAXIMUM_PAGES) break
          pages.delete(oldest)
        }
        setTotal(answer.total)
        setIsMore(answer.total_is_lower_bound === true)
        setFailure(null)
        redraw((count) => count + 1)
      } catch (error) {
        if (!signal.aborted) setFailure((error as Error).message)
      }
    },
    [query, pages, isPinned],
  )
  useEffect(() => {
    setTotal(null)
    newest.current = null
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
  return { total, isMore, failure, rowAt, view }
}
